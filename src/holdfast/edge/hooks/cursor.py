"""Cursor. Written from documented field names: it cannot be run in tests.

``additional_context`` is taken at the start of a session only; every answer is one JSON object. Failed commands are
not told of: afterShellExecution has no exit status. No start follows a compaction, and prompts take no text: the
agent is told by the rules in AGENTS.md to ask for the brief.
"""

from __future__ import annotations

import json

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
    text,
)

KINDS = {
    "sessionStart": START,
    "beforeSubmitPrompt": PROMPT,
    "afterFileEdit": TOOL,
    "preCompact": COMPACTING,
    "stop": STOP,
    "sessionEnd": END,
    # What Claude Code calls them: Cursor can be told to run the hooks of .claude/settings.json.
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreCompact": COMPACTING,
    "Stop": STOP,
    "SessionEnd": END,
}
PROJECT = "CURSOR_PROJECT_DIR"
AGAIN_AT_PROMPT = False
COUNT_BEFORE = "all"
CAP = 9_900


def size(said: str) -> int:
    """No cap is documented."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """The event in a payload."""
    name = text(payload, "hook_event_name", cap=ID_CAP) or name
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    kind = KINDS.get(name, OTHER)
    status = text(payload, "status", cap=ID_CAP)
    return Event(
        kind,
        name,
        text(payload, "conversation_id", "session_id", cap=ID_CAP),
        root or text(payload, "cwd"),
        key=text(payload, "generation_id", cap=ID_CAP) if kind == PROMPT else "",
        source="startup" if kind == START else "",
        prompt=text(payload, "prompt"),
        trigger=text(payload, "trigger", cap=ID_CAP),
        message=f"the turn was {status}" if kind == STOP and status not in ("", "completed") else "",
        edited=(text(payload, "file_path"),) if kind == TOOL else (),
    )


def answer(event: Event, said: str) -> str:
    """What to print so that the host takes a text in; an empty object where it would not."""
    said_here = said and event.kind == START
    return json.dumps({"additional_context": said} if said_here else {}, ensure_ascii=False)
