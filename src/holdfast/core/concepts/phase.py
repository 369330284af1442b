"""Phases: the position of a session in its workflow, in declared order, with a history.

Without ``transitions``, the next phase and all earlier ones can be entered. With them, exactly those listed; a phase
without an entry is final. ``skip_to`` bypasses this and needs a reason.
"""

from __future__ import annotations

from holdfast.core import contested
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, checked_texts, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any

EVENTS = {"phases.declared": 1, "phase.entered": 1}
STEPS: dict[Any, Any] = {}
HISTORY = 20
MOST = 50
"""The most phases of a session."""


def blank() -> dict[str, Any]:
    return {"phases": {"declared": [], "transitions": None, "history": [], "entered": 0}}


def _declared(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["phases"]["declared"] = data["phases"]
    state["phases"]["transitions"] = data.get("transitions")
    contested.put(
        state["registers"], "phases", excerpt(", ".join(data["phases"])), data.get("saw", []), commit
    )


def _entered(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "phase", data["phase"], data["saw"], commit)
    remember(state, data["phase"], commit, data.get("because"))


def remember(state: dict[str, Any], name: str, commit: Commit, because: str | None = None) -> None:
    """Fold: add an entry to the history and end the previous one."""
    history = state["phases"]["history"]
    if history and history[-1]["exited"] is None:
        history[-1]["exited"] = commit.at
    entry = {"phase": name, "entered": commit.at, "exited": None, "by": commit.by}
    history.append({**entry, "because": excerpt(because) if because else None})
    del history[:-HISTORY]
    state["phases"]["entered"] += 1


FOLDS = {"phases.declared": _declared, "phase.entered": _entered}
HEADLINES = {
    "phases.declared": lambda data: f"Phases declared: {one_line(', '.join(data['phases']))}",
    "phase.entered": lambda data: (
        f"Entered phase {one_line(data['phase'])}"
        f"{': ' + one_line(data['because']) if data.get('because') else ''}"
    ),
}


def allowed(state: dict[str, Any]) -> list[str]:
    """The phases that can be entered now; all declared ones if the session is in none of them."""
    declared: list[str] = state["phases"]["declared"]
    transitions: dict[str, list[str]] | None = state["phases"]["transitions"]
    current = contested.value(state["registers"], "phase")
    if current not in declared:
        return list(declared)
    if transitions is not None:
        return list(transitions.get(current, ()))
    here = declared.index(current)
    return [name for name in declared[: here + 2] if name != current]


def following(state: dict[str, Any]) -> str | None:
    """The phase that ``complete_phase`` goes to: the next one if allowed, else the only one allowed."""
    declared: list[str] = state["phases"]["declared"]
    current = contested.value(state["registers"], "phase")
    options = allowed(state)
    if current in declared:
        after = declared[declared.index(current) + 1 :]
        if after and after[0] in options:
            return after[0]
    return options[0] if state["phases"]["transitions"] is not None and len(options) == 1 else None


def declare(
    state: dict[str, Any], phases: list[str], transitions: dict[str, list[str]] | None = None
) -> list[Event]:
    """Declare the phases of a session, in order, and enter the first."""
    names = checked_texts(phases, "phase", cap=NAME_CAP, most=MOST)
    if not names:
        raise Refused("At least one phase is needed; nothing was written.")
    if len(set(names)) != len(names):
        raise Refused("A phase is named twice; nothing was written.")
    registers = state["registers"]
    data: dict[str, Any] = {"phases": names, "saw": contested.seen(registers, "phases")}
    if transitions is not None:
        data["transitions"] = _checked_transitions(names, transitions)
    events = [Event("phases.declared", data)]
    if contested.value(registers, "phase") is None:
        events.append(Event("phase.entered", {"phase": names[0], "saw": contested.seen(registers, "phase")}))
    return events


def _checked_transitions(names: list[str], transitions: object) -> dict[str, list[str]]:
    if not isinstance(transitions, dict):
        raise Refused(
            "Transitions are a mapping from a phase to the phases that may follow; nothing was written."
        )
    checked = {}
    for source, targets in transitions.items():
        followers = checked_texts(targets, "phase", cap=NAME_CAP, most=MOST)
        for name in (source, *followers):
            if name not in names:
                raise Refused(
                    f"A transition names {one_line(str(name), 40)!r}, not a phase; nothing was written.",
                    hint=f"The phases: {_list(names)}.",
                )
        checked[source] = [name for name in dict.fromkeys(followers) if name != source]
    return checked


def enter(state: dict[str, Any], name: str) -> list[Event]:
    """Enter another phase."""
    checked_text(name, "phase", cap=NAME_CAP)
    current = contested.value(state["registers"], "phase")
    contest = state["registers"].get("phase", {}).get("rivals")
    if name == current and not contest:
        raise Refused(f"The session is in phase {one_line(name)} already; nothing was written.")
    options = allowed(state)
    # Naming any declared phase settles a contest: the clones disagree on the phase to transition from.
    possible = state["phases"]["declared"] if contest else options
    if state["phases"]["declared"] and name not in possible:
        raise Refused(
            f"Phase {one_line(name)} cannot follow {one_line(current) if current else 'the start'}. "
            f"Allowed now: {_list(possible)}. Nothing was written.",
            hint=Hint(Use("phase.skip"), " jumps to any declared phase."),
        )
    return [Event("phase.entered", {"phase": name, "saw": contested.seen(state["registers"], "phase")})]


def complete(state: dict[str, Any]) -> list[Event]:
    """Complete the current phase and enter the next."""
    current = contested.value(state["registers"], "phase")
    if current is None:
        raise Refused(
            "The session is in no phase; nothing was written.", hint=Hint(Use("phase.enter"), " enters one.")
        )
    target = following(state)
    if target is None:
        options = allowed(state)
        if state["phases"]["declared"] and not options:
            hint = Hint("It is the last one: ", Use("complete"), " completes the session.")
        elif current == (state["phases"]["declared"] or [None])[-1]:
            hint = Hint(
                "It is the last one: ",
                Use("complete"),
                f" completes the session. Allowed: {_list(options)}.",
            )
        else:
            hint = Hint(Use("phase.enter"), f" enters one. Allowed now: {_list(options)}.")
        raise Refused(f"No single phase follows {one_line(current)}; nothing was written.", hint=hint)
    return enter(state, target)


def skip_to(state: dict[str, Any], name: str, because: str) -> list[Event]:
    """Jump to any declared phase, with a reason."""
    checked_text(name, "phase", cap=NAME_CAP)
    declared = state["phases"]["declared"]
    if declared and name not in declared:
        raise Refused(
            f"{one_line(name)} is not a phase of this session; nothing was written.",
            hint=f"One of: {_list(declared)}.",
        )
    if name == contested.value(state["registers"], "phase") and not state["registers"]["phase"]["rivals"]:
        raise Refused(f"The session is in phase {one_line(name)} already; nothing was written.")
    reason = checked_text(because, "reason")
    saw = contested.seen(state["registers"], "phase")
    return [Event("phase.entered", {"phase": name, "saw": saw, "because": reason})]


def _list(names: list[str]) -> str:
    return ", ".join(one_line(name, 60) for name in names) or "nothing"
