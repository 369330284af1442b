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
        *lines.stale_anchors(_moved_on(session)),
        *lines.others_at_work(_others(session)),
    ]


def _stale(session: Session) -> list[dict[str, Any]]:
    try:
        return stale_files(session)
    except HoldfastError:
        return []


ANCHORED = 40
"""Records whose anchors are looked at for a brief, the newest."""


def _moved_on(session: Session) -> list[tuple[str, str]]:
    """Decisions and errors of the session, and facts and decisions of the project, whose place is not what it was."""
    from holdfast.core.stream import PROJECT
    from holdfast.workspace.handle import Handle

    project = Handle(session.workspace, PROJECT).peek().state
    entries = [(session.stream, entry) for entry in _anchored(session.peek().state)]
    entries += [(PROJECT, entry) for entry in _anchored(project)]
    if not entries:
        return []
    from holdfast.core.anchors import CHANGED, GONE, stored
    from holdfast.workspace.anchors import standing

    return [
        (entry["id"], str(place))
        for stream, entry in entries
        for anchor in stored(entry)
        # A branch moves on by itself, and to ask git takes a process: a brief looks at files alone.
        if "path" in anchor or "package" in anchor
        for place in [standing(session.workspace, stream, anchor)]
        if place.status in (CHANGED, GONE)
    ]


def _anchored(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The newest entries of a state that have anchors; a decision that was replaced matters no more."""
    found = [
        entry
        for name in ("decisions", "errors", "facts")
        if name in state
        for entry in (*state[name]["open"].values(), *(state[name]["closed"] if name == "decisions" else ()))
        if entry.get("anchors") and not entry.get("superseded_by")
    ]
    return found[-ANCHORED:]


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
