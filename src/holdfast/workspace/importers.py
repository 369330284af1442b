"""How each kind of imported record becomes events, by the rules of its concept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core import concepts, contested
from holdfast.core.codec import Event
from holdfast.errors import NotFound, Refused
from holdfast.workspace.handle import Handle

Importer = Callable[[dict[str, Any], Any, dict[str, Any], str, Handle], list[Event]]

PROJECT_KINDS = frozenset(["backlog", "order", "control", "link"])
"""Kinds of records that belong to the project, wherever they are found."""
_MOST_COMPACTIONS = 1000


def _named(data: dict[str, Any], text: str) -> str:
    """The text with its original id, so that people find it."""
    return f"{data['was']}: {text}" if data.get("was") and not text.startswith(data["was"]) else text


def _goal(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.session.set_goal(state, data["text"])


def _focus(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.session.set_focus(state, data["text"])


def _phase(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.phase.enter(state, data["text"])


def _phases(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    return concepts.phase.declare(state, data["phases"], None)


def _status(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    said = data["text"].lower()
    for word, status in (("block", "blocked"), ("await", "awaiting-input"), ("waiting", "awaiting-input")):
        if word in said:
            return concepts.session.mark(state, status)
    if said.startswith(("working", "in progress", "executing", "active")):
        return concepts.session.mark(state, "working")
    return concepts.note.add(state, f"status: {data['text']}")


def _task(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    events = concepts.task.add(state, mint, data["text"])
    saw = contested.seen(state["registers"], "task")
    return [*events, Event("task.started", {"id": events[0].data["id"], "saw": saw})]


def _decision(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    """It was made elsewhere and has had its effect: it is imported as settled."""
    because = data.get("because") or "no reason was recorded"
    events = concepts.decision.decide(state, mint, _named(data, data["text"]), because)
    outcome = data.get("outcome") or f"imported from {where}"
    return [*events, Event("decision.settled", {"id": events[0].data["id"], "outcome": outcome, "ok": True})]


def _loop(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    events = concepts.loop.add(state, mint, _named(data, data["title"]), data.get("context") or None)
    if data.get("status", "").startswith("clarif"):
        events.append(Event("loop.explored", {"id": events[0].data["id"]}))
    return events


def _risk(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.risk.add(state, mint, data["text"])


def _blocker(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    return concepts.blocker.add(state, mint, data["text"])


def _next(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.next_action.add(state, mint, data["text"])


def _note(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.note.add(state, data["text"])


def _legal(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.legal.add(state, mint, data["text"], f"imported from {where}")


def _compactions(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    count = data["count"]
    if count > _MOST_COMPACTIONS:
        raise Refused(f"{count:,} compactions are more than can be true; nothing was written.")
    return [event for _ in range(count) for event in concepts.compaction.add(None, "import")]


def _checkpoint(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    return concepts.checkpoint.save(
        state,
        data["text"],
        last_completed=data.get("last_completed"),
        pending=data.get("pending", ()),
        can_resume=data.get("can_resume", True),
        instruction=data.get("instruction"),
    )


def _budget(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    events = concepts.budget.set_total(state, data["total"])
    if data["used"]:
        item = {"name": "imported", "tokens": data["used"], "included": True, "saw": []}
        events.append(Event("budget.added", item))
    return events


def _file(kind: str) -> Importer:
    def take(
        state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
    ) -> list[Event]:
        files = handle.workspace.files(handle.stream)
        found = files.look(files.name(data["text"]))
        return concepts.reference.add(state, found.path, found.size, found.hash, kind)

    return take


def _batch(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    events = concepts.batch.create(state, mint, data["items"], data["title"], done=data["done"])
    name = events[0].data["id"]
    return events + [
        Event("batch.item-failed", {"id": name, "item": failed["item"], "reason": failed["reason"]})
        for failed in data["failed"]
    ]


def _order(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    return concepts.order.give(state, mint, _named(data, data["text"]))


def _control(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    return concepts.control.fire(
        state,
        mint,
        data["control"],
        data["what"],
        data.get("outcome"),
        data.get("caught_by"),
        data.get("notes"),
    )


def _tag(was: str) -> str:
    return f"was:{was}"[:60]


def _backlog(
    state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle
) -> list[Event]:
    tags = [*data["tags"], *([_tag(data["was"])] if data["was"] else [])]
    events = concepts.backlog.add(state, mint, data["title"], data["priority"], data["epic"], tags)
    name = events[0].data["id"]
    if data["status"] == "started":
        events.append(Event("backlog.started", {"id": name, "saw": []}))
    elif data["status"] == "closed":
        outcome = "done" if data["outcome"] in ("done", "closed", "complete", "completed") else "dropped"
        events.append(Event("backlog.closed", {"id": name, "outcome": outcome}))
    return events


def _link(state: dict[str, Any], mint: Any, data: dict[str, Any], where: str, handle: Handle) -> list[Event]:
    """Dependencies of an item, linked once all items exist: a file may name an item before it lists it."""
    item = _by_tag(state, data["was"])
    if item is None:
        raise NotFound(f"{data['title'][:80]!r} is not on the backlog any more.")
    others = [_by_tag(state, name) for name in data["depends_on"]]
    missing = [name for name, other in zip(data["depends_on"], others, strict=True) if other is None]
    if missing:
        raise NotFound(f"It waits for {', '.join(missing)[:200]}, which is not open on the backlog.")
    return concepts.backlog.edit(
        state, item["id"], {"depends_on": [other["id"] for other in others if other]}
    )


def _by_tag(state: dict[str, Any], was: str) -> dict[str, Any] | None:
    wanted = _tag(was)
    return next((item for item in state["backlog"]["open"].values() if wanted in item["tags"]), None)


IMPORTERS: dict[str, Importer] = {
    "goal": _goal,
    "focus": _focus,
    "phase": _phase,
    "phases": _phases,
    "status": _status,
    "task": _task,
    "decision": _decision,
    "loop": _loop,
    "risk": _risk,
    "blocker": _blocker,
    "next": _next,
    "note": _note,
    "legal": _legal,
    "compactions": _compactions,
    "checkpoint": _checkpoint,
    "budget": _budget,
    "reference": _file("artifact"),
    "context": _file("context"),
    "batch": _batch,
    "order": _order,
    "control": _control,
    "backlog": _backlog,
    "link": _link,
}
