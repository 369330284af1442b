"""What changed around a session since its last commit: the first thing that the next agent must know."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import alerts as lines
from holdfast.workspace.entries import stale_files

if TYPE_CHECKING:
    from holdfast.workspace.session import Session


def alerts(session: Session) -> list[str]:
    """One line for each: damage, git moved, referenced files changed, others at work on it."""
    return [
        *(lines.damaged(fault.where, fault.what) for fault in session.peek().faults),
        *_git(session),
        *lines.changed_files(_stale(session)),
        *lines.others_at_work(_others(session)),
    ]


def _stale(session: Session) -> list[dict[str, Any]]:
    try:
        return stale_files(session)
    except HoldfastError:
        return []


def _git(session: Session) -> list[str]:
    from holdfast.store.protocol import git_backed

    store = git_backed(session.workspace.store)
    if store is None:
        return []
    before, now = store.git_heads(session.stream)
    return [lines.git_moved(before, now)] if before and now and before != now else []


def _others(session: Session) -> list[dict[str, Any]]:
    try:
        presence = session.workspace.presence
        people = presence.who()
    except HoldfastError:
        return []
    name = f"{session.user}/{session.id}"
    return [
        person
        for person in people
        if person["state"] == "alive" and person["session"] == name and not presence.is_same_agent(person)
    ]
