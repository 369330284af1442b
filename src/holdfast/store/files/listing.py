"""Which sessions there are on disk, here and in other worktrees."""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.core.stream import is_stream_name
from holdfast.fs.port import FileSystem
from holdfast.store.files import segments
from holdfast.store.files.segments import EVENTS
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.engine import FilesEngine


_LARGEST_DAY = 1000
"""On days with more sessions, folders are not sorted by time: the cost of one page stays bounded."""


def newest(store: FilesEngine, fs: FileSystem, user: str | None, limit: int) -> tuple[list[str], int]:
    """The newest sessions, and how many there are: only the returned ones are read."""
    sessions, history = os.path.join(store.root, EVENTS, "sessions"), os.path.join(store.root, "history")
    found = []
    for owner in [user] if user else _names(fs, sessions):
        found += [(name, owner) for name in _names(fs, os.path.join(sessions, owner))]
    chosen: list[str] = []
    for name, owner in _latest_first(fs, sessions, found):
        if len(chosen) >= limit:
            break
        if store.is_stream(f"sessions/{owner}/{name}"):
            chosen.append(f"sessions/{owner}/{name}")
    put_away = {name for month in _names(fs, history) for name in _names(fs, os.path.join(history, month))}
    if not put_away:
        return chosen, len(found)
    gone = sum(not store.is_stream(f"sessions/{owner}/{name}") for name, owner in found if name in put_away)
    return chosen, len(found) - gone


def _latest_first(fs: FileSystem, sessions: str, found: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Sessions by day, and within a day by when the folder got its last segment: ids do not order a day.

    Right after a checkout all folders have the same time; then their names decide.
    """
    days: dict[str, list[tuple[str, str]]] = {}
    for entry in found:
        days.setdefault(entry[0][:10], []).append(entry)
    for day in sorted(days, reverse=True):
        of_day = days[day]
        if len(of_day) > _LARGEST_DAY:
            of_day.sort(reverse=True)
        elif len(of_day) > 1:
            of_day.sort(
                key=lambda entry: (_changed(fs, f"{sessions}/{entry[1]}/{entry[0]}"), entry), reverse=True
            )
        yield from of_day


def _changed(fs: FileSystem, path: str) -> int:
    try:
        return fs.stat(path).st_mtime_ns
    except OSError:
        return 0


def in_worktree(fs: FileSystem, root: str) -> list[str]:
    """The sessions in the workspace of another worktree; none if it cannot be read."""
    try:
        return list(_sessions(fs, os.path.join(root, EVENTS, "sessions")))
    except OSError:
        return []


def _sessions(fs: FileSystem, sessions: str) -> Iterator[str]:
    for user in sorted(_names(fs, sessions)):
        for session in sorted(_names(fs, os.path.join(sessions, user))):
            name = f"sessions/{user}/{session}"
            names = _names(fs, os.path.join(sessions, user, session))
            if is_stream_name(name) and any(segments.belongs(name, segment) for segment in names):
                yield name


def _names(fs: FileSystem, folder: str) -> list[str]:
    """The names in a folder, in no order: there may be ten thousand."""
    try:
        return fs.names(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
