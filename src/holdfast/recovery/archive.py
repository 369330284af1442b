"""Archiving a session: its segments are joined under ``events/history/``, into one unless they are large, and its
files are moved to ``history/``.

Order (docs/format.md): the joined segments are durable before anything is removed. A reader takes the union of both
folders, so a crash at any point loses nothing, nor does a clone that continued the session meanwhile. Joined segments
are never changed or removed: what a restored session adds is joined into another one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from holdfast.core import codec
from holdfast.core.long_texts import FOLDER as TEXTS
from holdfast.core.stream import checked_stream
from holdfast.errors import Damaged, HoldfastError, NotFound
from holdfast.fs import durable
from holdfast.recovery import fsck, owner
from holdfast.store.files import pins, segments
from holdfast.store.files.padding import padding_in
from holdfast.store.files.place import Place
from holdfast.store.files.stream import Stream


def archive(place: Place, handle: Stream) -> None:
    """Join, move, remove. The caller holds the stream's lock."""
    handle.recover()
    _refuse_damage(place, handle)
    _restore_cut(place, handle)
    events = handle.segments.joined
    durable.make_folders(place.fs, events)
    owner.name_owner(place, handle)
    joined = _join(place, handle, events)
    durable.fsync_dirs(place.fs, events, os.path.dirname(place.root))
    old = [name for name in place.fs.names(events) if not name.startswith(segments.JOINED)]
    for name in old:
        place.fs.unlink(os.path.join(events, name))
    replaced = {
        name
        for name in (*durable.names_in(place.fs, handle.segments.folder), *old)
        if segments.is_segment(name)
    }
    live = os.path.join(place.root, *handle.stream.split("/"))
    _move_files(place, live, segments.archive_of(place.root, handle.stream))
    _move_files(place, handle.segments.folder, events, left=TEXTS)
    if place.head.common is None:
        fsck.remove_folder(place, live)
        if not durable.names_in(place.fs, handle.segments.folder):  # long texts stay where they are
            fsck.remove_folder(place, handle.segments.folder)
    handle.leave_segment()  # whoever keeps a listing of the segments finds that they have changed
    # The links that protect segments from git now protect the joined ones.
    for name in joined:
        pins.pin_segment(place, handle.stream, os.path.join(events, name))
    kept = _joined(place, events)
    for stream, path in pins.all_pins(place):
        if stream == handle.stream and os.path.basename(path) in replaced and _ids_in(place, path) <= kept:
            pins.drop(place, path)


def _restore_cut(place: Place, handle: Stream) -> None:
    """Restore what a segment has lost of its link or copy. Git does not wait for the stream's lock: a stash that runs
    during an append brings the segment back without the last commits."""
    from holdfast.recovery import restore

    for stream, path in (*pins.all_pins(place), *pins.all_pins(place, pins.COPIES)):
        if stream == handle.stream:
            restore.restore_if_cut(place, handle, path)


def _ids_in(place: Place, path: str) -> set[str]:
    try:
        return segments.ids_in(durable.read_whole(place.fs, path))
    except FileNotFoundError:
        return set()


def _refuse_damage(place: Place, handle: Stream) -> None:
    """Unreadable lines cannot be joined: they stay in place for a person to inspect."""
    found = fsck.check_stream(place, handle, handle.read(None).faults, fix=True)
    faults = [fault for fault in found if not fault.harmless]
    if faults:
        raise Damaged(
            f"{handle.stream} cannot be archived: {faults[0].where}: {faults[0].what}. Nothing was changed."
        )


def _join(place: Place, handle: Stream, events: str) -> list[str]:
    """All commits that no joined segment holds, in canonical order, as durable segments; returns their names."""
    before = _joined(place, events)
    lines = (line for line in handle.read(None).lines if codec.id_of(line) not in before)
    joined = [_write_piece(place, handle.stream, events, piece) for piece in _pieces(lines)]
    if not joined and not before:
        raise NotFound(f"{handle.stream} has no commits.")
    return joined


def _joined(place: Place, events: str) -> set[str]:
    """The ids of the commits that joined segments hold."""
    found: set[str] = set()
    for name in durable.names_in(place.fs, events):
        if name.startswith(segments.JOINED) and segments.is_segment(name):
            path = os.path.join(events, name)
            lines = segments.forward(place.fs, path, place.fs.stat(path).st_size)
            found.update(map(codec.id_of, lines))
    return found


def _pieces(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines with line feeds, each chained to the one before, split into pieces of at most one segment."""
    piece: list[bytes] = []
    size, previous = 0, codec.GENESIS
    for line in lines:
        tied, previous = codec.rechained(line, previous)
        piece.append(tied)
        size += len(tied) + padding_in(len(tied))
        if size >= segments.FULL:
            yield piece
            piece, size, previous = [], 0, codec.GENESIS
    if piece:
        yield piece


def _write_piece(place: Place, stream: str, events: str, piece: list[bytes]) -> str:
    """Write one joined segment, named after its last checksum: clones that join the same commits write the same file,
    and other commits give another name."""
    name = segments.name_of(stream, segments.JOINED, int(codec.sum_of(piece[-1][:-1])[:12], 16) + 1)
    data = b"".join(segments.in_column("", name, line) for line in piece)
    durable.replace(place.fs, os.path.join(events, name), data, tag=f"{place.tag}-archive", durable=True)
    return name


def _move_files(place: Place, source: str, target: str, left: str = "") -> None:
    """Move all other files, one rename each; where a name is taken, the archived file gives way. The segments are
    removed, and in a git repository a stub stays in every folder that had files. ``left`` is a folder that stays.
    """
    names = durable.names_in(place.fs, source)
    files = [name for name in names if not stat.S_ISDIR(place.fs.stat(os.path.join(source, name)).st_mode)]
    if files and segments.STUB not in files and place.head.common is not None:
        text = f"Archived: {os.path.relpath(target, place.root)}\n".encode()
        durable.replace(
            place.fs, os.path.join(source, segments.STUB), text, tag=f"{place.tag}-archive", durable=True
        )
    for name in names:
        here, there = os.path.join(source, name), os.path.join(target, name)
        if name == left:
            continue
        if name not in files:
            durable.make_folders(place.fs, there)
            _move_files(place, here, there)
        elif segments.is_segment(name):
            place.fs.unlink(here)
        elif durable.TEMP_MARK not in name and name != segments.STUB:
            place.fs.rename(here, there)
    if files:
        place.fs.sync_folder(source)
        place.fs.sync_folder(target)


def archived(place: Place) -> list[str]:
    """The streams under ``history/``."""
    found = []
    history = os.path.join(place.root, "history")
    joined = os.path.join(place.root, segments.EVENTS, "history")
    for month in sorted({*durable.names_in(place.fs, history), *durable.names_in(place.fs, joined)}):
        sessions = {
            *durable.names_in(place.fs, os.path.join(history, month)),
            *durable.names_in(place.fs, os.path.join(joined, month)),
        }
        for session in sorted(sessions):
            folder = os.path.join(history, month, session)
            if stream := owner.named_owner(place, folder) or _started_in(place, folder):
                found.append(stream)
    return found


def _started_in(place: Place, folder: str) -> str:
    """The session whose first commit is in an archived folder's segments, for when the file that names it is lost.
    Empty if there is none; what archiving did not create is left alone."""
    events = os.path.join(place.root, segments.EVENTS, os.path.relpath(folder, place.root))
    for name in filter(segments.is_segment, durable.names_in(place.fs, events)):
        path = os.path.join(events, name)
        try:
            line = next(segments.forward(place.fs, path, place.fs.stat(path).st_size), None)
            first = codec.decode(line).events[0] if line else None
            if first is not None and first.type == "session.started":
                stream = checked_stream(f"sessions/{first.data['user']}/{os.path.basename(folder)}")
                return stream if segments.archive_of(place.root, stream) == folder else ""
        except (OSError, KeyError, HoldfastError):
            continue
    return ""


def size(place: Place, stream: str) -> int:
    """Bytes of all files of a stream, live and archived."""
    return sum(_size(place, folder) for folder in segments.folders_of(place.root, stream))


def _size(place: Place, folder: str) -> int:
    total = 0
    for name in durable.names_in(place.fs, folder):
        found = place.fs.stat(os.path.join(folder, name))
        total += _size(place, os.path.join(folder, name)) if stat.S_ISDIR(found.st_mode) else found.st_size
    return total
