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
    import sqlite3

    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


_MOST = 5_000
"""Commits that a brief reads into the index; a search reads the rest."""
_REQUESTS = 3
_FILES = 8


def known_for(session: Session, shown: str = "") -> Known:
    """What a brief of the session can recall; without orders that are in ``shown``."""
    workspace = session.workspace
    project = _without(with_accepted(workspace, state_of(workspace, PROJECT)), shown)
    problem = ""
    elsewhere: list[dict[str, Any]] = []
    recalled: list[dict[str, Any]] = []
    try:
        elsewhere, recalled = _other_sessions(session)
    except HoldfastError as error:
        problem = error.message
    return Known(
        before=_beside(session),
        project=project,
        person=state_of(workspace, f"users/{session.user}"),
        elsewhere=elsewhere,
        recalled=recalled,
        problem=problem,
        now=wall_clock(),
    )


def _beside(session: Session) -> list[dict[str, Any]]:
    """The session that this one follows, and others of this user that were worked on since it began."""
    workspace, state = session.workspace, session.peek().state
    previous = state.get("previous")
    found = [] if previous is None else left(workspace, [previous])
    own = f"{session.user}/{session.id}"
    names = [stream.removeprefix("sessions/") for stream in workspace.page(session.user, 2 * _LEFT)[0]]
    others = [name for name in names if name not in (own, previous)]
    newer = [entry for entry in left(workspace, others) if str(entry["at"]) > str(state["created"] or "")]
    newer.sort(key=lambda entry: str(entry["at"]), reverse=True)
    return [*found, *newer][:_LEFT]


_LEFT = 3
"""Sessions that the brief of a project names."""


def known_for_project(workspace: Workspace, previous: str = "", shown: str = "") -> Known:
    """What a conversation without a session can recall: the project, what waits in all sessions, and the sessions that
    were left open here, ``previous`` first."""
    from holdfast.index.related import waiting

    problem = ""
    elsewhere: list[dict[str, Any]] = []
    names, _ = workspace.page(workspace.user, 2 * _LEFT)
    try:
        if names or _may_have_others(workspace, 1):
            elsewhere = workspace.index.glance(lambda db: waiting(db, ""), most=_MOST)
    except HoldfastError as error:
        problem = error.message
    own = [stream.removeprefix("sessions/") for stream in names]
    pointer = workspace.pointer.session or ""
    return Known(
        project=_without(with_accepted(workspace, state_of(workspace, PROJECT)), shown),
        person=state_of(workspace, f"users/{workspace.user}"),
        before=left(workspace, list(dict.fromkeys(filter(None, [previous, pointer, *own]))))[:_LEFT],
        elsewhere=elsewhere,
        problem=problem,
        now=wall_clock(),
    )


def left(workspace: Workspace, names: list[str]) -> list[dict[str, Any]]:
    """Sessions that were left: what they were for, and how they stand. The first is named whatever its status is, the
    others only if nobody ended them."""
    from holdfast.workspace.standing import standing

    found = []
    for place, name in enumerate(names):
        state = state_of(workspace, f"sessions/{name}")
        if not state.get("session"):
            continue
        status = standing(workspace, name, state)
        if place and status in ("complete", "archived"):
            continue
        found.append(
            {
                "session": name,
                "goal": parts.value(state, "goal"),
                "guessed": parts.is_goal_guessed(state),
                "status": status,
                "said": _last_words(state),
                "unsettled": len(state["decisions"]["open"]),
                "at": state["updated"],
                "by": state["by"],
                "origin": "",
            }
        )
    return found


def _last_words(state: dict[str, Any]) -> str:
    """What was said last in a session. A checkpoint before a compaction has no words of its own."""
    action = state["recovery"]["last_action"] or ""
    if not action.startswith(parts.BEFORE_COMPACTION):
        return action
    said = [message["text"] for message in state["messages"]["recent"] if message["role"] == "assistant"]
    return said[-1] if said else ""


def _without(project: dict[str, Any], shown: str) -> dict[str, Any]:
    """The state of the project without the standing orders that are in ``shown``."""
    if not shown or not project:
        return project
    orders = {key: order for key, order in project["orders"]["open"].items() if order["text"] not in shown}
    return {**project, "orders": {**project["orders"], "open": orders}}


def _other_sessions(session: Session) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What waits in other sessions, and what they wrote that concerns this one."""
    workspace = session.workspace
    if not _may_have_others(workspace, 2):
        return [], []
    from holdfast.index.related import Work, meanwhile, related, waiting

    state = session.peek().state
    work = Work(session.stream, *_work(state))

    def ask(db: sqlite3.Connection) -> tuple[list[dict[str, Any]], ...]:
        since = str(state["created"] or "")
        return waiting(db, work.stream), related(db, work, wall_clock()), meanwhile(db, work.stream, since)

    elsewhere, found, recent = workspace.index.glance(ask, most=_MOST)
    told = {(entry["session"], entry["id"]) for entry in (*elsewhere, *found)}
    new = [entry for entry in recent if (entry["session"], entry["id"]) not in told]
    return elsewhere, [*found, *(entry | {"why": "decided meanwhile"} for entry in new)]


def _may_have_others(workspace: Workspace, least: int) -> bool:
    """Whether there may be this many sessions; a new project has none, and needs no index."""
    folder = os.path.join(workspace.where, "events", "sessions")
    if not os.path.isdir(folder):
        return True  # a store without folders
    users = durable.names_in(posix, folder)
    count = sum(len(durable.names_in(posix, os.path.join(folder, user))) for user in users)
    return count >= least or workspace.has_archive()


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
