"""What the rest of the memory has for a session: its project, its user, and what other sessions wrote.

Other sessions are found through the index, by the files that they share and by the words of the goal and of the last
request. What cannot be read is named: that nothing was found must mean that there is nothing.
"""

from __future__ import annotations

import os

from holdfast.core.stream import PROJECT
from holdfast.errors import HoldfastError
from holdfast.fs import durable, posix
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import parts
from holdfast.views.brief_sections import Known
from holdfast.workspace.accepted import with_accepted
from holdfast.workspace.clock import wall_clock

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


_MOST = 5_000
"""Commits that a brief reads into the index; a search reads the rest."""
_REQUESTS = 3
_FILES = 8


def known_for(session: Session, shown: str = "") -> Known:
    """What a brief of the session can recall; without orders that are in ``shown``."""
    workspace = session.workspace
    project = with_accepted(workspace, state_of(workspace, PROJECT))
    if shown and project:
        orders = {
            key: order for key, order in project["orders"]["open"].items() if order["text"] not in shown
        }
        project = {**project, "orders": {**project["orders"], "open": orders}}
    problem = ""
    elsewhere: list[dict[str, Any]] = []
    recalled: list[dict[str, Any]] = []
    try:
        elsewhere, recalled = _other_sessions(session)
    except HoldfastError as error:
        problem = error.message
    return Known(
        project=project,
        person=state_of(workspace, f"users/{session.user}"),
        elsewhere=elsewhere,
        recalled=recalled,
        problem=problem,
        now=wall_clock(),
    )


def _other_sessions(session: Session) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What waits in other sessions, and what they wrote that concerns this one."""
    workspace = session.workspace
    if not _may_have_others(workspace):
        return [], []
    from holdfast.index.related import Work, related, waiting

    work = Work(session.stream, *_work(session.peek().state))
    return workspace.index.glance(
        lambda db: (waiting(db, session.stream), related(db, work, wall_clock())), most=_MOST
    )


def _may_have_others(workspace: Workspace) -> bool:
    """Whether there may be another session; a new project has none, and needs no index."""
    folder = os.path.join(workspace.where, "events", "sessions")
    if not os.path.isdir(folder):
        return True  # a store without folders
    users = durable.names_in(posix, folder)
    count = sum(len(durable.names_in(posix, os.path.join(folder, user))) for user in users)
    return count > 1 or workspace.has_archive()


def _work(state: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The words of a session's work, the newest first, and the files that it touched last."""
    asked = [message["text"] for message in state["messages"]["recent"] if message["role"] == "user"]
    task = parts.current_task(state)
    words = [parts.value(state, "focus"), task["title"] if task else "", *asked[: -_REQUESTS - 1 : -1]]
    words += [parts.value(state, "goal"), *(entry["text"] for entry in parts.opened(state, "next")[:3])]
    references = sorted(parts.opened(state, "references"), key=lambda entry: str(entry["commit"]))
    return "\n".join(words), tuple(entry["path"] for entry in references[: -_FILES - 1 : -1])


def state_of(workspace: Workspace, stream: str) -> dict[str, Any]:
    """The state of another stream; empty if it cannot be read."""
    from holdfast.workspace.handle import Handle

    try:
        return Handle(workspace, stream).peek().state
    except HoldfastError:
        return {}
