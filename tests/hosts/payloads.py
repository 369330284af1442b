"""Recorded hook payloads as fixtures: scrubbing what belongs to one run, naming, loading, comparing.

`PYTHONPATH=tests python -m hosts.payloads [host ...]` plays the scenario in the installed hosts and regenerates
them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .host import Host
from .recorder import Record
from .scenario import FAILING, HOSTS, Step, play, stage

FOLDER = Path(__file__).with_name("payloads")
LONGEST = 400
TIMESTAMP = 1767225600000

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_OPENCODE_ID = re.compile(r"\b(ses|msg|prt|evt)_[0-9A-Za-z]{26}\b")
_AGENT_ID = re.compile(r"\ba[0-9a-f]{16}\b")
_FIXED = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|\+00:00)"), r"2026-01-01T00:00:00.000\1"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d"), "2026-01-01T00-00-00"),
    (re.compile(r"session-\d{4}-\d\d-\d\dT\d\d-\d\d-[0-9a-f]{8}"), "session-2026-01-01T00-00-00000000"),
    (re.compile(r"/\d{4}/\d\d/\d\d/"), "/2026/01/01/"),
    (re.compile(r"[A-Z][a-z]+day, [A-Z][a-z]+ \d{1,2}, \d{4}"), "Thursday, January 1, 2026"),
    (
        re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"),
        "Thu, 01 Jan 2026 00:00:00 GMT",
    ),
    (re.compile(r"PGID: \d+"), "PGID: 4242"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:1"),
    (re.compile(r"(?<=BaseHTTP/0.6 Python/)[\d.]+"), "3"),
    (re.compile(r"\bclaude-\d+/"), "claude-0/"),
)
_TIMESTAMPS = frozenset({"timestamp", "created", "updated", "completed", "start", "end", "compacting"})
_MEASURES = {
    "duration_ms": 7,
    "totalDurationMs": 7,
    "seconds_since_last_response": 1,
    "estimated_cache_write_usd": 0.01,
    "context_tokens": 110,
    "slug": "calm-star",
}

# Claude Code does not wait for these: a subagent in the background reports at any time, and print mode may
# end before the hook of a failure was run.
MAY_MISS = {
    "claude": {
        "PostToolBatch-delegate",
        "Stop-delegate",
        "StopFailure",
        "SubagentStop-delegate",
        "UserPromptSubmit-synthetic",
    }
}


class Scrubber:
    """Replaces what differs from run to run; the same thing always by the same placeholder."""

    def __init__(self, host: Host, tool_folder: Path) -> None:
        self._ids: dict[str, str] = {}
        project = str(host.project)
        self._places = (
            (project, "{project}"),
            (project[1:], "{project-from-root}"),
            (re.sub(r"[^0-9A-Za-z]", "-", project), "{project-slug}"),
            (str(host.home), "{home}"),
            (str(host.scratch), "{tmp}"),
            (str(host.project.parent), "{folder}"),
            (str(tool_folder), "{tools}"),
            (str(Path(__file__).parent), "{tests}"),
            (sys.executable, "{python}"),
        )

    def _numbered(self, found: str, shape: str) -> str:
        if found not in self._ids:
            self._ids[found] = shape % (sum(shape[:4] == each[:4] for each in self._ids.values()) + 1)
        return self._ids[found]

    def text(self, value: str) -> str:
        """One string."""
        for place, name in self._places:
            value = value.replace(place, name)
        value = _UUID.sub(lambda m: self._numbered(m[0], "00000000-0000-4000-8000-%012d"), value)
        value = _OPENCODE_ID.sub(lambda m: self._numbered(m[0], m[1] + "_%026d"), value)
        value = _AGENT_ID.sub(lambda m: self._numbered(m[0], "a%016d"), value)
        for pattern, fixed in _FIXED:
            value = pattern.sub(fixed, value)
        return value if len(value) <= LONGEST else f"{value[: LONGEST // 2]} [cut]"

    def value(self, value: Any, key: str = "") -> Any:
        """Any JSON value."""
        if isinstance(value, dict):
            return {name: self.value(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.value(each, key) for each in value]
        if key in _MEASURES and value is not None:
            return _MEASURES[key]
        if key in {*_TIMESTAMPS, "time"} and isinstance(value, int) and value > TIMESTAMP // 2:
            return TIMESTAMP
        return self.text(value) if isinstance(value, str) else value


def shape_of(value: Any, depth: int = 3) -> Any:
    """The keys and types of a payload down to a depth, without its values."""
    if isinstance(value, dict | list) and not depth:
        return "..."
    if isinstance(value, dict):
        # Whole model requests and answers are in some payloads; they differ from turn to turn.
        deep = {name: depth - 1 if not name.startswith("llm_") else 0 for name in sorted(value)}
        return {name: shape_of(value[name], left) for name, left in deep.items()}
    if isinstance(value, list):
        return [shape_of(value[0], depth - 1)] if value else []
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def variant_of(record: Record) -> str:
    """What distinguishes two payloads of the same event: the source, the trigger, the tool …"""
    payload = record.payload
    inside = payload.get("input")
    if isinstance(inside, dict):
        payload = {
            "tool_name": inside.get("type") or inside.get("tool"),
            **inside,
            **payload.get("output", {}),
        }
    if FAILING in json.dumps(payload):
        tool = payload.get("tool_name") or payload.get("toolName")
        return f"{tool}-failed" if tool else "failed"
    if str(payload.get("prompt", "")).startswith("<"):
        return "synthetic"
    for key in ("source", "trigger", "reason", "tool_name", "toolName"):
        if payload.get(key):
            return re.sub(r"[^0-9A-Za-z_.]+", "-", str(payload[key]))
    return ""


def fixtures_of(steps: Iterable[Step], scrubber: Scrubber) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Fixtures by name, and for each step the names in the order in which the hooks fired.

    A payload of a known name but with other keys gets the name of its step on top.
    """
    found: dict[str, Any] = {}
    order: dict[str, list[str]] = {}
    for step in steps:
        order[step.name] = []
        for record in step.records:
            payload = scrubber.value(record.payload)
            name = "-".join(part for part in (record.event, variant_of(record)) if part)
            for candidate in (name, f"{name}-{step.name}"):
                if candidate not in found or shape_of(found[candidate]) == shape_of(payload):
                    found.setdefault(candidate, payload)
                    order[step.name].append(candidate)
                    break
    return found, order


def load(host: str) -> dict[str, Any]:
    """The fixtures of a host by name, placeholders and all."""
    files = sorted((FOLDER / host).glob("*.json"))
    return {path.stem: json.loads(path.read_text()) for path in files if path.stem != "sequence"}


def write(host: str, found: dict[str, Any], order: dict[str, list[str]]) -> None:
    """Replace the fixtures of a host."""
    folder = FOLDER / host
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, value in {**found, "sequence": order}.items():
        (folder / f"{name}.json").write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def main() -> None:
    """Record the named hosts, or all."""
    from . import setup

    for name in sys.argv[1:] or list(HOSTS):
        tool = HOSTS[name].tool or name
        if setup.entry_of(tool) is None:
            print(setup.why_absent(tool))
            continue
        with stage(name) as at:
            steps = play(at)
            found, order = fixtures_of(steps, Scrubber(at.host, setup.tool_folder()))
        write(name, found, order)
        seconds = sum(step.run.seconds for step in steps)
        print(f"{name}: {len(found)} payloads, {len(steps)} runs, {seconds:.1f} s")
        for step in steps:
            print(f"  {step.name}: status {step.run.status}, {step.run.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
