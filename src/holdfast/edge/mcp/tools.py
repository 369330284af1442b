"""The tools: few, each one call of the library, with what they take and give described for a model."""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.core import contested
from holdfast.core.stream import last_part
from holdfast.edge.mcp import arguments as check
from holdfast.edge.mcp.desk import Desk
from holdfast.edge.mcp.wire import Json
from holdfast.errors import HoldfastError, NoSession, Usage
from holdfast.typed import Any, Record
from holdfast.workspace.handle import Receipt
from holdfast.workspace.session import Session


class Said(Record):
    """What a tool answers: data, and a text for the model if it should read something else than the data."""

    data: Json
    text: str = ""


class Tool(Record):
    name: str
    description: str
    takes: Json
    required: tuple[str, ...]
    gives: Json
    run: Callable[[Desk, str, Json], Said]
    reads: bool = False
    """Writes nothing."""
    slow: bool = False

    def shown(self) -> Json:
        """The tool as ``tools/list`` shows it."""
        hints: Json = {"readOnlyHint": True} if self.reads else {"destructiveHint": False}
        schema = self.schema()
        always = [name for name, kind in self.gives.items() if not kind.get("optional")]
        gives = {
            name: {k: v for k, v in kind.items() if k != "optional"} for name, kind in self.gives.items()
        }
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema,
            "outputSchema": {"type": "object", "properties": gives, "required": always},
            "annotations": {**hints, "openWorldHint": False},
        }

    def schema(self) -> Json:
        schema: Json = {"type": "object", "properties": self.takes}
        if self.required:
            schema["required"] = list(self.required)
        return {**schema, "additionalProperties": False}


def call(tool: Tool, desk: Desk, client: str, given: Json) -> Json:
    """Run a tool. What a rule refuses comes back as a result that says what is allowed."""
    try:
        said = tool.run(desk, client, check.checked(tool.name, tool.schema(), given))
    except HoldfastError as error:
        text = f"{error.code}: {error.message}"
        hint = in_tools(error)
        return {
            "content": [{"type": "text", "text": f"{text} {hint}".rstrip()}],
            "isError": True,
        }
    text = said.text or json.dumps(said.data, ensure_ascii=False, separators=(",", ":"))
    return {"content": [{"type": "text", "text": text}], "structuredContent": said.data, "isError": False}


_IN_TOOLS = (
    ("`holdfast skip-to PHASE --because WHY` jumps", "The tool phase with do=skip_to jumps"),
    ("`holdfast phase NAME` enters one", "The tool phase with do=enter enters one"),
    ("Choose one with `holdfast phase NAME`", "Choose one with the tool phase, do=enter"),
    ("Add --help to see the arguments and examples.", ""),
    ("Run `holdfast sessions` to see what there is.", "The resource holdfast://sessions lists the sessions."),
)


def in_tools(error: HoldfastError) -> str:
    """What the caller can do, in terms of tools where the error speaks of commands."""
    if isinstance(error, NoSession):
        return "Call the tool start with the goal of the work, or name a session of holdfast://sessions."
    hint = error.hint
    for words, instead in _IN_TOOLS:
        hint = hint.replace(words, instead)
    return hint


# -- what tools take and give -----------------------------------------------------------------------------


def _text(description: str = "", **more: Any) -> Json:
    return {"type": "string", **({"description": description} if description else {}), **more}


def _texts(description: str) -> Json:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_INTEGER: Json = {"type": "integer"}
# Told once, in the instructions of the server: here their descriptions would be repeated in every tool.
_OP = {"op": _text()}
_SESSION = {"session": _text()}
_WRITES = {**_OP, **_SESSION}
_RECEIPT: Json = {
    "id": _text(),
    "session": _text(),
    "version": _INTEGER,
    "repeated": {"type": "boolean"},
}


def _receipt(session: Session, receipt: Receipt, **more: Any) -> Said:
    left = {
        "id": receipt.id,
        "session": session.id,
        "version": receipt.version,
        "repeated": receipt.repeated,
    }
    return Said({**left, **{name: value for name, value in more.items() if value is not None}})


def _on_session(act: Callable[[Session, Json], Said]) -> Callable[[Desk, str, Json], Said]:
    def run(desk: Desk, client: str, given: Json) -> Said:
        named = given.pop("session", None)
        said: Said = desk.on_session(client, lambda session: act(session, given), named)
        return said

    return run


def _needs(tool: str, do: str, given: Json, *names: str) -> list[Any]:
    """The arguments that one verb of a tool needs."""
    missing = [name for name in names if name not in given]
    if missing:
        raise Usage(f"{tool} with do={do} needs {' and '.join(missing)}. Nothing was written.", hint="")
    return [given[name] for name in names]


# -- reading ----------------------------------------------------------------------------------------------


def _brief(session: Session, given: Json) -> Said:
    from holdfast.workspace.handover import make_brief

    packet = make_brief(session, given.get("budget"))
    working_set = session.peek()
    data = {
        "session": session.id,
        "version": working_set.version,
        "tokens": packet.tokens,
        "unsettled": list(working_set.state["decisions"]["open"]),
        "text": packet.text,
    }
    return Said(data, packet.text)


def _status(session: Session, given: Json) -> Said:
    from holdfast.views import state_json

    working_set = session.peek()
    return Said(
        {
            "session": session.id,
            "version": working_set.version,
            "state": state_json.contract(working_set.state),
            "damaged": [f"{fault.where}: {fault.what}" for fault in working_set.faults],
        }
    )


def _search(desk: Desk, client: str, given: Json) -> Said:
    from holdfast.edge.mcp.log import search

    named = given.pop("session", None)
    data: Json = desk.beside(client, lambda session: search(session, given), named)
    from holdfast.views.fence import RULE, token

    lines = [RULE]
    for event in data["events"]:
        lines.append(f"{token(event['at'])} {token(event['type'])} {event['text']}")
    if not data["events"]:
        lines.append("Nothing in the log matches.")
    return Said(data, "\n".join(lines))


# -- writing ----------------------------------------------------------------------------------------------


def _start(desk: Desk, client: str, given: Json) -> Said:
    with desk.seat(client) as seat:
        session = seat.workspace.start(given["goal"], phases=given.get("phases"), op=given.get("op"))
        seat.last = session
        return Said({"session": session.id, "user": session.user, "version": session.version})


def _decide(session: Session, given: Json) -> Said:
    return _receipt(session, session.decide(given.pop("text"), **given))


def _settle(session: Session, given: Json) -> Said:
    return _receipt(session, session.settle(given.pop("id"), given.pop("outcome"), **given))


def _checkpoint(session: Session, given: Json) -> Said:
    return _receipt(session, session.checkpoint(given.pop("message"), **given))


def _note(session: Session, given: Json) -> Said:
    return _receipt(session, session.note(given.pop("text"), **given))


def _loop(session: Session, given: Json) -> Said:
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


def _task(session: Session, given: Json) -> Said:
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


def _phase(session: Session, given: Json) -> Said:
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


def _handoff(session: Session, given: Json) -> Said:
    from holdfast.workspace.handover import hand_off

    op = given.get("op")
    if given.get("do") == "claim":
        return _receipt(session, session.claim(take_over=given.get("take_over", False), op=op))
    left = hand_off(session, given.get("message"), op=op)
    shown = {"path": left.path} if left.path else {"text": left.text}
    return _receipt(session, left.receipt, **shown, warnings=left.warnings or None)


def _act(session: Session, given: Json) -> Said:
    left: Json = {}
    text = ""
    if "action" in given:
        done = session.do(given["action"], op=given.get("op"))
        if isinstance(done, str):
            text = _brief(session, {}).text
            left = {"text": text}
        else:
            left = {"id": done.id, "repeated": done.repeated}
    menu = [action.usage for action in session.menu()]
    data = {"session": last_part(session.stream), "version": session.peek().version, **left, "menu": menu}
    return Said(data, text)


_OPTIONAL = {"optional": True}

TOOLS = (
    Tool(
        "brief",
        "Where the work stands, in one packet: goal, decisions with no known outcome, open questions, next steps. "
        "Call it first, and again after your context was compacted or lost.",
        {"budget": {"type": "integer", "minimum": 300, "description": "tokens, default 2000"}, **_SESSION},
        (),
        {
            "session": _text(),
            "version": _INTEGER,
            "tokens": _INTEGER,
            "unsettled": {"type": "array", "items": {"type": "string"}},
            "text": _text(),
        },
        _on_session(_brief),
        reads=True,
    ),
    Tool(
        "status",
        "The state of the session as data: phase, tasks, loops, decisions, risks, checkpoint, handoff.",
        dict(_SESSION),
        (),
        {
            "session": _text(),
            "version": _INTEGER,
            "state": {"type": "object"},
            "damaged": {"type": "array", "items": {"type": "string"}},
        },
        _on_session(_status),
        reads=True,
    ),
    Tool(
        "search",
        "Search the log of everything ever committed, newest first. With id, all about one thing in full.",
        {
            "text": _text(),
            "type": _text("decision, loop.closed, …"),
            "id": _text("such as D-12"),
            "by": _text(),
            "since": _text("7d, 12h, 2026-01-21"),
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "default 20"},
            **_SESSION,
        },
        (),
        {
            "session": _text(),
            "events": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {name: _text() for name in ("at", "by", "origin", "type", "text")},
                },
            },
        },
        _search,
        reads=True,
        slow=True,
    ),
    Tool(
        "start",
        "Begin a new piece of work; it becomes the current session. Only if brief finds none that goes on.",
        {"goal": _text(), "phases": _texts("phases of the work, in order"), **_OP},
        ("goal",),
        {"session": _text(), "user": _text(), "version": _INTEGER},
        _start,
    ),
    Tool(
        "decide",
        "Write a decision down BEFORE you act on it: when this returns, it is durable. Then act, then settle it.",
        {
            "text": _text("what was decided"),
            "because": _text("why"),
            "action": _text("what you do now"),
            "alternatives": _texts("what was rejected"),
            "revisit_when": _text(),
            "supersedes": _text("id of a decision"),
            "op": _text("your id for this call: repeated, it is one commit"),
            **_SESSION,
        },
        ("text", "because"),
        _RECEIPT,
        _on_session(_decide),
    ),
    Tool(
        "settle",
        "Say how a decision turned out.",
        {
            "id": _text("such as D-12"),
            "outcome": _text(),
            "ok": {"type": "boolean", "description": "false: it failed"},
            **_WRITES,
        },
        ("id", "outcome"),
        _RECEIPT,
        _on_session(_settle),
    ),
    Tool(
        "checkpoint",
        "Save how far the work has come, and how to go on from there.",
        {
            "message": _text(),
            "last_completed": _text(),
            "pending": _texts("steps to do"),
            "instruction": _text("how to go on"),
            **_WRITES,
        },
        ("message",),
        _RECEIPT,
        _on_session(_checkpoint),
    ),
    Tool(
        "note",
        "Keep a fact worth keeping.",
        {"text": _text(), **_WRITES},
        ("text",),
        _RECEIPT,
        _on_session(_note),
    ),
    Tool(
        "loop",
        "Open questions: add (text), explore (id), close (id, text = the answer; decide makes a decision of it).",
        {
            "do": _text(enum=["add", "explore", "close"]),
            "id": _text(),
            "text": _text(),
            "context": _text("where it came up"),
            "decide": _text(),
            **_WRITES,
        },
        ("do",),
        {**_RECEIPT, "decision": {**_text(), **_OPTIONAL}},
        _on_session(_loop),
    ),
    Tool(
        "task",
        "Steps of the work: add (text), start, done (text = the result), skip and block (text = the reason), "
        "unblock. Without id: the current task, or for start the next that is ready.",
        {
            "do": _text(enum=["add", "start", "done", "skip", "block", "unblock"]),
            "id": _text(),
            "text": _text(),
            "depends_on": _texts("task ids"),
            **_WRITES,
        },
        ("do",),
        {**_RECEIPT, "current": {**_text(), **_OPTIONAL}},
        _on_session(_task),
    ),
    Tool(
        "phase",
        "Phases of the work: enter (name), complete, skip_to (name, because), declare (names).",
        {
            "do": _text(enum=["enter", "complete", "skip_to", "declare"]),
            "name": _text(),
            "because": _text(),
            "names": _texts("in order"),
            **_WRITES,
        },
        ("do",),
        {
            **_RECEIPT,
            "phase": {**_text(), **_OPTIONAL},
            "allowed": {"type": "array", "items": {"type": "string"}},
        },
        _on_session(_phase),
    ),
    Tool(
        "handoff",
        "Hand the work on (give, with a message for the next agent), or take on what was handed on (claim).",
        {
            "do": _text("default give", enum=["give", "claim"]),
            "message": _text(),
            "take_over": {"type": "boolean", "description": "from whoever has it"},
            **_WRITES,
        },
        (),
        {
            **_RECEIPT,
            "path": {**_text(), **_OPTIONAL},
            "text": {**_text(), **_OPTIONAL},
            "warnings": {"type": "array", "items": {"type": "string"}, **_OPTIONAL},
        },
        _on_session(_handoff),
    ),
    Tool(
        "act",
        "Run a slash action: /pause, /continue, /discuss TOPIC, /return, /approve-plan and others. "
        "Without an action: the menu of what is possible now.",
        {"action": _text("such as /pause Waiting for review"), **_WRITES},
        (),
        {
            "session": _text(),
            "version": _INTEGER,
            "menu": {"type": "array", "items": {"type": "string"}},
            **{name: {**_text(), **_OPTIONAL} for name in ("id", "text")},
            "repeated": {"type": "boolean", **_OPTIONAL},
        },
        _on_session(_act),
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
