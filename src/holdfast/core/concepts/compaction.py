"""Compactions: how often an agent's context was compacted, and what the last summary said."""

from __future__ import annotations

from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"context.compacted": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"compactions": {"count": 0, "last": None}}


def _compacted(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    compactions = state["compactions"]
    compactions["count"] += 1
    compactions["last"] = {
        "summary": excerpt(data["summary"]) if data.get("summary") else None,
        "at": commit.at,
        "by": commit.by,
        "trigger": data.get("trigger"),
    }


FOLDS = {"context.compacted": _compacted}
HEADLINES = {
    "context.compacted": lambda data: (
        f"Context compacted{': ' + one_line(data['summary']) if data.get('summary') else ''}"
    )
}


def add(summary: str | None = None, trigger: str | None = None) -> list[Event]:
    """Record that an agent's context was compacted; ``trigger`` is its cause, such as auto or manual."""
    data: dict[str, Any] = {}
    if summary is not None:
        data["summary"] = checked_text(summary, "summary")
    if trigger is not None:
        data["trigger"] = checked_text(trigger, "trigger", cap=NAME_CAP)
    return [Event("context.compacted", data)]
