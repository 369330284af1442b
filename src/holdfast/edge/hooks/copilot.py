"""GitHub Copilot CLI.

Only top-level ``additionalContext`` is used: at the start, with a prompt and after a tool. Payloads of camelCase events
do not name the event, so the command does. Hooks from a project's ``.claude/settings.json`` get payloads like those of
Claude Code, with a timestamp. No start follows a compaction, so the brief comes with the next prompt. On resume a
prompt may precede the start.
"""

from __future__ import annotations

import json

from holdfast.edge.hooks import tools
from holdfast.edge.hooks.event import (
    COMPACTING,
    END,
    ID_CAP,
    OTHER,
    PROMPT,
    START,
    STOP,
    TOOL,
    Event,
    Payload,
    part,
    text,
)

KINDS = {
    "sessionStart": START,
    "userPromptSubmitted": PROMPT,
    "postToolUse": TOOL,
    "preCompact": COMPACTING,
    "agentStop": STOP,
    "errorOccurred": STOP,
    "sessionEnd": END,
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PostToolUse": TOOL,
    "PreCompact": COMPACTING,
    "Stop": STOP,
    "ErrorOccurred": STOP,
    "SessionEnd": END,
}
PROJECT = ""
AGAIN_AT_PROMPT = True
COUNT_BEFORE = "all"
LOADS = "AGENTS.md"
CAP = 9_900


def size(said: str) -> int:
    """The host has no limit."""
    return len(said)


def _guess(payload: Payload) -> str:
    """Guess the event of a payload that does not name it."""
    for field, name in (
        ("toolResult", "postToolUse"),
        ("toolArgs", "preToolUse"),
        ("source", "sessionStart"),
        ("initialPrompt", "sessionStart"),
        ("prompt", "userPromptSubmitted"),
        ("trigger", "preCompact"),
        ("stopReason", "agentStop"),
        ("errorContext", "errorOccurred"),
        ("reason", "sessionEnd"),
    ):
        if field in payload:
            return name
    return ""


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
    name = text(payload, "hook_event_name", cap=ID_CAP) or name or _guess(payload)
    kind = KINDS.get(name, OTHER)
    error = part(payload, "error")
    event = Event(
        kind,
        name,
        text(payload, "sessionId", "session_id", cap=ID_CAP),
        text(payload, "cwd"),
        source=text(payload, "source", cap=ID_CAP),
        prompt=text(payload, "prompt", "initialPrompt", "initial_prompt"),
        trigger=text(payload, "trigger", cap=ID_CAP),
        message=f"failed: {text(error, 'message')}" if error else "",
    )
    return _of_tool(event, payload) if kind == TOOL else event


def _of_tool(event: Event, payload: Payload) -> Event:
    tool = text(payload, "toolName", "tool_name", cap=ID_CAP)
    given = payload.get("toolArgs", payload.get("tool_input"))
    result = part(payload, "toolResult", "tool_result")
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            given = json.loads(given)
        except ValueError:
            return event
    if tools.is_edit(tool):
        fine = text(result, "resultType", "result_type") in ("", "success")
        return event._replace(edited=tools.edited(given)) if fine else event
    if tools.is_shell(tool) and isinstance(given, dict):
        command, said = tools.command_of(given), text(result, "textResultForLlm", "text_result_for_llm")
        if tools.failed(command, tools.exit_code(said)):
            return event._replace(command=command, output=said.partition("<shellId")[0])
    return event


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    if event.kind not in (START, PROMPT, TOOL):
        return ""
    return json.dumps({"additionalContext": said}, ensure_ascii=False)
