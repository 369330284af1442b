"""The log for clients: search results and pages of bounded size."""

from __future__ import annotations

import json

from holdfast.core import timestamps
from holdfast.core.codec import Commit
from holdfast.edge.mcp.wire import Json
from holdfast.typed import Any
from holdfast.views.fence import fenced, origin
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.history import Filter, find_thing, log_page, matching
from holdfast.workspace.session import Session

LIMIT = 20
SHORT, FULL = 300, 4_000
"""Characters per event in a search result, and in a result about one id."""
RESULT_CAP = 40_000
"""Characters of a result about one id: clients truncate longer ones."""
PAGE = 50
"""Commits per page of the log."""
_MEASURES = ((2_000, 50), (400, 20), (60, 5))
"""Limits on characters per text and entries per list; the first that keeps the page under its cap applies."""
PAGE_CAP = 100_000


def search(session: Session, given: Json) -> Json:
    """The matching events, newest first, each as fenced text with its origin."""
    limit = given.get("limit", LIMIT)
    if "id" in given:
        found = find_thing(session, given["id"])[-limit:][::-1]
        length = min(FULL, max(SHORT, RESULT_CAP // max(1, len(found))))
        events = [_event(entry, entry["type"], entry["data"], length) for entry in found]
    else:
        since = timestamps.iso(timestamps.parse(given["since"], wall_clock())) if "since" in given else None
        text = given["text"].lower() if "text" in given else None
        wanted = Filter(given.get("type"), given.get("by"), since, None, text)
        events = []
        for commit in matching(session, wanted, limit):
            said = {"at": commit.at, "by": commit.by, "origin": commit.origin}
            alone = [event for event in commit.events if wanted.takes(commit._replace(events=(event,)))]
            events += [_event(said, event.type, event.data, SHORT) for event in alone]
    return {"session": session.id, "events": events[:limit]}


def _event(said: Json, kind: str, data: Json, length: int) -> Json:
    text = fenced(json.dumps(data, ensure_ascii=False), length)
    return {
        "at": said["at"],
        "by": fenced(said["by"], 60)[1:-1],
        "origin": said["origin"],
        "type": kind,
        "text": f"{text} {origin(said)}",
    }


def page(session: Session, number: int) -> Json | None:
    """A page of the log, oldest first, so that a full page never changes; None if there is no such page."""
    commits, total = log_page(session, number, PAGE)
    pages = max(1, -(-total // PAGE))
    if number > pages:
        return None
    shown: Json = {"session": session.id, "page": number, "pages": pages, "version": total}
    for length, entries in _MEASURES:
        shown["commits"] = [_commit(commit, length, entries) for commit in commits]
        if len(json.dumps(shown, ensure_ascii=False)) <= PAGE_CAP:
            break
    return shown


def _commit(commit: Commit, length: int, entries: int) -> Json:
    events = [
        {"type": event.type, "data": _cut(event.data, length, entries)} for event in commit.events[:entries]
    ]
    return {
        "id": commit.id,
        "at": commit.at,
        "by": _cut(commit.by, length, entries),
        "origin": commit.origin,
        "events": events,
    }


def _cut(value: Any, length: int, entries: int, depth: int = 0) -> Any:
    """A value with long texts and lists truncated, with a note of how much was cut."""
    if isinstance(value, str):
        missing = len(value) - length
        return f"{value[:length]}… [{missing:,} more characters in the log]" if missing > 0 else value
    if isinstance(value, (list, dict)) and depth > 4:
        return "… [deeper in the log]"
    if isinstance(value, list):
        kept = [_cut(item, length, entries, depth + 1) for item in value[:entries]]
        return [*kept, f"… [{len(value) - entries:,} more in the log]"] if len(value) > entries else kept
    if isinstance(value, dict):
        some = list(value.items())[:entries]
        return {_cut(key, length, entries): _cut(item, length, entries, depth + 1) for key, item in some}
    return value
