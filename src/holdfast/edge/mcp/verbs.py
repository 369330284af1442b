"""The implementation of the tools: each is one call of the library."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import contested
from holdfast.core.stream import last_part
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.tool import ToolResult
from holdfast.edge.mcp.wire import Json
from holdfast.errors import Usage
from holdfast.typed import Any
from holdfast.workspace.handle import Receipt
from holdfast.workspace.session import Session


def _receipt(session: Session, receipt: Receipt, **more: Any) -> ToolResult:
    left = {
        "id": receipt.id,
        "session": session.id,
        "version": receipt.version,
        "repeated": receipt.repeated,
    }
    return ToolResult({**left, **{name: value for name, value in more.items() if value is not None}})


def on_session(
    act: Callable[[Session, Json], ToolResult],
) -> Callable[[WorkspacePool, str, Json], ToolResult]:
    def run(pool: WorkspacePool, client: str, given: Json) -> ToolResult:
        named = given.pop("session", None)
        said: ToolResult = pool.on_session(client, lambda session: act(session, given), named)
        return said

    return run


def _needs(tool: str, do: str, given: Json, *names: str) -> list[Any]:
    """The required arguments of one verb of a tool."""
    missing = [name for name in names if name not in given]
    if missing:
        raise Usage(f"{tool} with do={do} needs {' and '.join(missing)}. Nothing was written.", hint="")
    return [given[name] for name in names]


# -- reading ----------------------------------------------------------------------------------------------


UNSETTLED_SHOWN = 50
"""The most ids of unsettled decisions in the brief, oldest first."""


def brief(session: Session, given: Json) -> ToolResult:
    from holdfast.workspace.handover import make_brief

    packet = make_brief(session, given.get("budget"))
    working_set = session.peek()
    data = {
        "session": session.id,
        "version": working_set.version,
        "tokens": packet.tokens,
        "unsettled": list(working_set.state["decisions"]["open"])[:UNSETTLED_SHOWN],
        "text": packet.text,
    }
    return ToolResult(data, packet.text)


def status(session: Session, given: Json) -> ToolResult:
    working_set = session.peek()
    return ToolResult(
        {
            "session": session.id,
            "version": working_set.version,
            "state": working_set.shown,
            "damaged": [f"{fault.where}: {fault.what}" for fault in working_set.faults],
        }
    )


def search(pool: WorkspacePool, client: str, given: Json) -> ToolResult:
    from holdfast.edge.mcp.log import LIMIT, about, search

    data: Json
    if "id" in given:
        wanted, limit = given["id"], given.get("limit", LIMIT)
        named = given.get("session")
        data = pool.on_own_handle(client, lambda session: about(session, wanted, limit), named)
    else:
        with pool.context(client) as context:
            workspace = context.workspace
        data = search(workspace, given)
    from holdfast.views.fence import RULE, token

    lines = [RULE]
    for event in data["events"]:
        name = f"{token(event['type'])} {token(event['id'])}" if event["id"] else token(event["type"])
        where = f" in {event['session']}" if event["session"] else ""
        lines.append(f"{token(event['at'])} {name}{where} {event['text']}")
    lines += _looked(data)
    return ToolResult(data, "\n".join(lines))


def _looked(data: Json) -> list[str]:
    """How much was found, and where."""
    found, total = len(data["events"]), data["total"]
    if not found:
        return [f"Nothing found in {data['looked']}."]
    shown = (
        f"{found} of {total:,} matches" if found < total else f"{found} matches" if found > 1 else "1 match"
    )
    return [f"{shown} in {data['looked']}."]


# -- writing ----------------------------------------------------------------------------------------------


def start(pool: WorkspacePool, client: str, given: Json) -> ToolResult:
    with pool.context(client) as context:
        session = context.workspace.start(given["goal"], phases=given.get("phases"), op=given.get("op"))
        context.last = session
        return ToolResult({"session": session.id, "user": session.user, "version": session.version})


def decide(session: Session, given: Json) -> ToolResult:
    return _receipt(session, session.decide(given.pop("text"), **given))


def settle(session: Session, given: Json) -> ToolResult:
    if given["id"][:2].upper() == "C-":
        return _settle_captures(session, given["id"].replace(",", " ").split(), given)
    return _receipt(session, session.settle(given.pop("id"), given.pop("outcome"), **given))


def _settle_captures(session: Session, ids: list[str], given: Json) -> ToolResult:
    """Confirm or drop what hooks captured."""
    for place, short_id in enumerate(ids):
        op = f"{given['op']}:{place}"[:200] if "op" in given else None
        if given.get("ok", True):
            receipt = session.confirm_capture(short_id, op=op)
        else:
            receipt = session.drop_capture(short_id, given["outcome"], op=op)
    return _receipt(session, receipt)


def checkpoint(session: Session, given: Json) -> ToolResult:
    return _receipt(session, session.checkpoint(given.pop("message"), **given))


def note(session: Session, given: Json) -> ToolResult:
    return _receipt(session, session.note(given.pop("text"), **given))


def loop(session: Session, given: Json) -> ToolResult:
    do, op = given["do"], given.get("op")
    if do == "add":
        (title,) = _needs("loop", do, given, "text")
        return _receipt(session, session.add_loop(title, context=given.get("context"), op=op))
    if do == "explore":
        (loop,) = _needs("loop", do, given, "id")
        return _receipt(session, session.explore_loop(loop, op=op))
    loop, outcome = _needs("loop", do, given, "id", "text")
    receipt = session.close_loop(loop, outcome, decide=given.get("decide"), op=op)
    closed = [entry for entry in session.peek().state["loops"]["closed"] if entry["id"] == receipt.id]
    return _receipt(session, receipt, decision=closed[-1]["decision"] if closed else None)


def task(session: Session, given: Json) -> ToolResult:
    do, op, task = given["do"], given.get("op"), given.get("id")
    if do == "add":
        (title,) = _needs("task", do, given, "text")
        receipt = session.add_task(title, depends_on=given.get("depends_on", ()), op=op)
    elif do == "start":
        receipt = session.start_task(task, op=op)
    elif do == "done":
        receipt = session.complete_task(task, given.get("text"), op=op)
    elif do == "unblock":
        receipt = session.unblock_task(task, op=op)
    else:
        (reason,) = _needs("task", do, given, "text")
        stop = session.skip_task if do == "skip" else session.block_task
        receipt = stop(task, reason=reason, op=op)
    current = contested.value(session.peek().state["registers"], "task")
    return _receipt(session, receipt, current=current)


def phase(session: Session, given: Json) -> ToolResult:
    from holdfast.core import concepts

    do, op = given["do"], given.get("op")
    if do == "complete":
        receipt = session.complete_phase(op=op)
    elif do == "declare":
        (names,) = _needs("phase", do, given, "names")
        receipt = session.declare_phases(names, op=op)
    elif do == "enter":
        (name,) = _needs("phase", do, given, "name")
        receipt = session.enter_phase(name, op=op)
    else:
        name, because = _needs("phase", do, given, "name", "because")
        receipt = session.skip_to_phase(name, because, op=op)
    state = session.peek().state
    phase = contested.value(state["registers"], "phase")
    return _receipt(session, receipt, phase=phase, allowed=concepts.phase.allowed(state))


def handoff(session: Session, given: Json) -> ToolResult:
    from holdfast.workspace.handover import hand_off

    op = given.get("op")
    if given.get("do") == "claim":
        receipt = session.claim(take_over=given.get("take_over", False), op=op)
        if session.workspace.current() != f"{session.user}/{session.id}":
            session.workspace.make_current(session, "Claimed")
        return _receipt(session, receipt)
    left = hand_off(session, given.get("message"), op=op)
    shown = {"path": left.path} if left.path else {"text": left.text}
    return _receipt(session, left.receipt, **shown, warnings=left.warnings or None)


def act(session: Session, given: Json) -> ToolResult:
    left: Json = {}
    text = ""
    if "action" in given:
        done = session.do(given["action"], op=given.get("op"))
        if isinstance(done, str):
            text = brief(session, {}).text
            left = {"text": text}
        else:
            left = {"id": done.id, "repeated": done.repeated}
    menu = [action.usage for action in session.menu()]
    data = {"session": last_part(session.stream), "version": session.peek().version, **left, "menu": menu}
    return ToolResult(data, text)
