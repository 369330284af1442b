"""Codex.

Like Claude Code, but stricter: an unknown key makes Codex drop the whole output, and output of PreCompact is ignored.
The middle of a text over 10,000 bytes (counted as 2,500 tokens) is cut. PostToolUse does not say whether a command
failed, and PostCompact not what the summary is: both are in the transcript.
"""

from __future__ import annotations

from holdfast.edge.hooks import claude, tools
from holdfast.edge.hooks.event import COMPACTED, PROMPT, START, SUBAGENT, TOOL, Event, Payload, part, text

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
    event = claude.read(payload, name)
    transcript = text(payload, "transcript_path")
    if event.command and not event.failed:
        return _judged(event, transcript)
    if event.kind == COMPACTED and not event.summary:
        return event._replace(summary=_summary(transcript))
    return event


def _judged(event: Event, transcript: str) -> Event:
    """The event with what the transcript says about its command; without the command if it says nothing."""
    from holdfast.edge.hooks.tail import backwards

    for line in backwards(transcript, event.key.encode()) if event.key else ():
        inside = part(line, "payload")
        item = part(inside, "item")
        status = item.get("exit_code")
        if status is None and text(inside, "type") == "function_call_output":
            status = tools.exit_code(text(inside, "output")[:400])
        if isinstance(status, int):
            return event._replace(failed=tools.failed(event.command, status))
    return event._replace(command="")


def _summary(transcript: str) -> str:
    """The summary of the last compaction."""
    from holdfast.edge.hooks.tail import backwards

    for line in backwards(transcript, b'"compacted"'):
        if line.get("type") == "compacted":
            from holdfast.edge.transcripts.codex import summary

            return summary(text(part(line, "payload"), "message"))
    return ""


def answer(event: Event, said: str) -> str:
    """The output that makes the host inject a text; empty where it would not."""
    return claude.nested(event, said) if event.kind in (START, PROMPT, TOOL, SUBAGENT) else ""
