"""Queries on the log."""

from __future__ import annotations

import json

from holdfast.core import validation
from holdfast.core.codec import Commit
from holdfast.core.stream import last_part
from holdfast.typed import Any, Record
from holdfast.workspace.handle import Handle


class Filter(Record):
    """Which commits are wanted; None matches anything."""

    type: str | None = None
    by: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None
    """In lower case."""

    def takes(self, commit: Commit) -> bool:
        if self.by is not None and commit.by != self.by:
            return False
        if self.since is not None and commit.at < self.since:
            return False
        if self.until is not None and commit.at > self.until:
            return False
        if self.type is not None and not any(_is_of(event.type, self.type) for event in commit.events):
            return False
        return (
            self.text is None
            or self.text in json.dumps([e.data for e in commit.events], ensure_ascii=False).lower()
        )


def _is_of(event_type: str, wanted: str) -> bool:
    return event_type == wanted or event_type.startswith(wanted.rstrip(".") + ".")


def matching(handle: Handle, wanted: Filter, limit: int = 0) -> list[Commit]:
    """The newest commits that match, newest first; all of them if ``limit`` is 0."""
    found = []
    for commit in handle.stored_commits(newest_first=True):
        if wanted.takes(commit):
            found.append(commit)
            if len(found) == limit:
                break
    return found


def log_page(handle: Handle, number: int, size: int) -> tuple[list[Commit], int]:
    """A page of the log, counted from 1 and from the oldest commit, and how many commits there are."""
    total = handle.version
    first = (number - 1) * size
    count = max(0, min(size, total - first))
    if not count:
        return [], total
    # From the nearer end: the last page of a long log costs no more than the first.
    after = total - first - count
    backwards = after < first
    lines = iter(handle.workspace.store.read(handle.stream, None, newest_first=backwards).lines)
    skipped = after if backwards else first
    wanted = [line for _, line in zip(range(skipped + count), lines, strict=False)][skipped:]
    return list(validation.commits_in(reversed(wanted) if backwards else wanted)), total


def find_thing(handle: Handle, short_id: str) -> list[dict[str, Any]]:
    """Every event about one short id, oldest first, with its data in full, including what replaced it or led to it."""
    wanted = short_id.lower()
    return [
        {"type": event.type, "at": commit.at, "by": commit.by, "origin": commit.origin, "data": event.data}
        for commit in handle.stored_commits()
        for event in commit.events
        if any(str(event.data.get(key, "")).lower() == wanted for key in ("id", "supersedes", "decision"))
    ]


def git_commits(handle: Handle, limit: int) -> list[dict[str, Any]]:
    """The git commits that name a session or hold its segments, newest first. ``limit`` 0: all."""
    from holdfast.git.integration import commits_of
    from holdfast.store.protocol import git_backed

    store = git_backed(handle.workspace.store)
    return (
        commits_of(store.root, last_part(handle.stream), limit, store.commit_ids) if store is not None else []
    )
