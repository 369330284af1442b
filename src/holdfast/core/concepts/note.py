"""Notes: free text worth keeping."""

from __future__ import annotations

from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"note.added": 1}
STEPS: dict[Any, Any] = {}
KEPT = 5


def blank() -> dict[str, Any]:
    return {"notes": {"count": 0, "last": []}}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    notes = state["notes"]
    notes["count"] += 1
    notes["last"].append(
        {"text": excerpt(data["text"]), "at": commit.at, "by": commit.by, "origin": commit.origin}
    )
    del notes["last"][:-KEPT]


FOLDS = {"note.added": _added}
HEADLINES = {"note.added": lambda data: f"Note: {one_line(data['text'])}"}


def add(state: dict[str, Any], text: str) -> list[Event]:
    """Add a note."""
    return [Event("note.added", {"text": checked_text(text, "note")})]
