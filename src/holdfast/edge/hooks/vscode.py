"""Copilot in VS Code. Written from its documentation: it cannot be run in tests.

Reads hooks out of ``.github/hooks`` and out of a project's ``.claude/settings.json``. Texts go nested, as with Claude
Code; PreCompact takes none. No start follows a compaction.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude
from holdfast.edge.hooks.event import PROMPT, START, TOOL, Event, Payload

PROJECT = ""
AGAIN_AT_PROMPT = True
COUNT_BEFORE = "all"
CAP = 9_900
NAMES = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "preCompact": "PreCompact",
    "agentStop": "Stop",
    "sessionEnd": "SessionEnd",
}
"""Events by the names that Copilot CLI has for them: a file made for both may say either."""


def size(said: str) -> int:
    """No cap is documented."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """The event in a payload."""
    return claude.read(payload, NAMES.get(name, name))


def answer(event: Event, said: str) -> str:
    """What to print so that the host takes a text in; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL) else ""
