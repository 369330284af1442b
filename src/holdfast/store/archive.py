"""Archiving a session: its segments joined into one under ``history/``, its files beside it.

Order (docs/format.md): the joined segment is on the disk before anything is removed. A reader takes the union of
both places, so a death at any point, and a clone that went on with the session meanwhile, cost nothing. Joined
segments are never changed or removed: what a restored session adds is joined into another one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from holdfast.core import commit as codec
from holdfast.core.stream import checked_stream
from holdfast.errors import Damaged, HoldfastError, NotFound
from holdfast.fs import steps
from holdfast.fs.port import FileSystem
from holdfast.fs.posix import POSIX
from holdfast.store import checkup, kept, segments
from holdfast.store.stream_files import StreamFiles
from holdfast.store.stream_reader import Place

OWNER = "stream"
"""The file that names the stream of an archived folder."""
_CHUNK = 1 << 20


def archive(place: Place, handle: StreamFiles) -> None:
    """Join, move, remove. The caller holds the stream."""
    _refuse_damage(place, handle)
    target = handle.archive
    events = os.path.join(target, "events")
    steps.make_folders(place.fs, events)
    name_owner(place, handle)
    joined = _join(place, handle, events)
    steps.sync_names(place.fs, events, os.path.dirname(place.root))
    old = [name for name in place.fs.names(events) if not name.startswith(segments.JOINED)]
    for name in old:
        place.fs.unlink(os.path.join(events, name))
    replaced = {name for name in (*_names(place, handle.folder), *old) if segments.is_segment(name)}
    live = os.path.dirname(handle.folder)
    _move_files(place, live, target)
    if place.head.common is None:
        checkup.remove_folder(place, live)
    # The links that protect segments from git now protect the joined one.
    if joined:
        kept.keep(place, handle.stream, os.path.join(events, joined))
    for stream, path in kept.links(place):
        if stream == handle.stream and os.path.basename(path) in replaced:
            kept.drop(place, path)


def name_owner(place: Place, handle: StreamFiles) -> None:
    """Write down whose archive it is: without that nobody finds it. The folder is there."""
    path, name = os.path.join(handle.archive, OWNER), f"{handle.stream}\n".encode()
    steps.replace(place.fs, path, name, tag=f"{place.tag}-archive", durable=True)


def _refuse_damage(place: Place, handle: StreamFiles) -> None:
    """What cannot be read cannot be joined: it stays where it is, for a person to look at."""
    faults = [fault for fault in checkup.check_stream(place, handle, fix=True) if not fault.harmless]
    if faults:
        raise Damaged(
            f"{handle.stream} cannot be archived: {faults[0].where}: {faults[0].what}. Nothing was changed."
        )


def _join(place: Place, handle: StreamFiles, events: str) -> str:
    """All commits that no joined segment holds, in canonical order, as one durable segment; returns its name, which
    follows from its content. Empty if there are none."""
    before = _joined(place, events)
    temp = os.path.join(events, f".joined{steps.TEMP_MARK}{place.tag}")
    try:
        place.fs.unlink(temp)
    except FileNotFoundError:
        pass
    fd = place.fs.open(temp, steps.CREATE)
    try:
        lines = (line for line in handle.read(None).lines if codec.id_of(line) not in before)
        last = _write_chain(place, fd, lines)
        place.fs.sync(fd)
    finally:
        place.fs.close(fd)
    if last == codec.GENESIS:
        place.fs.unlink(temp)
        if not before:
            raise NotFound(f"{handle.stream} has no commits.")
        return ""
    # Clones that join the same commits make the same file; others make files with other names.
    name = segments.name_of(segments.JOINED, int(last[:12], 16) + 1)
    place.fs.rename(temp, os.path.join(events, name))
    place.fs.sync_folder(events)
    return name


def _joined(place: Place, events: str) -> set[str]:
    """The ids of the commits that joined segments hold."""
    found: set[str] = set()
    for name in _names(place, events):
        if name.startswith(segments.JOINED) and segments.is_segment(name):
            path = os.path.join(events, name)
            lines = segments.forward(place.fs, path, place.fs.stat(path).st_size)
            found.update(map(codec.id_of, lines))
    return found


def _write_chain(place: Place, fd: int, lines: Iterable[bytes]) -> str:
    """Write lines one behind the other, each tied to the one before; returns the last sum."""
    previous = codec.GENESIS
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        tied, previous = codec.rechained(line, previous)
        waiting += (segments.INDENT, tied)
        size += len(tied)
        if size > _CHUNK:
            steps.write_whole(place.fs, fd, b"".join(waiting))
            waiting, size = [], 0
    if waiting:
        steps.write_whole(place.fs, fd, b"".join(waiting))
    return previous


def _move_files(place: Place, source: str, target: str) -> None:
    """Everything beside the segments, one rename each; where a name is taken, the archived file gives way. The
    segments go, and in a git repository a stub stays in every folder that had files."""
    names = _names(place, source)
    files = [name for name in names if not stat.S_ISDIR(place.fs.stat(os.path.join(source, name)).st_mode)]
    if files and segments.STUB not in files and place.head.common is not None:
        text = f"Archived: {os.path.relpath(target, place.root)}\n".encode()
        steps.replace(
            place.fs, os.path.join(source, segments.STUB), text, tag=f"{place.tag}-archive", durable=True
        )
    for name in names:
        here, there = os.path.join(source, name), os.path.join(target, name)
        if name not in files:
            steps.make_folders(place.fs, there)
            _move_files(place, here, there)
        elif segments.is_segment(name):
            place.fs.unlink(here)
        elif steps.TEMP_MARK not in name and name != segments.STUB:
            place.fs.rename(here, there)
    if files:
        place.fs.sync_folder(source)
        place.fs.sync_folder(target)


def archived(place: Place) -> list[str]:
    """The streams under ``history/``."""
    found = []
    history = os.path.join(place.root, "history")
    for month in sorted(_names(place, history)):
        for session in sorted(_names(place, os.path.join(history, month))):
            folder = os.path.join(history, month, session)
            try:
                stream = steps.read_whole(place.fs, os.path.join(folder, OWNER)).decode().strip()
                if segments.archive_of(place.root, checked_stream(stream)) == folder:
                    found.append(stream)
            except (OSError, UnicodeDecodeError, HoldfastError):
                continue  # not made by archiving; left alone
    return found


def folder_of(place: Place, stream: str) -> str:
    """Where a stream is archived, relative to the workspace."""
    return os.path.relpath(segments.archive_of(place.root, stream), place.root)


def size(place: Place, stream: str) -> int:
    """Bytes of all files of a stream, in both places."""
    total = 0
    for folder in (os.path.join(place.root, *stream.split("/")), segments.archive_of(place.root, stream)):
        total += _size(place, folder) if folder else 0
    return total


def _size(place: Place, folder: str) -> int:
    total = 0
    for name in _names(place, folder):
        found = place.fs.stat(os.path.join(folder, name))
        total += _size(place, os.path.join(folder, name)) if stat.S_ISDIR(found.st_mode) else found.st_size
    return total


def is_used(root: str, fs: FileSystem = POSIX) -> bool:
    """Whether there is anything in a workspace's ``history/``, without looking into it."""
    try:
        return bool(fs.names(os.path.join(root, "history")))
    except OSError:
        return False


def _names(place: Place, folder: str) -> list[str]:
    try:
        return place.fs.names(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
