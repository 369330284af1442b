"""Standing orders: rules that apply to every session of the project until lifted."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any

EVENTS = {"order.given": 1, "order.lifted": 1}
STEPS: dict[Any, Any] = {}
MOST = 100
ORDER_CAP = 1000
"""The longest order, in characters: every session gets all orders in full."""


def blank() -> dict[str, Any]:
    return {"orders": collection.blank()}


def _given(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.add(state, "orders", {"id": data["id"], "text": data["text"]}, commit)


def _lifted(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    reason = excerpt(data["reason"]) if data.get("reason") else None
    collection.close(state, "orders", data["id"], commit, outcome="lifted", reason=reason)


FOLDS = {"order.given": _given, "order.lifted": _lifted}
HEADLINES = {
    "order.given": lambda data: f"Standing order {data['id']}: {one_line(data['text'])}",
    "order.lifted": lambda data: (
        f"Lifted {data['id']}{': ' + one_line(data['reason']) if data.get('reason') else ''}"
    ),
}


def give(state: dict[str, Any], mint: Callable[[str], str], text: str) -> list[Event]:
    """Give a standing order."""
    if len(state["orders"]["open"]) >= MOST:
        raise Refused(
            f"{MOST} standing orders are active; nothing was written.",
            hint=Hint("Lift some that no longer matter: ", Use("order.lift"), "."),
        )
    return [
        Event("order.given", {"id": mint("SO"), "text": checked_text(text, "standing order", cap=ORDER_CAP)})
    ]


def lift(state: dict[str, Any], short_id: str, reason: str | None = None) -> list[Event]:
    """Lift a standing order."""
    data = {"id": collection.find(state, "orders", short_id, "standing order")["id"]}
    if reason is not None:
        data["reason"] = checked_text(reason, "reason")
    return [Event("order.lifted", data)]
