"""Blockers: what blocks the whole session."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"blocker.added": 1, "blocker.closed": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"blockers": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.add(state, "blockers", {"id": data["id"], "text": excerpt(data["text"])}, commit)


def _closed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.close(state, "blockers", data["id"], commit, outcome=excerpt(data["outcome"]))


FOLDS = {"blocker.added": _added, "blocker.closed": _closed}
HEADLINES = {
    "blocker.added": lambda data: f"Blocker {data['id']}: {one_line(data['text'])}",
    "blocker.closed": lambda data: f"Closed blocker {data['id']}: {one_line(data['outcome'])}",
}


def add(state: dict[str, Any], mint: Callable[[str], str], text: str) -> list[Event]:
    """Add a blocker."""
    collection.check_room(state, "blockers", "blockers")
    return [Event("blocker.added", {"id": mint("B"), "text": checked_text(text, "blocker")})]


def close(state: dict[str, Any], short_id: str, outcome: str) -> list[Event]:
    """Close a blocker with its outcome."""
    entry = collection.find(state, "blockers", short_id, "blocker")
    return [Event("blocker.closed", {"id": entry["id"], "outcome": checked_text(outcome, "outcome")})]
