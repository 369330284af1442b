"""Which session to continue when none is named, and why.

The rule: HOLDFAST_SESSION; else this worktree's pointer; else the newest unfinished session of this user here,
those whose agent died first. Conversations of agent hosts have a rule of their own (``core/continuation.py``).
"""

from __future__ import annotations

import os

from holdfast.core.concepts.session import is_unfinished
from holdfast.core.stream import is_stream_name
from holdfast.errors import Hint, HoldfastError, NoSession, Use
from holdfast.typed import TYPE_CHECKING, Record
from holdfast.workspace.session import Session

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

LOOKED_AT = 30
"""How many of the newest sessions are opened to find the one written last."""
AT_MOST = 300
"""How many are opened if all of those are finished."""


class Choice(Record):
    """A session, and why it was chosen."""

    session: Session
    why: str


def pick(workspace: Workspace) -> Choice:
    """The session to continue here."""
    if named := os.environ.get("HOLDFAST_SESSION"):
        return Choice(workspace.session(named), "HOLDFAST_SESSION names it")
    current = workspace.current()
    if current is not None:
        try:
            session = workspace.session(current)
        except HoldfastError:
            session = None  # on another branch, or archived
        if session is not None and is_unfinished(session.peek().state):
            return Choice(session, "it is the current one of this worktree")
    streams, total = workspace.page(workspace.user, AT_MOST)
    if not streams:  # the workspace may be gone: nothing may be written there
        raise NoSession(f"{workspace.user} has no session here.")
    crashed = [
        Session(workspace, f"sessions/{name}")
        for name in _abandoned(workspace)
        if name.partition("/")[0] == workspace.user and is_stream_name(f"sessions/{name}")
    ]
    if left := _unfinished(crashed, AT_MOST):
        return Choice(left[0], "its agent is gone and left it unfinished; it is the newest such session")
    candidates = _unfinished([Session(workspace, stream) for stream in streams], LOOKED_AT)
    if not candidates:
        among = f" among the newest {AT_MOST}" if total > AT_MOST else ""
        raise NoSession(f"{workspace.user} has no unfinished session{among} here.")
    for session in candidates:
        if session.peek().state["decisions"]["open"]:
            return Choice(
                session, "it is the newest unfinished session with a decision that was never confirmed"
            )
    return Choice(candidates[0], f"it is the newest unfinished session of {workspace.user}")


def latest(workspace: Workspace) -> Session:
    """The unfinished session of anybody that was written to last; if all are finished, the newest one.

    For a place that has no session of its own, such as a fresh clone in CI.
    """
    streams, _ = workspace.page(None, AT_MOST)
    sessions = [Session(workspace, stream) for stream in streams]
    if not sessions:
        raise NoSession("There is no session in this workspace.", hint=Hint(Use("start"), " starts one."))
    found = _unfinished(sessions, LOOKED_AT)
    return found[0] if found else sessions[0]


def _unfinished(sessions: list[Session], enough: int) -> list[Session]:
    """The unfinished ones, latest commit first. Once there is one, ``enough`` are opened."""
    found: list[Session] = []
    for number, session in enumerate(sessions):
        if number >= enough and found:
            break
        if is_unfinished(session.peek().state):
            found.append(session)
    return sorted(found, key=lambda session: session.peek().state["head"], reverse=True)


def _abandoned(workspace: Workspace) -> set[str]:
    """Sessions whose known agents are all gone."""
    try:
        people = workspace.presence.who()
    except HoldfastError:
        return set()
    dead = {person["session"] for person in people if person["state"] == "gone" and person["session"]}
    return dead - {person["session"] for person in people if person["state"] != "gone"}
