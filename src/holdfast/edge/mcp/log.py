"""The log for clients: search results and pages of bounded size."""

from __future__ import annotations

import json

from holdfast.core.codec import Commit
from holdfast.edge.mcp.wire import Json
from holdfast.errors import NoSession
from holdfast.index.search import HYBRID, Found
from holdfast.typed import Any
from holdfast.views.fence import fenced, origin
from holdfast.workspace.history import find_thing, log_page
from holdfast.workspace.searching import find
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace

LIMIT = 20
SHORT, FULL = 300, 4_000
"""Characters per event in a search result, and in a result about one id."""
RESULT_CAP = 40_000
"""Characters of a result about one id: clients truncate longer ones."""
_FILTERS = ("kind", "by", "since", "path")
_MOST_MISSING = 5
PAGE = 50
"""Commits per page of the log."""
_MEASURES = ((2_000, 50), (400, 20), (60, 5))
"""Limits on characters per text and entries per list; the first that keeps the page under its cap applies."""
PAGE_CAP = 100_000


def about(session: Session, short_id: str, limit: int) -> Json:
    """Every event of a session about one entry, newest first, each as fenced text with its origin."""
    found = find_thing(session, short_id)[-limit:][::-1]
    length = min(FULL, max(SHORT, RESULT_CAP // max(1, len(found))))
    events = [
        {**_event(entry, entry["type"], entry["data"], length), "id": short_id, "session": session.name}
        for entry in found
    ]
    return {"events": events, "total": len(events), "looked": f"the log of {session.name}"}


def search(workspace: Workspace, given: Json) -> Json:
    """The best matches over all sessions, or in one of them, each as fenced text with its origin."""
    filters: Json = {name: given[name] for name in _FILTERS if name in given}
    stream = workspace.session(given["session"]).stream if "session" in given else None
    if not filters and stream is None and not given.get("text", "").strip():
        filters["until"] = "0s"  # everything, newest first
    limit = given.get("limit", LIMIT)
    (hits, total, _, some, ranking, _), held = find(
        workspace, given.get("text", ""), stream, limit=limit, **filters
    )
    if not held.sessions and not hits:
        raise NoSession()
    sessions = f"{held.sessions:,} session{'s' if held.sessions != 1 else ''}"
    looked = [f"{held.commits:,} commits of {sessions}, archive included"]
    if some:
        near = "near in meaning or with some of them" if ranking == HYBRID else "with some of them"
        looked.append(f"nothing has all of these words; these are {near}")
    if held.behind:
        looked.append(
            f"not yet looked at: changes in {held.behind:,} streams, which another process is indexing"
        )
    looked += [f"could not look into {stream}: {why}" for stream, why in held.unreadable[:_MOST_MISSING]]
    return {"events": [_hit(hit) for hit in hits], "total": total, "looked": "; ".join(looked)}


def _hit(hit: Found) -> Json:
    said = hit._asdict()
    places = f" at {fenced(', '.join(hit.places), SHORT)}" if hit.places else ""
    return {
        "at": hit.at,
        "type": hit.kind,
        "id": hit.id,
        "session": hit.session,
        "text": f"{fenced(hit.snippet, SHORT)}{places} {origin(said)}",
    }


def _event(said: Json, kind: str, data: Json, length: int) -> Json:
    text = fenced(json.dumps(data, ensure_ascii=False), length)
    return {"at": said["at"], "type": kind, "text": f"{text} {origin(said)}"}


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
