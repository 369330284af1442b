"""Cursor. Follows the documented field names; it cannot be run in tests.

``additional_context`` is used at the start of a session only; every output is one JSON object. Failed commands are not
reported: afterShellExecution has no exit status. No start follows a compaction, and prompts take no context: the rules
in AGENTS.md tell the agent to ask for the brief.
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
    # The names of Claude Code: Cursor can be configured to run the hooks of .claude/settings.json.
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreCompact": COMPACTING,
    "Stop": STOP,
    "SessionEnd": END,
}
PROJECT = "CURSOR_PROJECT_DIR"
AGAIN_AT_PROMPT = False
COUNT_BEFORE = "all"
LOADS = "AGENTS.md"
CAP = 9_900


def size(said: str) -> int:
    """No limit is documented."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
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
    """The output that makes the host inject a text; an empty object where it would not."""
    said_here = said and event.kind == START
    return json.dumps({"additional_context": said} if said_here else {}, ensure_ascii=False)
