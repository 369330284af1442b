"""What changed around a session since its last commit: the first thing that a successor must know."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING
from holdfast.views.fence import fenced

if TYPE_CHECKING:
    from holdfast.workspace.session import Session

_SHOWN = 5


def alerts(session: Session) -> list[str]:
    """One line for each: git moved, files that the session refers to changed, somebody else is at work on it."""
    found = _git(session)
    try:
        stale = session.stale()
    except HoldfastError:
        stale = []
    found += [
        f"CHANGED {fenced(entry['path'], 200)} is {_problem(entry['problem'])} since {entry['at'][:16]}"
        for entry in stale[:_SHOWN]
    ]
    if len(stale) > _SHOWN:
        found.append(f"CHANGED {len(stale) - _SHOWN} more files: `holdfast ref check`")
    return found + _others(session)


def _git(session: Session) -> list[str]:
    from holdfast.store.protocol import git_backed

    store = git_backed(session.workspace.store)
    if store is None:
        return []
    before, now = store.git_heads(session.stream)
    if not before or not now or before == now:
        return []
    return [f"GIT MOVED since this place last wrote to the session: {_said(before)} then, {_said(now)} now"]


def _said(head: str) -> str:
    if head.startswith("refs/"):
        branch, _, commit = head.removeprefix("refs/heads/").partition(" ")
        return f"{branch} at {commit[:10]}" if commit else f"{branch} without a commit"
    return f"detached at {head[:10]}"


def _others(session: Session) -> list[str]:
    try:
        presence = session.workspace.presence
        people = presence.who()
    except HoldfastError:
        return []
    name = f"{session.user}/{session.id}"
    return [
        f"ALSO AT WORK on this session: {fenced(str(person['by']), 60)} in "
        f"{fenced(str(person['worktree']), 200)}, last seen {person['seen'][:16]}"
        for person in people
        if person["state"] == "alive" and person["session"] == name and not presence.is_same_agent(person)
    ][:_SHOWN]


def _problem(text: str) -> str:
    return text if text in ("gone", "changed") else fenced(text, 120)
