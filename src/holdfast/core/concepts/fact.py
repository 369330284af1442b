"""Facts about the project, each with an optional check from a closed set.

A check says what must be true of the world for the fact to hold. It is data and is never executed.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import anchors, collection, conditions
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any

EVENTS = {"fact.added": 1, "fact.dropped": 1}
STEPS: dict[Any, Any] = {}
MOST = 500


def blank() -> dict[str, Any]:
    return {"facts": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {"id": data["id"], "text": excerpt(data["text"]), "check": data.get("check")}
    entry["anchors"] = anchors.stored(data)
    collection.add(state, "facts", entry, commit)


def _dropped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    reason = excerpt(data["reason"]) if data.get("reason") else None
    collection.close(state, "facts", data["id"], commit, outcome="dropped", reason=reason)


FOLDS = {"fact.added": _added, "fact.dropped": _dropped}
HEADLINES = {
    "fact.added": lambda data: f"Fact {data['id']}: {one_line(data['text'])}",
    "fact.dropped": lambda data: (
        f"Dropped {data['id']}{': ' + one_line(data['reason']) if data.get('reason') else ''}"
    ),
}


CHECKS = ("branch-exists", "commit-exists", "file-exists", "file-hash", "file-missing")
"""The kinds of conditions that a fact can have as its check."""


def checked_check(check: object) -> dict[str, Any]:
    """``check`` in normal form, if it is one of the closed set."""
    return conditions.checked(check, CHECKS)


def add(
    state: dict[str, Any],
    mint: Callable[[str], str],
    text: str,
    check: dict[str, Any] | None = None,
    at: list[anchors.Anchor] | None = None,
) -> list[Event]:
    """Add a fact; ``at`` the places that it is about."""
    if len(state["facts"]["open"]) >= MOST:
        raise Refused(
            f"There are {MOST} facts already; nothing was written.",
            hint=Hint("Drop some that no longer matter: ", Use("fact.drop"), "."),
        )
    data: dict[str, Any] = {"id": mint("F"), "text": checked_text(text, "fact")}
    if check is not None:
        data["check"] = checked_check(check)
    anchors.put(data, at or [])
    return [Event("fact.added", data)]


def drop(state: dict[str, Any], short_id: str, reason: str | None = None) -> list[Event]:
    """Drop a fact."""
    data = {"id": collection.find(state, "facts", short_id, "fact")["id"]}
    if reason is not None:
        data["reason"] = checked_text(reason, "reason")
    return [Event("fact.dropped", data)]
