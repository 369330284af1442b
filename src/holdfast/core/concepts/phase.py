"""Phases: where a session stands in its workflow, in declared order, with a history."""

from __future__ import annotations

from typing import Any

from holdfast.core import contested
from holdfast.core.commit import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, checked_texts
from holdfast.errors import Refused

EVENTS = {"phases.declared": 1, "phase.entered": 1}
STEPS: dict[Any, Any] = {}
HISTORY = 20


def blank() -> dict[str, Any]:
    return {"phases": {"declared": [], "history": [], "entered": 0}}


def _declared(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["phases"]["declared"] = data["phases"]


def _entered(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "phase", data["phase"], data["saw"], commit)
    history = state["phases"]["history"]
    if history and history[-1]["exited"] is None:
        history[-1]["exited"] = commit.at
    history.append({"phase": data["phase"], "entered": commit.at, "exited": None, "by": commit.by})
    del history[:-HISTORY]
    state["phases"]["entered"] += 1


FOLDS = {"phases.declared": _declared, "phase.entered": _entered}
HEADLINES = {
    "phases.declared": lambda data: f"Phases declared: {', '.join(data['phases'])}",
    "phase.entered": lambda data: f"Entered phase {data['phase']}",
}


def allowed(state: dict[str, Any]) -> list[str]:
    """The phases that can be entered now: the next one and all earlier ones; everything if none are declared."""
    declared: list[str] = state["phases"]["declared"]
    current = contested.value(state["registers"], "phase")
    if current not in declared:
        return list(declared)
    here = declared.index(current)
    return [name for name in declared[: here + 2] if name != current]


def declare(state: dict[str, Any], phases: list[str]) -> list[Event]:
    """Name the phases of a session, in order, and enter the first."""
    names = checked_texts(phases, "phase", cap=NAME_CAP)
    if not names:
        raise Refused("At least one phase is needed; nothing was written.")
    if len(set(names)) != len(names):
        raise Refused("A phase is named twice; nothing was written.")
    events = [Event("phases.declared", {"phases": names})]
    if contested.value(state["registers"], "phase") is None:
        events.append(Event("phase.entered", {"phase": names[0], "saw": []}))
    return events


def enter(state: dict[str, Any], name: str) -> list[Event]:
    """Go to another phase."""
    checked_text(name, "phase", cap=NAME_CAP)
    current = contested.value(state["registers"], "phase")
    contest = state["registers"].get("phase", {}).get("rivals")
    if name == current and not contest:
        raise Refused(f"The session is in phase {name} already; nothing was written.")
    options = allowed(state)
    if state["phases"]["declared"] and name not in options and not contest:
        raise Refused(
            f"Phase {name} cannot follow {current or 'the start'}. Allowed now: {', '.join(options) or 'nothing'}.",
            hint="Phases are entered in their declared order, or again if they come earlier.",
        )
    return [Event("phase.entered", {"phase": name, "saw": contested.seen(state["registers"], "phase")})]
