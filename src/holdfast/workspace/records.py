"""One record with everything that the log has about it: its fields in full, what it is linked to, and its history."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import short_ids
from holdfast.core.codec import Commit
from holdfast.core.concepts.decision import is_choice
from holdfast.core.text import one_line
from holdfast.errors import NotFound
from holdfast.typed import Any
from holdfast.views.sentences import sentence
from holdfast.workspace.anchors import standings
from holdfast.workspace.handle import Handle

Entry = dict[str, Any]

KINDS = {
    "backlog": "backlog item",
    "legal": "legal review",
    "next": "next action",
    "order": "standing order",
    "control": "catch of a control",
}
"""Kinds of records whose name is not the noun of their events."""

_STATUS = {
    "added": "open",
    "met": "open",
    "unblocked": "open",
    "made": "open",
    "edited": "open",
    "proposed": "pending",
    "corrected": "open",
    "created": "open",
    "given": "in force",
    "fired": "",
    "reviewed": "",
}
"""The status after an event, by its verb; any other verb is the status itself."""

_LINKS = {
    "supersedes": ("replaces", "replaced by"),
    "loop": ("answers", "answered by"),
    "decision": ("became", "made from"),
    "became": ("became", "captured as"),
    "task": ("belongs to", "has"),
    "risk": ("is about", "is subject of"),
    "depends_on": ("waits for", "is waited for by"),
}
"""Fields that name other records: how the link reads from this side, and from the other."""


def find_record(handle: Handle, short_id: str) -> Entry | None:
    """The record of a stream with that id, as a person may type it; None if the log has nothing about it."""
    entries = collected(handle.stored_commits())
    try:
        wanted = short_ids.resolve(
            short_ids.whole(handle.peek().state, short_id), entries, "entry in the log"
        )
    except NotFound:
        return None
    record = entries[wanted]
    return {
        "id": wanted,
        "kind": record["kind"],
        "status": record["status"],
        "text": record["text"],
        "fields": record["fields"],
        "at": record["at"],
        "by": record["by"],
        "origin": record["origin"],
        "at_places": [
            place._asdict() for place in standings(handle.workspace, handle.stream, record["fields"])
        ],
        "links": _links(wanted, entries),
        "events": _history(wanted, record, entries),
    }


def collected(commits: Iterable[Commit]) -> dict[str, Entry]:
    """Every record of a stream by its id, with the events that are its own."""
    entries: dict[str, Entry] = {}
    for commit in commits:
        for event in commit.events:
            data = event.data
            short_id = data.get("id")
            if not isinstance(short_id, str) or event.type.startswith("x."):
                continue
            noun, _, verb = event.type.partition(".")
            entry = entries.get(short_id)
            if entry is None:
                entry = entries[short_id] = {
                    "kind": KINDS.get(noun, noun),
                    "status": "",
                    "text": _title(data),
                    "fields": {},
                    "at": commit.at,
                    "by": commit.by,
                    "origin": commit.origin,
                    "events": [],
                }
            entry["status"] = _status(event.type, verb, data)
            entry["fields"] |= {
                key: value
                for key, value in data.items()
                if key not in ("id", "saw", "choice") and value is not None
            }
            entry["events"].append(
                {
                    "type": event.type,
                    "at": commit.at,
                    "by": commit.by,
                    "origin": commit.origin,
                    "data": data,
                    "sentence": sentence(event.type, data),
                }
            )
    return entries


def _title(data: Entry) -> str:
    return next((str(data[key]) for key in ("text", "title", "what", "message") if data.get(key)), "")


def _status(event_type: str, verb: str, data: Entry) -> str:
    if event_type == "decision.made":
        return "choice" if is_choice(data) else "unsettled"
    if event_type == "decision.settled":
        return "settled" if data.get("ok", True) else "failed"
    if event_type == "batch.closed" or event_type == "backlog.closed":
        return str(data.get("outcome") or verb)
    return _STATUS.get(verb, verb)


def _named(value: object) -> list[str]:
    """The ids in a field."""
    if isinstance(value, list):
        return [entry for entry in value if isinstance(entry, str)]
    return [value] if isinstance(value, str) else []


def _links(short_id: str, entries: dict[str, Entry]) -> list[Entry]:
    """What the record names, and what names it."""
    found: list[Entry] = []
    seen: set[tuple[str, str]] = set()

    def add(how: str, other: str) -> None:
        if (how, other) not in seen and other in entries:
            seen.add((how, other))
            entry = entries[other]
            named = {"how": how, "id": other, "kind": entry["kind"], "status": entry["status"]}
            found.append({**named, "text": one_line(entry["text"], 200)})

    for field, (forward, _) in _LINKS.items():
        for other in _named(entries[short_id]["fields"].get(field)):
            add(forward, other)
    linked = {entry["id"] for entry in found}
    for other, entry in entries.items():
        for field, (_, backward) in _LINKS.items():
            # A loop and the decision that it became name each other: one line is enough.
            if other not in linked and short_id in _named(entry["fields"].get(field)):
                add(backward, other)
    return found


def _history(short_id: str, record: Entry, entries: dict[str, Entry]) -> list[Entry]:
    """Its own events, and those of others that name it, in the order of the log."""
    others = [
        event
        for other, entry in entries.items()
        if other != short_id
        for event in entry["events"]
        if any(short_id in _named(event["data"].get(field)) for field in _LINKS)
    ]
    history: list[Entry] = sorted([*record["events"], *others], key=lambda event: str(event["at"]))
    return history
