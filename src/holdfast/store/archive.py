"""Archiving a session: its segments joined into one under ``history/``, its files beside it.

Order (docs/format.md): the joined segment is on the disk before anything is removed. A reader takes the union of
both places, so a death at any point, and a clone that went on with the session meanwhile, cost nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from holdfast.core import commit as codec
from holdfast.core.stream import checked_stream
from holdfast.errors import Damaged, HoldfastError, NotFound
from holdfast.fs import steps
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
    steps.replace(
        place.fs,
        os.path.join(target, OWNER),
        f"{handle.stream}\n".encode(),
        tag=f"{place.tag}-archive",
        durable=True,
    )
    joined = _join(place, handle, events)
    steps.sync_names(place.fs, events, os.path.dirname(place.root))
    old = [name for name in place.fs.names(events) if name != joined]
    for name in old:
        place.fs.unlink(os.path.join(events, name))
    live = os.path.dirname(handle.folder)
    _move_files(place, live, target)
    replaced = {name for name in (*_names(place, handle.folder), *old) if segments.is_segment(name)}
    checkup.remove_folder(place, live)
    # The links that protect segments from git now protect the joined one.
    kept.keep(place, handle.stream, os.path.join(events, joined))
    for stream, path in kept.links(place):
        if stream == handle.stream and os.path.basename(path) in replaced:
            kept.drop(place, path)


def _refuse_damage(place: Place, handle: StreamFiles) -> None:
    """What cannot be read cannot be joined: it stays where it is, for a person to look at."""
    faults = [fault for fault in checkup.check_stream(place, handle, fix=True) if not fault.harmless]
    if faults:
        raise Damaged(
            f"{handle.stream} cannot be archived: {faults[0].where}: {faults[0].what}. Nothing was changed."
        )


def _join(place: Place, handle: StreamFiles, events: str) -> str:
    """All commits in canonical order as one durable segment; returns its name, which follows from its content."""
    temp = os.path.join(events, f".joined{steps.TEMP_MARK}{place.tag}")
    try:
        place.fs.unlink(temp)
    except FileNotFoundError:
        pass
    fd = place.fs.open(temp, steps.CREATE)
    try:
        last = _write_chain(place, fd, handle.read(None).lines)
        place.fs.sync(fd)
    finally:
        place.fs.close(fd)
    if last == codec.GENESIS:
        place.fs.unlink(temp)
        raise NotFound(f"{handle.stream} has no commits.")
    # Clones that join the same commits make the same file; others make files with other names.
    name = segments.name_of(segments.JOINED, int(last[:12], 16) + 1)
    place.fs.rename(temp, os.path.join(events, name))
    place.fs.sync_folder(events)
    return name


def _write_chain(place: Place, fd: int, lines: Iterable[bytes]) -> str:
    """Write lines one behind the other, each tied to the one before; returns the last sum."""
    previous = codec.GENESIS
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        tied, previous = codec.rechained(line, previous)
        waiting.append(tied)
        size += len(tied)
        if size > _CHUNK:
            steps.write_whole(place.fs, fd, b"".join(waiting))
            waiting, size = [], 0
    if waiting:
        steps.write_whole(place.fs, fd, b"".join(waiting))
    return previous


def _move_files(place: Place, source: str, target: str) -> None:
    """Everything beside the segments, one rename each; where a name is taken, the archived file gives way."""
    for name in _names(place, source):
        if name == "events":
            continue
        here, there = os.path.join(source, name), os.path.join(target, name)
        if stat.S_ISDIR(place.fs.stat(here).st_mode):
            steps.make_folders(place.fs, there)
            _move_files(place, here, there)
        elif steps.TEMP_MARK not in name:
            place.fs.rename(here, there)
    if _names(place, target):
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


def _names(place: Place, folder: str) -> list[str]:
    try:
        return place.fs.names(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
