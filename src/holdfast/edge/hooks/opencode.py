"""OpenCode, through the plug-in ``holdfast.ts``.

For each relevant hook the plug-in writes one JSON object to standard input::

    {"hook": "chat.message", "directory": "/the/project", "input": …, "output": …}

``hook`` is the name of the plug-in hook (``event`` for events, whose object is ``input``), ``input`` and ``output`` are
its two arguments. The output is one JSON object: ``{"context": "…"}`` is text to inject, ``{}`` is none. Two hooks
return text:

* ``experimental.chat.system.transform``: push it to ``output.system``. It is called for every request, so the plug-in
  asks once per session and caches the text until ``session.compacted`` or a new process.
* ``experimental.session.compacting``: push it to ``output.context``, for the summariser.

To the event ``session.idle`` the plug-in adds ``said``, the agent's last words. After ``session.compacted`` it sends an
event of its own, ``session.summarised``, with the summary.
"""

from __future__ import annotations

import json

from holdfast.edge.hooks import tools
from holdfast.edge.hooks.event import (
    COMPACTED,
    COMPACTING,
    END,
    ID_CAP,
    NOTHING_PLANNED,
    OTHER,
    PROMPT,
    STOP,
    SUMMARY,
    SYSTEM,
    TOOL,
    Event,
    Payload,
    part,
    parts,
    text,
)

HOOKS = {
    "chat.message": PROMPT,
    "tool.execute.after": TOOL,
    "experimental.session.compacting": COMPACTING,
    "experimental.chat.system.transform": SYSTEM,
}
EVENTS = {
    "session.compacted": COMPACTED,
    "session.summarised": SUMMARY,
    "session.idle": STOP,
    "session.error": STOP,
    "session.deleted": END,
}
PROJECT = ""
AGAIN_AT_PROMPT = False
COUNT_BEFORE = ""
LOADS = "AGENTS.md"
CAP = 9_900


def size(said: str) -> int:
    """The host has no limit."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
    name = text(payload, "hook", cap=ID_CAP) or name
    given, made = part(payload, "input"), part(payload, "output")
    inside, message = given, ""
    kind = HOOKS.get(name, OTHER)
    key = text(given, "callID", "messageID", "id", cap=ID_CAP)
    if name in ("event", "") and "type" in given:
        name = text(given, "type", cap=ID_CAP)
        kind, inside = EVENTS.get(name, OTHER), part(given, "properties")
        if error := part(inside, "error"):
            message = f"failed: {text(part(error, 'data'), 'message') or text(error, 'name')}"
    written = [text(each, "text") for each in parts(made, "parts") if text(each, "type") == "text"]
    event = Event(
        kind,
        name,
        text(inside, "sessionID", cap=ID_CAP),
        text(payload, "directory"),
        key=key or text(part(made, "message"), "id", cap=ID_CAP),
        prompt="\n".join(written) if kind == PROMPT else "",
        message=message or (text(inside, "said") if kind == STOP else ""),
        summary=text(inside, "said") if kind == SUMMARY else "",
    )
    return _of_tool(event, given, made) if kind == TOOL else event


def _of_tool(event: Event, given: Payload, made: Payload) -> Event:
    tool, arguments = text(given, "tool", cap=ID_CAP), part(given, "args")
    if tools.is_edit(tool):
        return event._replace(edited=tools.edited(arguments))
    planned = tools.planned(tool, arguments, None)
    if planned != NOTHING_PLANNED:
        return event._replace(planned=planned)
    status = part(made, "metadata").get("exit")
    command = tools.command_of(arguments)
    if tools.is_shell(tool) and isinstance(status, int):
        failed = tools.failed(command, status)
        return event._replace(command=command, failed=failed, output=text(made, "output"))
    return event


def answer(event: Event, said: str) -> str:
    """The output that makes the plug-in inject a text; an empty object for none."""
    return json.dumps({"context": said} if said else {}, ensure_ascii=False)
