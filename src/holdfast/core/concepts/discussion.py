"""A discussion: a digression from the work that saves the exact place to return to. One level deep."""

from __future__ import annotations

from holdfast.core import contested
from holdfast.core.codec import Commit, Event
from holdfast.core.concepts import phase
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any

EVENTS = {"discussion.opened": 1, "discussion.closed": 1}
STEPS: dict[Any, Any] = {}
PLACE = ("task", "focus", "status", "phase")
"""The registers that make up the saved place."""


def blank() -> dict[str, Any]:
    return {"discussion": None}


def _opened(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    registers = state["registers"]
    contested.put(registers, "discussion", excerpt(data["topic"]), data["saw"], commit)
    contested.put(registers, "status", "discussion", data["saw_status"], commit)
    state["discussion"] = {
        "topic": excerpt(data["topic"]),
        "return_to": data["return_to"],
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
    }


def _closed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    registers = state["registers"]
    contested.put(registers, "discussion", None, data["saw"], commit)
    state["discussion"] = None
    for name, (value, saw) in data["restored"].items():
        contested.put(registers, name, value, saw, commit)
        if name == "phase" and value is not None:
            phase.remember(state, value, commit, "the discussion ended")


FOLDS = {"discussion.opened": _opened, "discussion.closed": _closed}
HEADLINES = {
    "discussion.opened": lambda data: f"Discussion: {one_line(data['topic'])}",
    "discussion.closed": lambda data: (
        f"Returned from the discussion{': ' + one_line(data['summary']) if data.get('summary') else ''}"
    ),
}


def open_discussion(state: dict[str, Any], topic: str) -> list[Event]:
    """Open a discussion."""
    current = state["discussion"]
    if current is not None:
        raise Refused(
            f"A discussion is open since {current['at']}: {one_line(current['topic'], 80)}. "
            "Discussions do not nest. Nothing was written.",
            hint=Hint(Use("return"), " ends it. To keep the new topic for later: ", Use("loop.add"), "."),
        )
    registers = state["registers"]
    place = {name: contested.value(registers, name) for name in PLACE}
    if place["status"] in ("paused", "complete", "abandoned"):
        raise Refused(
            f"The session is {place['status']}; nothing was written.",
            hint=Hint(Use("continue"), " resumes it."),
        )
    if place["status"] == "discussion":
        place["status"] = "working"  # another clone closed the discussion that set this status
    data = {
        "topic": checked_text(topic, "topic"),
        "return_to": place,
        "saw": contested.seen(registers, "discussion"),
        "saw_status": contested.seen_value(registers, "status"),
    }
    return [Event("discussion.opened", data)]


def close_discussion(state: dict[str, Any], summary: str | None = None) -> list[Event]:
    """Return to the exact place where the discussion started."""
    registers = state["registers"]
    current = state["discussion"]
    if current is None and not registers.get("discussion", {}).get("rivals"):
        raise Refused(
            "There is no discussion to return from; nothing was written.",
            hint=Hint(Use("discuss"), " opens one."),
        )
    restored = {}
    # Without an open discussion this only settles a contest: another clone has returned already.
    place = current["return_to"] if current is not None else {}
    for name, value in place.items():
        if name == "task" and value is not None and value not in state["tasks"]["open"]:
            continue  # it was closed in the meantime, so there is nothing to return to
        if value != contested.value(registers, name):
            # Only the shown value is overwritten: a contest that nobody settled stays contested.
            restored[name] = [value, contested.seen_value(registers, name)]
    data: dict[str, Any] = {"restored": restored, "saw": contested.seen(registers, "discussion")}
    if summary is not None:
        data["summary"] = checked_text(summary, "summary")
    return [Event("discussion.closed", data)]
