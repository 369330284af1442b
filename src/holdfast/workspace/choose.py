"""Which session to continue when none is named, and why.

The rule: HOLDFAST_SESSION; else this worktree's pointer; else the newest unfinished session of this user here,
those whose agent died first. Host programs have their own session ids, which are mapped to ours.
"""

from __future__ import annotations

import json
import os

from holdfast.core import contested
from holdfast.core.hashing import blake2b
from holdfast.core.ids import safe_name
from holdfast.core.stream import is_stream_name
from holdfast.errors import HoldfastError, NoSession
from holdfast.typed import TYPE_CHECKING, Any, Record
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


def _unfinished(sessions: list[Session], enough: int) -> list[Session]:
    """The unfinished ones, latest commit first. Once there is one, ``enough`` are opened."""
    found: list[Session] = []
    for number, session in enumerate(sessions):
        if number >= enough and found:
            break
        if is_unfinished(session.peek().state):
            found.append(session)
    return sorted(found, key=lambda session: session.peek().state["head"], reverse=True)


def is_unfinished(state: dict[str, Any]) -> bool:
    return bool(state["session"]) and contested.value(state["registers"], "status") != "complete"


def _abandoned(workspace: Workspace) -> set[str]:
    """Sessions whose known agents are all gone."""
    try:
        people = workspace.presence.who()
    except HoldfastError:
        return set()
    dead = {person["session"] for person in people if person["state"] == "gone" and person["session"]}
    return dead - {person["session"] for person in people if person["state"] != "gone"}


# -- sessions of host programs ----------------------------------------------------------------------------------


def _note(host: str, host_session: str) -> str:
    digest = blake2b(host_session.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"local/hosts/{safe_name(host)[:40]}+{digest}"


def bind(workspace: Workspace, host: str, host_session: str, session: Session) -> None:
    """Store which of our sessions a host's session works on."""
    record = {"host": host, "host_session": host_session, "session": f"{session.user}/{session.id}"}
    workspace.store.put(_note(host, host_session), json.dumps(record).encode() + b"\n")


def for_host(workspace: Workspace, host: str, host_session: str) -> Choice:
    """The session that a host's session works on; a new host session continues what ``pick`` finds."""
    note = workspace.store.get(_note(host, host_session))
    if note is not None:
        try:
            record = json.loads(note)
            if record["host_session"] == host_session:
                return Choice(
                    workspace.session(record["session"]), f"this {safe_name(host)} session works on it"
                )
        except (ValueError, KeyError, TypeError, HoldfastError):
            pass
    choice = pick(workspace)
    bind(workspace, host, host_session, choice.session)
    return choice
