"""What happened in an agent host, in one form for all hosts.

| kind | the host says |
| --- | --- |
| start | a conversation begins or goes on: ``source`` is startup, resume, clear, compact, fork or the like |
| prompt | somebody asked for something |
| tool | a tool was used: files were edited, a command failed |
| compacting | the context is about to be compacted |
| compacted | it was compacted; ``summary`` if the host tells it |
| stop | a turn has ended, well or not |
| end | the conversation has ended |
| system | the host asks for what belongs into every request (OpenCode) |
| other | anything else; nothing is done |
"""

from __future__ import annotations

from holdfast.typed import Any, Record

START, PROMPT, TOOL, COMPACTING, COMPACTED, STOP, END, SYSTEM, OTHER = (
    "start",
    "prompt",
    "tool",
    "compacting",
    "compacted",
    "stop",
    "end",
    "system",
    "other",
)
Payload = dict[str, Any]

ID_CAP = 200
TEXT_CAP = 100_000
"""Characters of one field that are looked at."""
MOST = 20
"""Files and tasks of one event that are looked at."""


class Event(Record):
    """One event of a host."""

    kind: str
    name: str
    """The host's own name of the event."""
    host_session: str
    """The host's own id of the conversation; empty if it did not say."""
    folder: str
    """Where the host works; empty if it did not say."""
    key: str = ""
    """The host's own id of this event: the same one twice is the same event. Empty if there is none."""
    source: str = ""
    prompt: str = ""
    trigger: str = ""
    summary: str = ""
    message: str = ""
    """The last words of the agent, or the error that ended the turn."""
    in_flight: tuple[str, ...] = ()
    """What was still running."""
    edited: tuple[str, ...] = ()
    """Files that a tool wrote, as the host names them."""
    command: str = ""
    """A shell command that failed."""
    output: str = ""
    """What it said."""
    transcript: str = ""
    """The file that grows with the conversation, of hosts that do not tell of compactions."""


def text(payload: Payload, *names: str, cap: int = TEXT_CAP) -> str:
    """The first text under one of the names; empty for whatever is no text."""
    for name in names:
        found = payload.get(name)
        if isinstance(found, str) and found:
            return found[:cap]
    return ""


def part(payload: Payload, *names: str) -> Payload:
    """The first object under one of the names; empty for whatever is no object."""
    for name in names:
        found = payload.get(name)
        if isinstance(found, dict):
            return found
    return {}


def parts(payload: Payload, name: str) -> list[Payload]:
    """The objects in the list under a name."""
    found = payload.get(name)
    return [each for each in found[:MOST] if isinstance(each, dict)] if isinstance(found, list) else []
