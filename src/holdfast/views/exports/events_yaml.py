"""``events.yaml``: the event log as one list, oldest first.

The format is an append-only list under ``events``. Each entry has ``date`` and ``time`` (UTC), ``type``, ``agent``
(who did it), ``commit``, ``ref`` (the file or thing that the event is about, or null), ``summary`` (one line) and
``backrefs`` (other things that it names). Here ``commit`` is the id of the commit in holdfast's log, and ``data``
next to it is the whole event, so that nothing is shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.core import concepts, upcast
from holdfast.core.codec import Commit, Event
from holdfast.typed import Any
from holdfast.views import yaml_text

_SHORT_ID = re.compile(r"[A-Z]{1,5}-[0-9]{1,9}(?:\.[0-9a-z]{1,8})?")


def render(commits: Iterable[tuple[str, Commit]]) -> str:
    """The text of ``events.yaml``; each commit comes with the name of its stream."""
    entries = [entry for stream, commit in commits for entry in _entries(stream, commit)]
    return yaml_text.dump({"events": entries})


def _entries(stream: str, commit: Commit) -> Iterator[dict[str, Any]]:
    kind = "session" if stream.startswith("sessions/") else stream.split("/")[0].rstrip("s")
    for event in commit.events:
        ref = event.data.get("id") or event.data.get("path") or event.data.get("file")
        yield {
            "date": commit.at[:10],
            "time": commit.at[11:16],
            "type": event.type,
            "agent": commit.by,
            "commit": commit.id,
            "ref": ref if isinstance(ref, str) else None,
            "summary": _summary(kind, event),
            "backrefs": _named(event.data, ref),
            "stream": stream,
            "origin": commit.origin,
            "data": event.data,
        }


def _summary(kind: str, event: Event) -> str:
    meaning = concepts.meaning(kind, event.type)
    if meaning is None or meaning.headline is None:
        return event.type
    return meaning.headline(upcast.to_current(event, meaning))


def _named(data: dict[str, Any], ref: object) -> list[str]:
    """The other short ids in an event's data."""
    named = []
    for value in data.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text != ref and _SHORT_ID.fullmatch(text):
                named.append(text)
    return named
