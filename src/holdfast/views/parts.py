"""Reading a state. A stream of another kind lacks some parts; views show them as empty."""

from __future__ import annotations

from holdfast.core import contested
from holdfast.typed import Any

Entry = dict[str, Any]

BEFORE_COMPACTION = "Before a compaction: "
"""How the message of a checkpoint begins that a hook saves before a compaction."""
STATUSES = {
    "working": "Working",
    "blocked": "Blocked",
    "awaiting-input": "Awaiting Input",
    "discussion": "Discussion Mode",
    "paused": "Paused",
    "complete": "Complete",
    "abandoned": "Abandoned",
}


def opened(state: dict[str, Any], name: str) -> list[Entry]:
    """The open entries of a collection, oldest first."""
    return list(state.get(name, {}).get("open", {}).values())


def closed(state: dict[str, Any], name: str) -> list[Entry]:
    """The last closed ones of a collection, oldest first."""
    return list(state.get(name, {}).get("closed", ()))


def register(state: dict[str, Any], name: str) -> Entry | None:
    """A register with who set it and when."""
    found: Entry | None = state["registers"].get(name)
    return found


def value(state: dict[str, Any], name: str) -> str:
    """The value of a register as text; empty if it was never set."""
    found = contested.value(state["registers"], name)
    return "" if found is None else str(found)


def is_goal_guessed(state: dict[str, Any]) -> bool:
    """Whether the goal was taken from a request and nobody has set it: what hooks write has the origin ``tool``."""
    return (register(state, "goal") or {}).get("origin") == "tool"


def goal(state: dict[str, Any]) -> str:
    """The goal as text, marked if it is guessed."""
    said = value(state, "goal")
    return f"{said} (guessed)" if said and is_goal_guessed(state) else said


def current_task(state: dict[str, Any]) -> Entry | None:
    """The task that is being worked on."""
    wanted = value(state, "task")
    found: Entry | None = state.get("tasks", {}).get("open", {}).get(wanted)
    return found


def proposed_plan(state: dict[str, Any]) -> Entry | None:
    """The newest pending plan."""
    plans = [plan for plan in opened(state, "plans") if plan.get("status", "proposed") == "proposed"]
    return plans[-1] if plans else None


def status(state: dict[str, Any]) -> str:
    """The status of a session; derived if nobody has set it."""
    given = value(state, "status")
    if given and given != "working":
        return given
    if state.get("discussion"):
        return "discussion"
    return "awaiting-input" if proposed_plan(state) and not current_task(state) else "working"


def phase_place(state: dict[str, Any]) -> str:
    """The phase's position in the declared order, such as ``(2 of 4)``; empty if it has none."""
    declared = state.get("phases", {}).get("declared", [])
    phase = value(state, "phase")
    return f"({declared.index(phase) + 1} of {len(declared)})" if phase in declared else ""


def progress(batch: Entry) -> dict[str, int]:
    """The counts of a batch."""
    from holdfast.core import ranges

    failed = {int(tries): items for tries, items in batch["failed"].items()}
    return {
        "total": batch["total"],
        "done": ranges.count(batch["done"]),
        "failed": sum(ranges.count(items) for tries, items in failed.items() if tries > batch["retries"]),
        "to_retry": sum(ranges.count(items) for tries, items in failed.items() if tries <= batch["retries"]),
        "running": len(batch["running"]),
    }


def counted(batch: Entry) -> str:
    """The progress of a batch, such as ``5 of 12 done, 1 failed``."""
    counts = progress(batch)
    failed = f", {counts['failed']:,} failed" if counts["failed"] else ""
    running = f", {counts['running']:,} under way" if counts["running"] else ""
    return f"{counts['done']:,} of {counts['total']:,} done{failed}{running}"


def at(entry: Entry) -> str:
    """The places that an entry is about, as text; empty if there are none."""
    from holdfast.core import anchors

    return ", ".join(anchors.label(anchor) for anchor in anchors.stored(entry))


def noun(count: int, singular: str, plural: str = "") -> str:
    """``1 loop``, ``2 loops``."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
