"""Copilot in VS Code. Follows its documentation; it cannot be run in tests.

Runs hooks from ``.github/hooks`` and from a project's ``.claude/settings.json``. Context is nested as for Claude Code;
PreCompact takes none. No start follows a compaction.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude
from holdfast.edge.hooks.event import PROMPT, START, TOOL, Event, Payload

PROJECT = ""
AGAIN_AT_PROMPT = True
COUNT_BEFORE = "all"
LOADS = "AGENTS.md"
CAP = 9_900
NAMES = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "preCompact": "PreCompact",
    "agentStop": "Stop",
    "sessionEnd": "SessionEnd",
}
"""Events by their names in Copilot CLI: a file made for both hosts may use either name."""


def size(said: str) -> int:
    """No limit is documented."""
    return len(said)


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
    return claude.read(payload, NAMES.get(name, name))


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL) else ""
