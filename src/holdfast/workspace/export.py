"""Exports: other tools' formats, generated from the log and the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.core.codec import Commit
from holdfast.core.stream import PROJECT
from holdfast.errors import NoSession, Usage
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace.handle import Handle

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


def export(workspace: Workspace, name: str, session: str | None = None, *, everything: bool = False) -> str:
    """The text of an export by its name; ``everything`` includes all sessions in ``events.yaml``."""
    if name not in EXPORTS:
        raise Usage(f"There is no export {name[:40]!r}.", hint=f"There are {', '.join(EXPORTS)}.")
    return EXPORTS[name](workspace, session, everything)


def _session_or_none(workspace: Workspace, name: str | None) -> Session | None:
    try:
        return workspace.session(name)
    except NoSession:
        return None


def _events(workspace: Workspace, name: str | None, everything: bool) -> str:
    from heapq import merge

    from holdfast.views.exports import events_yaml

    streams = workspace.store.streams() if everything else [workspace.session(name).stream]

    def commits(stream: str) -> Iterator[tuple[str, Commit]]:
        return ((stream, commit) for commit in Handle(workspace, stream).stored_commits())

    return events_yaml.render(merge(*map(commits, streams), key=lambda pair: pair[1].id))


def _decisions(workspace: Workspace, name: str | None, everything: bool) -> str:
    from holdfast.views.exports import decision_index

    session = _session_or_none(workspace, name)
    return decision_index.render(workspace.project.state, session.state if session else None)


def _catch_log(workspace: Workspace, name: str | None, everything: bool) -> str:
    from holdfast.views.exports import catch_log

    return catch_log.render(Handle(workspace, PROJECT).stored_commits())


def _backlog(workspace: Workspace, name: str | None, everything: bool) -> str:
    from holdfast.views.exports import backlog_yaml

    return backlog_yaml.render(workspace.project.state)


def _session_state(workspace: Workspace, name: str | None, everything: bool) -> str:
    from holdfast.views.exports import session_state

    session = workspace.session(name)
    return session_state.render(session.peek().state, session.stored_commits())


EXPORTS: dict[str, Callable[[Workspace, str | None, bool], str]] = {
    "events.yaml": _events,
    "session-decisions-index.yaml": _decisions,
    "catch-log.tsv": _catch_log,
    "backlog.yaml": _backlog,
    "session-state.json": _session_state,
}
