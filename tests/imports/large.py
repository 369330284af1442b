"""Large files of each format, and a child process that imports one and prints its cost."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

REASON = "why it was taken, at some length, with the alternatives that were looked at and left"


def _state_json(n: int) -> str:
    history = [
        {"phase": f"phase-{i}", "entered_at": "2026-01-21T14:00:00Z", "note": REASON} for i in range(n)
    ]
    return json.dumps({"session_id": "x", "phase": "p", "phase_history": history}, indent=1)


def _session_state(n: int) -> str:
    return json.dumps({"goal": "g", "decisions": [f"Decision {i}: {REASON}" for i in range(n)]}, indent=1)


def _batch_state(n: int) -> str:
    features = [f"feature {i}: {REASON}" for i in range(n)]
    return json.dumps(
        {"batch_id": "b", "features": features, "completed_features": list(range(n // 2))}, indent=1
    )


MADE: dict[str, tuple[str, Callable[[int], str], int]] = {
    "state-json": ("state.json", _state_json, 160),
    "session-state": ("session-state.json", _session_state, 110),
    "batch-state": ("batch_state.json", _batch_state, 110),
    "state-md": (
        "STATE.md",
        lambda n: "### Decisions\n\n" + "".join(f"- Decision {i}: {REASON}\n" for i in range(n)),
        110,
    ),
    "events-yaml": (
        "events.yaml",
        lambda n: (
            "events:\n"
            + "".join(
                f'  - date: "2026-03-04"\n    agent: A\n    summary: "Event {i}: {REASON}"\n'
                for i in range(n)
            )
        ),
        160,
    ),
    "backlog-yaml": (
        "backlog.yaml",
        lambda n: (
            "items:\n"
            + "".join(f"  - id: B-{i}\n    title: Item {i} {REASON}\n    status: done\n" for i in range(n))
        ),
        150,
    ),
    "decision-index": (
        "decisions.yaml",
        lambda n: (
            "recent:\n"
            + "".join(f"  - id: S-{i}\n    decision: Do {i} {REASON}\n    why: X\n" for i in range(n))
        ),
        150,
    ),
    "catch-log": (
        "catch-log.tsv",
        lambda n: (
            "date\tcontrol\tcaught\tagent\toutcome\tnotes\n"
            + "".join(f"2026-03-04\treview\tcaught {i} {REASON}\tW\tfixed\t\n" for i in range(n))
        ),
        120,
    ),
}
"""Format to file name, text of so many entries, and about how many bytes an entry takes."""


def text_of(format_name: str, size: int) -> tuple[str, str]:
    """A file of about ``size`` bytes."""
    name, made, each = MADE[format_name]
    return name, made(max(1, size // each))


def main(name: str) -> None:
    """Import a file into the workspace of the current folder; print the cost."""
    import holdfast
    from holdfast.workspace.imports import import_file

    with holdfast.open(Path.cwd(), user="alice") as workspace:
        workspace.start("Take over")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        data = Path(name).read_bytes()
        begun = time.process_time()
        found = import_file(workspace, name, data)
        spent = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    report = {
        "seconds": spent,
        "memory": (peak - before) * unit,
        "taken": sum(found.taken.values()),
        "left": len(found.left),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
