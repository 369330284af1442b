"""Codex.

As Claude Code, but stricter: one key too many in the answer and the whole answer is dropped, and nothing of
PreCompact is heard. A text of more than 10,000 bytes (counted as 2,500 tokens) loses its middle. PostToolUse does not
tell whether a command failed.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude
from holdfast.edge.hooks.event import PROMPT, START, TOOL, Event, Payload

PROJECT = ""
AGAIN_AT_PROMPT = False
COUNT_BEFORE = ""
CAP = 9_900


def size(said: str) -> int:
    """How long the host takes a text to be."""
    return len(said.encode("utf-8", "surrogatepass"))


def read(payload: Payload, name: str) -> Event:
    """The event in a payload."""
    return claude.read(payload, name)


def answer(event: Event, said: str) -> str:
    """What to print so that the host takes a text in; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL) else ""
