"""Resources: views of sessions and pages of their logs, under ``holdfast://`` URIs."""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.core import contested
from holdfast.core.ids import checked_name, is_session_id
from holdfast.core.stream import PROJECT, last_part, owner
from holdfast.edge.mcp import hints
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.wire import Json, NoResource
from holdfast.errors import HoldfastError, InvalidName, NotFound
from holdfast.typed import Any, Record
from holdfast.views.markdown import visible_json
from holdfast.workspace.handle import Handle
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace

SCHEME = "holdfast://"
LISTED = 100
"""The most sessions in the list."""
_MARKDOWN, _JSON = "text/markdown", "application/json"


class Address(Record):
    """A parsed URI: the list of sessions (no view), a view of a session, or a page of its log."""

    session: str | None
    """``user/id``; None for the current one."""
    view: str
    page: int = 0


def parse(uri: str) -> Address | None:
    """Parse the URI of one of our resources; None for any other."""
    if not uri.startswith(SCHEME) or len(uri) > 300:
        return None
    parts = uri[len(SCHEME) :].split("/")
    if parts == ["sessions"]:
        return Address(None, "")
    session = None
    if parts[0] == "session" and len(parts) >= 4 and _is_user(parts[1]) and is_session_id(parts[2]):
        session, parts = f"{parts[1]}/{parts[2]}", parts[2:]
    elif parts[0] != "current":
        return None
    if len(parts) == 2 and parts[1] in VIEWS:
        return Address(session, parts[1])
    if (
        len(parts) == 3
        and parts[1] == "log"
        and parts[2].isascii()
        and parts[2].isdecimal()
        and len(parts[2]) < 10
    ):
        return Address(session, "log", int(parts[2])) if int(parts[2]) else None
    return None


def _is_user(text: str) -> bool:
    try:
        return bool(checked_name(text, "user"))
    except InvalidName:
        return False


# -- views ------------------------------------------------------------------------------------------------


def _state_json(session: Session) -> str:
    from holdfast.views import state_json

    return state_json.render(session.peek().state)


def _state_md(session: Session) -> str:
    from holdfast.views import state_md

    return state_md.render(session.peek().state)


def _decisions_md(session: Session) -> str:
    from holdfast.views import decisions_md

    return decisions_md.render(session.peek().state)


def _handoff_md(session: Session) -> str:
    from holdfast.views.pages import handoff_md
    from holdfast.workspace.handover import project_state

    return handoff_md(session.peek().state, project_state(session.workspace))


def _brief_md(session: Session) -> str:
    from holdfast.workspace.handover import make_brief

    return make_brief(session).text


VIEWS: dict[str, tuple[str, str, Callable[[Session], str]]] = {
    "state.json": (_JSON, "The state of the session, under 10 KB", _state_json),
    "STATE.md": (_MARKDOWN, "The state of the session as a page", _state_md),
    "DECISIONS.md": (_MARKDOWN, "The decisions of the session, with reasons and outcomes", _decisions_md),
    "handoff.md": (_MARKDOWN, "The handoff page for the next agent", _handoff_md),
    "brief.md": (_MARKDOWN, "The brief: what a new agent needs to continue", _brief_md),
}


def listed() -> list[Json]:
    """What ``resources/list`` shows: the current session and the list of all."""
    found = [
        {"uri": f"{SCHEME}current/{name}", "name": name, "description": said, "mimeType": kind}
        for name, (kind, said, _) in VIEWS.items()
    ]
    first = {
        "uri": f"{SCHEME}current/log/1",
        "name": "log",
        "description": "The log of the session, first page",
    }
    sessions = {"uri": f"{SCHEME}sessions", "name": "sessions", "description": "The sessions, newest first"}
    return [*found, {**first, "mimeType": _JSON}, {**sessions, "mimeType": _JSON}]


def templates() -> list[Json]:
    """What ``resources/templates/list`` shows."""
    rows = (
        ("current/log/{page}", "log page", "A page of the current session's log, oldest first", _JSON),
        ("session/{user}/{id}/{view}", "view", f"A view of a session: {', '.join(VIEWS)}", None),
        ("session/{user}/{id}/log/{page}", "log page of a session", "A page of a session's log", _JSON),
    )
    return [
        {
            "uriTemplate": SCHEME + path,
            "name": name,
            "description": said,
            **({"mimeType": kind} if kind else {}),
        }
        for path, name, said, kind in rows
    ]


def read(pool: WorkspacePool, client: str, uri: str) -> list[Json]:
    """The contents of a resource."""
    address = parse(uri)
    if address is None:
        raise NoResource(uri)
    kind = _JSON
    try:
        if not address.view:
            with pool.context(client) as context:
                text = json.dumps(_sessions(context.workspace), ensure_ascii=False, indent=1)
        elif address.view == "log":
            from holdfast.edge.mcp.log import page

            found = pool.on_own_handle(client, lambda session: page(session, address.page), address.session)
            if found is None:
                raise NoResource(uri)
            text = json.dumps(found, ensure_ascii=False, indent=1)
        else:
            kind, _, render = VIEWS[address.view]
            text = pool.on_session(client, render, address.session)
    except NotFound as error:
        missing = NoResource(uri)
        missing.message = f"{error.message} {hints.text(error.hint)}"
        raise missing from error
    return [{"uri": uri, "mimeType": kind, "text": visible_json(text) if kind == _JSON else text}]


def _sessions(workspace: Workspace) -> Json:
    streams, total = workspace.page(None, LISTED)
    current = workspace.current()
    rows = []
    for stream in streams:
        state = Handle(workspace, stream).peek().state
        name = f"{owner(stream)}/{last_part(stream)}"
        goal = contested.value(state["registers"], "goal", "")
        rows.append(
            {
                "session": name,
                "goal": goal[:200],
                "status": contested.value(state["registers"], "status"),
                "updated_at": state["updated"],
                "unsettled": len(state["decisions"]["open"]),
                "current": name == current,
                "uri": f"{SCHEME}session/{name}/STATE.md",
            }
        )
    return {"sessions": rows, "total": total}


def mark(pool: WorkspacePool, uri: str) -> Any:
    """A value that changes when the resource does; None if the resource cannot exist."""
    address = parse(uri)
    if address is None:
        return None
    try:
        if not address.view:
            with pool.any_context() as context:
                streams, total = context.workspace.page(None, LISTED)
                return (context.workspace.current(), total, *streams[:1])
        with pool.any_context() as context:
            return _session_mark(pool.choose(context, address.session), address)
    except HoldfastError as error:
        return ("none", error.code)


def _session_mark(session: Session, address: Address) -> Any:
    working_set = session.peek()
    if address.view in ("handoff.md", "brief.md"):
        project = Handle(session.workspace, PROJECT).peek()
        return (session.stream, working_set.head, working_set.version, project.head, project.version)
    return (session.stream, working_set.head, working_set.version)
