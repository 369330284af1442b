"""Gemini CLI.

Texts reach the model nested at SessionStart, BeforeAgent and AfterTool; plain text is an error. PreCompress fires
before every request, whether or not anything is compressed, and its answer is ignored: only a compression that the
user asked for is known to be one, and the brief is given again with the prompt after it. As others may have happened,
it is also given again when the transcript has grown by so much that one is likely. With ``-p`` the prompt that
BeforeAgent is given holds what SessionStart injected, between ``<hook_context>`` tags.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude, tools
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
CAP = 9_900
_OPEN, _CLOSE = "<hook_context>", "</hook_context>"


def size(said: str) -> int:
    """The host has no cap of its own."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """The event in a payload."""
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
    """The prompt without what hooks put before it."""
    before, opened, rest = prompt.partition(_OPEN)
    if not opened or before.strip():
        return prompt
    return rest.partition(_CLOSE)[2].strip()


def _of_tool(event: Event, payload: Payload) -> Event:
    tool, given = text(payload, "tool_name", cap=ID_CAP), part(payload, "tool_input")
    answer_ = part(payload, "tool_response")
    if tools.is_edit(tool):
        return event if answer_.get("error") else event._replace(edited=tools.edited(given))
    if tools.is_shell(tool):
        command, said = tools.command_of(given), text(answer_, "llmContent")
        if tools.failed(command, tools.exit_code(said)):
            return event._replace(command=command, output=text(answer_, "returnDisplay") or said)
    return event


def answer(event: Event, said: str) -> str:
    """What to print so that the host takes a text in; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL) else ""
