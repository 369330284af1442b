"""Codex.

Like Claude Code, but stricter: an unknown key makes Codex drop the whole output, and output of PreCompact is ignored.
The middle of a text over 10,000 bytes (counted as 2,500 tokens) is cut. PostToolUse does not say whether a command
failed.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude
from holdfast.edge.hooks.event import PROMPT, START, TOOL, Event, Payload

PROJECT = ""
AGAIN_AT_PROMPT = False
COUNT_BEFORE = ""
LOADS = "AGENTS.md"
CAP = 9_900


def size(said: str) -> int:
    """The length of a text as the host counts it."""
    return len(said.encode("utf-8", "surrogatepass"))


def read(payload: Payload, name: str) -> Event:
    """Parse a payload."""
    return claude.read(payload, name)


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL) else ""
