"""Loops: open questions. An outcome closes one, and can become a decision in the same commit."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection
from holdfast.core.codec import Commit, Event
from holdfast.core.concepts import decision
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Refused
from holdfast.typed import Any

EVENTS = {"loop.added": 1, "loop.explored": 1, "loop.closed": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"loops": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {
        "id": data["id"],
        "title": excerpt(data["title"]),
        "status": "open",
        "context": excerpt(data["context"]) if data.get("context") else None,
    }
    collection.add(state, "loops", entry, commit)


def _explored(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.change(state, "loops", data["id"], status="clarifying")


def _closed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    outcome = excerpt(data["outcome"])
    collection.close(state, "loops", data["id"], commit, outcome=outcome, decision=data.get("decision"))


FOLDS = {"loop.added": _added, "loop.explored": _explored, "loop.closed": _closed}
HEADLINES = {
    "loop.added": lambda data: f"Added {data['id']}: {one_line(data['title'])}",
    "loop.explored": lambda data: f"Exploring {data['id']}",
    "loop.closed": lambda data: f"Closed {data['id']}: {one_line(data['outcome'])}",
}


def add(
    state: dict[str, Any], mint: Callable[[str], str], title: str, context: str | None = None
) -> list[Event]:
    """Add an open question."""
    collection.check_room(state, "loops", "loops")
    data = {"id": mint("LOOP"), "title": checked_text(title, "question")}
    if context is not None:
        data["context"] = checked_text(context, "context")
    return [Event("loop.added", data)]


def explore(state: dict[str, Any], short_id: str) -> list[Event]:
    """Start to explore a question."""
    entry = collection.find(state, "loops", short_id, "loop")
    if entry["status"] == "clarifying":
        raise Refused(f"{entry['id']} is being explored already; nothing was written.")
    return [Event("loop.explored", {"id": entry["id"]})]


def close(
    state: dict[str, Any],
    mint: Callable[[str], str],
    short_id: str,
    outcome: str,
    decide: str | None = None,
    because: str | None = None,
) -> list[Event]:
    """Close a question with its answer. With ``decide`` also record a decision; its reason is ``because``, else the
    outcome."""
    entry = collection.find(state, "loops", short_id, "loop")
    data = {"id": entry["id"], "outcome": checked_text(outcome, "outcome")}
    if decide is None:
        if because is not None:
            raise Refused("A reason belongs to a decision, and none was given; nothing was written.")
        return [Event("loop.closed", data)]
    reason = outcome if because is None else because
    made = decision.decide(state, mint, decide, reason, links={"loop": entry["id"]})
    return [Event("loop.closed", {**data, "decision": made[0].data["id"]}), *made]
