"""Plans: proposed, edited, then approved or rejected."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection, contested
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {"plan.proposed": 1, "plan.edited": 1, "plan.approved": 1, "plan.rejected": 1, "plan.superseded": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"plans": collection.blank()}


def _register(short_id: str) -> str:
    """The register of a plan's text, which two clones may edit concurrently."""
    return f"plan {short_id}"


def _proposed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {
        "id": data["id"],
        "title": excerpt(data["title"]),
        "text": excerpt(data.get("text", "")),
        "status": "proposed",
        "revision": 1,
    }
    collection.add(state, "plans", entry, commit)


def _edited(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    text = excerpt(data["text"])
    entry = state["plans"]["open"].get(data["id"])
    if entry is None:
        # Another clone closed the plan without seeing this edit: the outcome must not seem to apply to this text.
        collection.close(state, "plans", data["id"], commit, outcome="edited", text=text)
        return
    contested.put(state["registers"], _register(data["id"]), text, data["saw"], commit)
    entry["text"] = text
    entry["revision"] += 1


def _closing(outcome: str) -> Callable[[dict[str, Any], dict[str, Any], Commit], None]:
    def fold(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
        reason = excerpt(data["reason"]) if data.get("reason") else None
        collection.close(state, "plans", data["id"], commit, outcome=outcome, reason=reason)
        state["registers"].pop(_register(data["id"]), None)

    return fold


FOLDS = {
    "plan.proposed": _proposed,
    "plan.edited": _edited,
    "plan.approved": _closing("approved"),
    "plan.rejected": _closing("rejected"),
    "plan.superseded": _closing("superseded"),
}
HEADLINES = {
    "plan.proposed": lambda data: f"Proposed {data['id']}: {one_line(data['title'])}",
    "plan.edited": lambda data: f"Edited {data['id']}",
    "plan.approved": lambda data: f"Approved {data['id']}",
    "plan.rejected": lambda data: f"Rejected {data['id']}: {one_line(data['reason'])}",
    "plan.superseded": lambda data: f"Superseded {data['id']}",
}


def propose(
    state: dict[str, Any],
    mint: Callable[[str], str],
    title: str,
    text: str | None = None,
    supersedes: str | None = None,
) -> list[Event]:
    """Propose a plan for approval; it may replace a pending one."""
    collection.check_room(state, "plans", "plans")
    data: dict[str, Any] = {"id": mint("PLAN"), "title": checked_text(title, "title of the plan")}
    if text is not None:
        data["text"] = checked_text(text, "plan")
    events = [Event("plan.proposed", data)]
    if supersedes is not None:
        older = find(state, supersedes)
        events.append(Event("plan.superseded", {"id": older["id"], "reason": f"superseded by {data['id']}"}))
    return events


def edit(state: dict[str, Any], short_id: str | None, text: str) -> list[Event]:
    """Change the text of a pending plan."""
    entry = find(state, short_id)
    saw = contested.seen(state["registers"], _register(entry["id"]))
    return [Event("plan.edited", {"id": entry["id"], "text": checked_text(text, "plan"), "saw": saw})]


def approve(state: dict[str, Any], short_id: str | None = None, reason: str | None = None) -> list[Event]:
    """Approve a plan."""
    entry = find(state, short_id)
    if state["registers"].get(_register(entry["id"]), {}).get("rivals"):
        raise Refused(
            f"Two clones edited {entry['id']} concurrently; nothing was written.",
            hint=Hint(Use("plan.show"), " shows both; ", Use("plan.edit", id=entry["id"]), " resolves it."),
        )
    data = {"id": entry["id"]}
    if reason is not None:
        data["reason"] = checked_text(reason, "reason")
    return [Event("plan.approved", data)]


def reject(state: dict[str, Any], short_id: str | None, reason: str) -> list[Event]:
    """Reject a plan, with a reason."""
    entry = find(state, short_id)
    return [Event("plan.rejected", {"id": entry["id"], "reason": checked_text(reason, "reason")})]


def find(state: dict[str, Any], short_id: str | None) -> dict[str, Any]:
    """A pending plan by id; without an id, the only one."""
    if short_id is not None:
        return collection.find(state, "plans", short_id, "plan")
    waiting = list(state["plans"]["open"].values())
    if len(waiting) == 1:
        entry: dict[str, Any] = waiting[0]
        return entry
    if not waiting:
        raise NotFound("No plan waits for approval.", hint=Hint(Use("plan.propose"), " proposes one."))
    some = ", ".join(entry["id"] for entry in waiting[:10])
    raise Refused(
        f"{len(waiting)} plans wait: {some}. Nothing was written.", hint="Name the one that is meant."
    )
