"""Errors: what went wrong, what was tried, and the remedy."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import anchors, collection
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"error.met": 1, "error.remedied": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"errors": collection.blank()}


def _met(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    tried = excerpt(data["tried"]) if data.get("tried") else None
    entry = {"id": data["id"], "text": excerpt(data["text"]), "tried": tried, "anchors": anchors.stored(data)}
    collection.add(state, "errors", entry, commit)


def _remedied(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.close(state, "errors", data["id"], commit, remedy=excerpt(data["remedy"]))


FOLDS = {"error.met": _met, "error.remedied": _remedied}
HEADLINES = {
    "error.met": lambda data: f"Error {data['id']}: {one_line(data['text'])}",
    "error.remedied": lambda data: f"Remedied {data['id']}: {one_line(data['remedy'])}",
}


def add(
    state: dict[str, Any],
    mint: Callable[[str], str],
    text: str,
    tried: str | None = None,
    remedy: str | None = None,
    at: list[anchors.Anchor] | None = None,
) -> list[Event]:
    """Record an error, with its remedy if known, and ``at`` which places."""
    collection.check_room(state, "errors", "errors")
    data: dict[str, Any] = {"id": mint("E"), "text": checked_text(text, "error")}
    if tried is not None:
        data["tried"] = checked_text(tried, "attempt")
    anchors.put(data, at or [])
    events = [Event("error.met", data)]
    if remedy is not None:
        events.append(Event("error.remedied", {"id": data["id"], "remedy": checked_text(remedy, "remedy")}))
    return events


def close(state: dict[str, Any], short_id: str, remedy: str) -> list[Event]:
    """Record the remedy of an error."""
    entry = collection.find(state, "errors", short_id, "error")
    return [Event("error.remedied", {"id": entry["id"], "remedy": checked_text(remedy, "remedy")})]
