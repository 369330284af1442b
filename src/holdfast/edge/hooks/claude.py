"""Claude Code.

Context reaches the model nested in ``hookSpecificOutput`` at SessionStart, UserPromptSubmit and PostToolUse. Plain
text from PreCompact goes to the summariser; nested output is an error there. Output at Stop would make the agent
continue, so there is none. Context over 10,000 UTF-16 units is replaced by a preview.
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
    RESULT,
    START,
    STOP,
    SUBAGENT,
    TOOL,
    Event,
    Payload,
    Planned,
    parts,
    text,
)
from holdfast.typed import Any

KINDS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PostToolUse": TOOL,
    "PostToolUseFailure": TOOL,
    "PreCompact": COMPACTING,
    "PostCompact": COMPACTED,
    "Stop": STOP,
    "StopFailure": STOP,
    "SubagentStart": SUBAGENT,
    "SubagentStop": RESULT,
    "SessionEnd": END,
}
PROJECT = "CLAUDE_PROJECT_DIR"
AGAIN_AT_PROMPT = False
"""Whether the brief must come with the first prompt after a compaction: here SessionStart fires again."""
COUNT_BEFORE = ""
LOADS = "CLAUDE.md"
_ASKED = ("", "user", "sdk")
"""Sources of prompts from a person or a program rather than from the host itself."""


def size(said: str) -> int:
    """The length of a text as the host counts it."""
    return len(said.encode("utf-16-le", "surrogatepass")) // 2


CAP = 9_900


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
    name = text(payload, "hook_event_name", "hookEventName", cap=ID_CAP) or name
    kind = KINDS.get(name, OTHER)
    if kind == STOP and text(payload, "agent_id"):
        kind = OTHER  # the turn of a subagent is not the session's
    if kind == PROMPT and text(payload, "source") not in _ASKED:
        kind = OTHER
    message = text(payload, "last_assistant_message")
    if name == "StopFailure":
        message = f"failed: {message or text(payload, 'error')}"
    event = Event(
        kind,
        name,
        text(payload, "session_id", "sessionId", cap=ID_CAP),
        text(payload, "cwd"),
        key=text(payload, "tool_use_id", "turn_id", "prompt_id", cap=ID_CAP),
        source=text(payload, "source", cap=ID_CAP),
        prompt=text(payload, "prompt", "initial_prompt"),
        trigger=text(payload, "trigger", cap=ID_CAP),
        summary=text(payload, "compact_summary"),
        message=message,
        agent=text(payload, "agent_type", "agent_id", cap=ID_CAP) if kind in (SUBAGENT, RESULT) else "",
        in_flight=tuple(
            text(task, "description", cap=ID_CAP)
            for task in parts(payload, "background_tasks")
            if text(task, "status") == "running"
        ),
        transcript=text(payload, "transcript_path", "transcriptPath"),
    )
    return of_tool(event, payload) if kind == TOOL else event


def of_tool(event: Event, payload: Payload) -> Event:
    """Add what the tool did to an event."""
    tool, given = text(payload, "tool_name", cap=ID_CAP), payload.get("tool_input")
    if event.name == "PostToolUseFailure":
        command = tools.command_of(given) if isinstance(given, dict) and tools.is_shell(tool) else ""
        error = text(payload, "error")
        if payload.get("is_interrupt") is True or not tools.failed(command, tools.exit_code(error)):
            return event
        return event._replace(command=command, failed=True, output=error)
    if tools.is_edit(tool):
        return event._replace(edited=tools.edited(given))
    if found := _planned(tool, given, payload):
        return event._replace(planned=found)
    if tools.is_shell(tool) and isinstance(given, dict):
        command, said = tools.command_of(given), text(payload, "tool_response")
        failed = tools.failed(command, tools.exit_code(said))
        return event._replace(command=command, failed=failed, output=said)
    return event


def _planned(tool: str, given: Any, payload: Payload) -> Planned | None:
    found = tools.planned(tool, given, payload.get("tool_response"))
    return None if found == NOTHING_PLANNED else found


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    if event.kind == COMPACTING:
        return said
    return nested(event, said) if event.kind in (START, PROMPT, TOOL, SUBAGENT) else ""


def nested(event: Event, said: str) -> str:
    """The output format of Claude Code and compatible hosts."""
    inside = {"hookEventName": event.name, "additionalContext": said}
    return json.dumps({"hookSpecificOutput": inside}, ensure_ascii=False)
