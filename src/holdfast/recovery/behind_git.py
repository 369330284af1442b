"""Segments of the working tree that have lost commits which git has: cut short, emptied, or removed one by one.

A segment never changes once git has it, so a version in git that has more is the complete one. A cut between two
lines leaves no broken checksum, and a power cut often leaves files that are empty or full of zeros.
"""

from __future__ import annotations

import os

from holdfast.core import codec
from holdfast.git import porcelain
from holdfast.recovery import restore
from holdfast.store import faults
from holdfast.store.files import segments
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream


def suspects(place: Place) -> frozenset[str]:
    """The segments, as paths, whose content in git's index or HEAD differs from the working tree."""
    if place.head.common is None:
        return frozenset()
    names = porcelain.changed(place.root, segments.EVENTS)
    return frozenset(os.path.join(place.root, name) for name in names)


def check(place: Place, handle: Stream, suspected: frozenset[str], *, fix: bool) -> list[Fault]:
    """Commits that git has and the stream lacks; with ``fix`` they are restored. The caller holds its lock."""
    if place.head.common is None:
        return []
    paths = handle.segments.paths()
    folders = {handle.segments.folder, handle.segments.joined}
    wanted = {path for path in paths if path in suspected or _is_empty(place, path)}
    wanted |= {path for path in paths if path == _cut_short(place, handle)}
    if paths:  # a stream of which nothing is left was removed on purpose
        wanted |= {path for path in suspected if os.path.dirname(path) in folders and path not in paths}
    wanted = {path for path in wanted if segments.belongs(handle.stream, os.path.basename(path))}
    if not wanted:
        return []
    present = {codec.id_of(line) for line in handle.read(None).lines}
    found = []
    for path in sorted(wanted):
        missing = _in_git(place, path) - present
        if not missing:
            continue
        done = restore.from_git(place, handle.stream, path) if fix else None
        found.append(done or _fault(place, handle.stream, path, len(missing)))
        present |= missing
    return found


def _fault(place: Place, stream: str, path: str, count: int) -> Fault:
    return Fault(faults.BEHIND_GIT, stream, os.path.relpath(path, place.root), {"commits": count})


def _cut_short(place: Place, handle: Stream) -> str:
    """The segment that the lock-file header knows to be longer than it is; empty if there is none. Once the cut is
    committed, HEAD and index have nothing else, but an earlier git commit may."""
    state = handle.lock.peek()
    if state is None or state.segment <= 0:
        return ""
    path = handle.segments.path_of(segments.name_of(handle.stream, state.writer, state.segment))
    try:
        return path if place.fs.stat(path).st_size < state.size else ""
    except FileNotFoundError:
        return ""


def _is_empty(place: Place, path: str) -> bool:
    """Whether a segment holds no commit at all."""
    return next(segments.forward(place.fs, path, place.fs.stat(path).st_size), None) is None


def _in_git(place: Place, path: str) -> set[str]:
    found: set[str] = set()
    for version in porcelain.versions(place.root, os.path.relpath(path, place.root)):
        data = porcelain.content(place.root, version.blob) or b""
        found.update(map(codec.id_of, segments.whole_lines(data)))
    return found
