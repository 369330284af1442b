"""The tools, with their arguments and results described for a model."""

from __future__ import annotations

from holdfast.edge.mcp import verbs
from holdfast.edge.mcp.tool import Tool
from holdfast.edge.mcp.verbs import on_session
from holdfast.edge.mcp.wire import Json
from holdfast.typed import Any


def _text(description: str = "", **more: Any) -> Json:
    return {"type": "string", **({"description": description} if description else {}), **more}


def _texts(description: str) -> Json:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_INTEGER: Json = {"type": "integer"}
# Described once, in the server's instructions, instead of in every tool.
_OP = {"op": _text()}
_SESSION = {"session": _text()}
_WRITES = {**_OP, **_SESSION}
_RECEIPT: Json = {
    "id": _text(),
    "session": _text(),
    "version": _INTEGER,
    "repeated": {"type": "boolean"},
}

_OPTIONAL = {"optional": True}

TOOLS = (
    Tool(
        "brief",
        "The status of the work: goal, unsettled decisions, open questions, next steps. "
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
        on_session(verbs.brief),
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
        on_session(verbs.status),
        reads=True,
    ),
    Tool(
        "search",
        "Search all sessions before you conclude that something was never decided. With id: one entry.",
        {
            "text": _text(),
            "kind": _text("decision, fact, error, …"),
            "id": _text("such as D-12"),
            "by": _text(),
            "since": _text("7d, 2026-01-21"),
            "path": _text(),
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            **_SESSION,
        },
        (),
        {
            "events": {
                "type": "array",
                "items": {"type": "object"},
            },
            "total": _INTEGER,
            "looked": _text(),
        },
        verbs.search,
        reads=True,
        slow=True,
    ),
    Tool(
        "start",
        "Start a new session, which becomes the current one. Only if brief finds none to continue.",
        {"goal": _text(), "phases": _texts("phases of the work, in order"), **_OP},
        ("goal",),
        {"session": _text(), "user": _text(), "version": _INTEGER},
        verbs.start,
    ),
    Tool(
        "decide",
        "Call this whenever you choose between ways to go on, and BEFORE you do what is hard to undo; what is only "
        "said is lost at the next compaction. Name what you do now in action and settle it afterwards; without action "
        "it is a choice.",
        {
            "text": _text("what was decided"),
            "because": _text("why"),
            "action": _text("what you will do now; settle it afterwards"),
            "alternatives": _texts("rejected alternatives"),
            "revisit_when": _text(),
            "supersedes": _text("D-id, or C-id that it corrects"),
            "at": _texts("places it is about: src/db.py:40-60, commit:SHA"),
            **_WRITES,
        },
        ("text", "because"),
        _RECEIPT,
        on_session(verbs.decide),
        always=True,
    ),
    Tool(
        "settle",
        "Record how a decision's action ended, as soon as it has: until then every agent is warned. "
        "Captures (C-3 C-4): ok confirms, ok=false drops.",
        {
            "id": _text("such as D-12"),
            "outcome": _text(),
            "ok": {"type": "boolean", "description": "false if it failed"},
            **_WRITES,
        },
        ("id", "outcome"),
        _RECEIPT,
        on_session(verbs.settle),
        always=True,
    ),
    Tool(
        "checkpoint",
        "Save the progress so far and how to resume.",
        {
            "message": _text(),
            "last_completed": _text(),
            "pending": _texts("steps to do"),
            "instruction": _text("how to go on"),
            **_WRITES,
        },
        ("message",),
        _RECEIPT,
        on_session(verbs.checkpoint),
    ),
    Tool(
        "note",
        "Add a note.",
        {"text": _text(), **_WRITES},
        ("text",),
        _RECEIPT,
        on_session(verbs.note),
    ),
    Tool(
        "loop",
        "Open questions: add (text), explore (id), close (id, text = the answer; decide also records a decision).",
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
        on_session(verbs.loop),
    ),
    Tool(
        "task",
        "Steps of the work: add (text), start, done (text = the result), skip and block (text = the reason), "
        "unblock. Without id: the current task, or for start the next ready one.",
        {
            "do": _text(enum=["add", "start", "done", "skip", "block", "unblock"]),
            "id": _text(),
            "text": _text(),
            "depends_on": _texts("task ids"),
            **_WRITES,
        },
        ("do",),
        {**_RECEIPT, "current": {**_text(), **_OPTIONAL}},
        on_session(verbs.task),
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
        on_session(verbs.phase),
    ),
    Tool(
        "handoff",
        "Hand the work off (give, with a message for the next agent), or claim a handoff (claim).",
        {
            "do": _text("default give", enum=["give", "claim"]),
            "message": _text(),
            "take_over": {"type": "boolean", "description": "take it over from its current claimant"},
            **_WRITES,
        },
        (),
        {
            **_RECEIPT,
            "path": {**_text(), **_OPTIONAL},
            "text": {**_text(), **_OPTIONAL},
            "warnings": {"type": "array", "items": {"type": "string"}, **_OPTIONAL},
        },
        on_session(verbs.handoff),
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
        on_session(verbs.act),
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
