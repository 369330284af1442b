"""Gemini CLI.

Context reaches the model nested at SessionStart, BeforeAgent and AfterTool; plain text is an error. PreCompress fires
before every request, whether or not anything is compressed, and its output is ignored. So only a compression that the
user requested is certain; the brief comes with the prompt after it. The brief is also repeated when the transcript has
grown so much that an automatic compression is likely. With ``-p`` the prompt of BeforeAgent contains what SessionStart
injected, between ``<hook_context>`` tags.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude, tools
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

KINDS = {
    "SessionStart": START,
    "BeforeAgent": PROMPT,
    "AfterTool": TOOL,
    "PreCompress": COMPACTING,
    "AfterAgent": STOP,
    "SessionEnd": END,
}
PROJECT = "GEMINI_PROJECT_DIR"
AGAIN_AT_PROMPT = True
COUNT_BEFORE = "manual"
LOADS = "GEMINI.md"
CAP = 9_900
_OPEN, _CLOSE = "<hook_context>", "</hook_context>"


def size(said: str) -> int:
    """The host has no limit."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
    name = text(payload, "hook_event_name", cap=ID_CAP) or name
    kind = KINDS.get(name, OTHER)
    event = Event(
        kind,
        name,
        text(payload, "session_id", cap=ID_CAP),
        text(payload, "cwd"),
        source=text(payload, "source", cap=ID_CAP),
        prompt=_asked(text(payload, "prompt")) if kind == PROMPT else "",
        trigger=text(payload, "trigger", cap=ID_CAP),
        message=text(payload, "prompt_response"),
        transcript=text(payload, "transcript_path"),
    )
    return _of_tool(event, payload) if kind == TOOL else event


def _asked(prompt: str) -> str:
    """The prompt without what hooks injected before it."""
    before, opened, rest = prompt.partition(_OPEN)
    if not opened or before.strip():
        return prompt
    return rest.partition(_CLOSE)[2].strip()


def _of_tool(event: Event, payload: Payload) -> Event:
    tool, given = text(payload, "tool_name", cap=ID_CAP), part(payload, "tool_input")
    answer_ = part(payload, "tool_response")
    if tools.is_edit(tool):
        return event if answer_.get("error") else event._replace(edited=tools.edited(given))
    planned = tools.planned(tool, given, answer_)
    if planned != NOTHING_PLANNED:
        return event._replace(planned=planned)
    if tools.is_shell(tool):
        command, said = tools.command_of(given), text(answer_, "llmContent")
        failed = tools.failed(command, tools.exit_code(said))
        return event._replace(command=command, failed=failed, output=text(answer_, "returnDisplay") or said)
    return event


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL) else ""
