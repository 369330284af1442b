"""Next actions: what to do first when the work resumes."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"next.added": 1, "next.done": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"next": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.add(state, "next", {"id": data["id"], "text": excerpt(data["text"])}, commit)


def _done(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    outcome = excerpt(data["outcome"]) if data.get("outcome") else None
    collection.close(state, "next", data["id"], commit, outcome=outcome)


FOLDS = {"next.added": _added, "next.done": _done}
HEADLINES = {
    "next.added": lambda data: f"Next {data['id']}: {one_line(data['text'])}",
    "next.done": lambda data: (
        f"Did {data['id']}{': ' + one_line(data['outcome']) if data.get('outcome') else ''}"
    ),
}


def add(state: dict[str, Any], mint: Callable[[str], str], text: str) -> list[Event]:
    """Add a next action."""
    collection.check_room(state, "next", "next actions")
    return [Event("next.added", {"id": mint("N"), "text": checked_text(text, "next action")})]


def finish(state: dict[str, Any], short_id: str, outcome: str | None = None) -> list[Event]:
    """Record that a next action is done."""
    data = {"id": collection.find(state, "next", short_id, "next action")["id"]}
    if outcome is not None:
        data["outcome"] = checked_text(outcome, "outcome")
    return [Event("next.done", data)]
