"""Events of agent hosts, in one form for all hosts.

| kind | meaning |
| --- | --- |
| start | a conversation starts or resumes: ``source`` is startup, resume, clear, compact, fork or similar |
| prompt | a prompt was submitted |
| tool | a tool was used: files were edited, a command failed |
| compacting | the context is about to be compacted |
| compacted | it was compacted; ``summary`` if the host provides it |
| stop | a turn has ended, successfully or not |
| end | the conversation has ended |
| subagent start | a subagent starts |
| subagent stop | a subagent has ended, with its result as ``message`` |
| summary | the summary of a compaction that was reported before |
| system | the host asks for the text of every system prompt (OpenCode) |
| other | anything else; ignored |
"""

from __future__ import annotations

from holdfast.typed import Any, Record

START, PROMPT, TOOL, COMPACTING, COMPACTED, STOP, END, SUBAGENT, RESULT, SUMMARY, SYSTEM, OTHER = (
    "start",
    "prompt",
    "tool",
    "compacting",
    "compacted",
    "stop",
    "end",
    "subagent start",
    "subagent stop",
    "summary",
    "system",
    "other",
)
Payload = dict[str, Any]

ID_CAP = 200
TEXT_CAP = 100_000
"""The most characters of one field that are used."""
MOST = 20
"""The most files and tasks of one event that are used."""


class Planned(Record):
    """What a tool of the host planned."""

    tasks: tuple[tuple[str, str, str], ...] = ()
    """Id, title and status of each entry of a task list, in the words of the host."""
    whole: bool = False
    """The list is complete: what is not in it is gone."""
    sql: str = ""
    """A statement on the host's own table of tasks."""
    plan: str = ""
    goal: str = ""
    topic: str = ""


NOTHING_PLANNED = Planned()


class Event(Record):
    """One event of a host."""

    kind: str
    name: str
    """The host's name of the event."""
    host_session: str
    """The host's id of the conversation; empty if unknown."""
    folder: str
    """The host's working directory; empty if unknown."""
    key: str = ""
    """The host's id of this event, for deduplication; empty if there is none."""
    source: str = ""
    prompt: str = ""
    trigger: str = ""
    summary: str = ""
    message: str = ""
    """The last message of the agent, or the error that ended the turn."""
    in_flight: tuple[str, ...] = ()
    """What was still running."""
    edited: tuple[str, ...] = ()
    """Files that a tool wrote, as named by the host."""
    command: str = ""
    """A shell command that ran."""
    failed: bool = False
    """Whether it failed."""
    output: str = ""
    """Its output."""
    transcript: str = ""
    """The transcript file, if the host names it."""
    used: int = 0
    """Tokens in the context, if the payload tells them."""
    window: int = 0
    """The size of the context, likewise."""
    model: str = ""
    planned: Planned = NOTHING_PLANNED
    agent: str = ""
    """The name of a subagent."""


def text(payload: Payload, *names: str, cap: int = TEXT_CAP) -> str:
    """The first string under one of the names; empty for any other type."""
    for name in names:
        found = payload.get(name)
        if isinstance(found, str) and found:
            return found[:cap]
    return ""


def part(payload: Payload, *names: str) -> Payload:
    """The first object under one of the names; empty for any other type."""
    for name in names:
        found = payload.get(name)
        if isinstance(found, dict):
            return found
    return {}


def parts(payload: Payload, name: str) -> list[Payload]:
    """The objects in the list under a name."""
    found = payload.get(name)
    return [each for each in found[:MOST] if isinstance(each, dict)] if isinstance(found, list) else []
