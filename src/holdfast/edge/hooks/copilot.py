"""GitHub Copilot CLI.

Only top-level ``additionalContext`` is used: at the start, with a prompt and after a tool. Payloads of camelCase events
do not name the event, so the command does. Hooks from a project's ``.claude/settings.json`` get payloads like those of
Claude Code, with a timestamp. No start follows a compaction, so the brief comes with the next prompt. On resume a
prompt may precede the start. The payload of agentStop does not have the agent's last words; the transcript does.
"""

from __future__ import annotations

import json
import os

from holdfast.edge.hooks import tools
from holdfast.edge.hooks.event import (
    COMPACTING,
    END,
    ID_CAP,
    NOTHING_PLANNED,
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
from holdfast.errors import HoldfastError

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
_LOOKS, _PAUSE_S = 60, 0.05
"""How often, and after which time, the transcript is looked into for the agent's last words."""


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
        message=f"failed: {text(error, 'message')}" if error else _said(kind, payload),
        transcript=text(payload, "transcriptPath", "transcript_path"),
    )
    return _of_tool(event, payload) if kind == TOOL else event


def _said(kind: str, payload: Payload) -> str:
    """The last words of the agent: only the transcript has them."""
    transcript = text(payload, "transcriptPath", "transcript_path")
    if kind != STOP or not os.path.isdir(os.path.dirname(transcript)):
        return ""
    from time import sleep

    for _ in range(_LOOKS):
        said = _answered(transcript, _called(payload))
        if said is not None:
            return said
        sleep(_PAUSE_S)
    return ""


def _answered(transcript: str, called: int) -> str | None:
    """The message with which the agent ended its turn; None if the transcript is not yet as far as this turn.

    The host writes its transcript some time after it calls the hook. Until then the transcript may end with an earlier
    turn, which looks as complete as this one. The host also writes there that it called a hook, and when.
    """
    from holdfast.edge.hooks.tail import backwards

    reached = earlier = False
    for line in backwards(transcript, b'"type"'):
        kind, data = line.get("type"), part(line, "data")
        if kind == "hook.start" and KINDS.get(text(data, "hookType", cap=ID_CAP)) == STOP:
            here = _called(part(data, "input")) == called
            reached, earlier = reached or here, earlier or not here
        elif kind == "session.shutdown":
            earlier = True
        elif kind in ("user.message", "tool.execution_start", "tool.execution_complete"):
            return "" if reached else None
        elif kind == "assistant.message":
            if earlier and not reached:
                return None
            said = "" if data.get("toolRequests") else text(data, "content")
            return said or ("" if reached else None)
    return None


def _called(payload: Payload) -> int:
    """When the host called a hook, in milliseconds; 0 if unknown. Payloads like those of Claude Code say it as text."""
    at = payload.get("timestamp")
    if isinstance(at, str):
        from holdfast.core import timestamps

        try:
            return timestamps.from_iso(at)
        except HoldfastError:
            return 0
    return at if isinstance(at, int) else 0


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
    planned = tools.planned(tool, given, result)
    if planned != NOTHING_PLANNED and text(result, "resultType", "result_type") in ("", "success"):
        return event._replace(planned=planned)
    if tools.is_shell(tool) and isinstance(given, dict):
        command, said = tools.command_of(given), text(result, "textResultForLlm", "text_result_for_llm")
        failed = tools.failed(command, tools.exit_code(said))
        return event._replace(command=command, failed=failed, output=said.partition("<shellId")[0])
    return event


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    if event.kind not in (START, PROMPT, TOOL):
        return ""
    return json.dumps({"additionalContext": said}, ensure_ascii=False)
