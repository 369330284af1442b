"""Taking over the journals of processes that died: what they had acknowledged is put back into their segments.

After a kill the segments have everything, and are only synced. After a power cut a segment may have lost its last
lines, or have zeros or garbage in their place: then they are written once more, after the last sound line (I5).
"""

from __future__ import annotations

import os
import stat

from holdfast.core import codec
from holdfast.core.stream import flat as flattened
from holdfast.core.stream import is_stream_name
from holdfast.fs import durable
from holdfast.fs.port import SEEK_END
from holdfast.store.files import journal, pins, quarantine, segments
from holdfast.store.files.padding import line_of
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream

_BACK = 1 << 16


def waiting(place: Place, flat: str) -> list[str]:
    """The paths of all journals of a stream, whether or not their processes live."""
    folder = os.path.join(place.local, journal.FOLDER)
    return [os.path.join(folder, name) for name in _names(place) if journal.stream_of(name) == flat]


def recover_all(place: Place, handle_of: Callable[[str], Stream]) -> None:
    """Take over the journals of all streams, also of those that nobody opens any more."""
    for stream in sorted({journal.stream_of(name).replace("+", "/") for name in _names(place)}):
        if is_stream_name(stream):
            handle = handle_of(stream)
            with handle.mutex:
                handle.recover()


def lines_for(place: Place, stream: str, name: str) -> list[bytes]:
    """What the journals of a stream hold of one segment, whether or not their processes live."""
    found = []
    for path in waiting(place, flattened(stream)):
        fd = _open(place, path)
        if fd >= 0:
            try:
                found += [entry.data for entry in _entries(place, fd) if entry.segment == name]
            finally:
                place.fs.close(fd)
    return found


def _names(place: Place) -> list[str]:
    """The journals' names; none where they may not be seen: who may not look there cannot write either."""
    try:
        return durable.names_in(place.fs, os.path.join(place.local, journal.FOLDER))
    except PermissionError:
        return []


def _open(place: Place, path: str) -> int:
    """A journal, for reading; -1 if its process has just removed it, or it is something else of that name."""
    try:
        is_file = stat.S_ISREG(place.fs.stat(path).st_mode)
        return place.fs.open(path, os.O_RDONLY) if is_file else -1
    except FileNotFoundError:
        return -1


def _entries(place: Place, fd: int) -> list[journal.Entry]:
    return list(journal.entries_in(durable.read_range(place.fs, fd, 0, place.fs.seek(fd, 0, SEEK_END))))


def take_over(place: Place, handle: Stream, paths: list[str]) -> None:
    """Put back what is in the journals of dead processes, and remove them. The caller holds the stream."""
    dead: list[tuple[str, int]] = []
    try:
        _open_dead(place, paths, dead)
        found: dict[str, list[journal.Entry]] = {}
        for _, fd in dead:
            for entry in _entries(place, fd):
                found.setdefault(entry.segment, []).append(entry)
        for name, entries in found.items():
            if segments.belongs(handle.stream, name):
                _put_back(place, handle, name, sorted(entries, key=lambda entry: entry.offset))
        for path, _ in dead:
            try:
                place.fs.unlink(path)
            except FileNotFoundError:
                pass  # its process was not dead: it has just synced the segment and removed it
    finally:
        for _, fd in dead:
            place.fs.close(fd)


def _open_dead(place: Place, paths: list[str], dead: list[tuple[str, int]]) -> None:
    """Open those journals whose processes are gone. Who lives holds the lock, and then nothing was lost: a process does
    not outlive a power cut."""
    for path in paths:
        fd = _open(place, path)
        if fd < 0:
            continue
        dead.append((path, fd))
        if not place.fs.try_lock(fd):
            place.fs.close(dead.pop()[1])


def left(place: Place, stream: str, paths: list[str]) -> tuple[Fault, ...]:
    """What to say of dead processes' journals where nothing can be written."""
    dead: list[tuple[str, int]] = []
    try:
        _open_dead(place, paths, dead)
    finally:
        for _, fd in dead:
            place.fs.close(fd)
    if not dead:
        return ()
    from holdfast.store.faults import PENDING_JOURNAL

    return tuple(Fault(PENDING_JOURNAL, stream, os.path.relpath(path, place.root)) for path, _ in dead)


class _Sound(Record):
    """A segment up to its first fault."""

    end: int
    sum: str
    ids: set[str]
    """Of the lines that were looked at."""


def _put_back(place: Place, handle: Stream, name: str, entries: list[journal.Entry]) -> None:
    fd = _open_segment(place, handle, name)
    if fd < 0:
        return  # archived, forgotten, or taken away by git together with the link that is kept
    try:
        lines: dict[str, bytes] = {}
        for entry in entries:
            for piece in entry.data.splitlines(keepends=True):
                lines.setdefault(codec.id_of(line_of(piece[:-1])), piece)
        size = place.fs.seek(fd, 0, SEEK_END)
        sound = _sound_part(place, fd, entries[0].offset, size)
        missing = [piece for commit_id, piece in lines.items() if commit_id not in sound.ids]
        if not missing:
            handle.sync_segment(name, fd)
        elif _follows(missing, sound.sum) and not _git_has(place, handle, name):
            if size > sound.end:
                tail = durable.read_range(place.fs, fd, sound.end, size)
                missing += _also_in(tail, lines, missing[-1])
                what = "what a power cut left of lines that were written once more from a journal"
                quarantine.save_aside(place, handle.stream, name, tail, what, offset=sound.end)
                place.fs.truncate(fd, sound.end)
            durable.write_whole(place.fs, fd, b"".join(missing))
            handle.sync_segment(name, fd)
        else:
            _bring_elsewhere(place, handle, name, fd, missing)
    finally:
        place.fs.close(fd)


def _open_segment(place: Place, handle: Stream, name: str) -> int:
    """The segment, or the link that is kept of it where git took it out of the tree; -1 where there is neither, or the
    link is another worktree's: then this is a copy of its journal."""
    paths = [os.path.join(handle.segments.folder, name)]
    writer = segments.writer_of(name)
    if writer == place.identity.stored() or not pins.is_at_work(place, writer):
        paths += [os.path.join(folder, flattened(handle.stream), name) for folder in pins.folders(place)]
    for path in paths:
        try:
            return place.fs.open(path, durable.APPEND)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return -1


def _git_has(place: Place, handle: Stream, name: str) -> bool:
    """Whether a git commit may have the segment already: then it stays as it is (I2)."""
    return place.head.may_be_staged(f"{segments.EVENTS}/{handle.stream}/{name}")


def _also_in(tail: bytes, known: dict[str, bytes], last: bytes) -> list[bytes]:
    """Lines after a fault that no journal holds and that continue after the ``last`` one: if somebody has edited the
    segment, they may have been acknowledged. After a power cut they were not, and do no harm."""
    found: list[bytes] = []
    for piece in tail.split(b"\n")[:-1]:
        line = line_of(piece)
        if segments.is_whole(line) and codec.id_of(line) not in known:
            if not _follows([piece + b"\n"], codec.sum_of(line_of((found or [last])[-1][:-1]))):
                break
            found.append(piece + b"\n")
    return found


def _sound_part(place: Place, fd: int, start: int, size: int) -> _Sound:
    """How far a segment is sound. What lies before the journal's first line was synced: reading begins there."""
    before = durable.read_range(place.fs, fd, max(0, start - _BACK), min(start, size))
    line = line_of(before[:-1].rpartition(b"\n")[2])
    if start <= size and before.endswith(b"\n") and segments.is_whole(line):
        sound, last = _Sound(start, codec.sum_of(line), set()), codec.id_of(line)
    else:
        sound, last = _Sound(0, codec.GENESIS, set()), ""
    *pieces, _ = durable.read_range(place.fs, fd, sound.end, size).split(b"\n")
    for piece in pieces:
        line = line_of(piece)
        if codec.fault_of(line, sound.sum) is not None or codec.id_of(line) <= last:
            break
        last = codec.id_of(line)
        sound.ids.add(last)
        sound = _Sound(sound.end + len(piece) + 1, codec.sum_of(line), sound.ids)
    return sound


def _follows(pieces: list[bytes], previous: str) -> bool:
    """Whether lines follow one another, the first of them the line with that sum."""
    for piece in pieces:
        line = line_of(piece[:-1])
        if codec.fault_of(line, previous) is not None:
            return False
        previous = codec.sum_of(line)
    return True


def _bring_elsewhere(place: Place, handle: Stream, name: str, fd: int, missing: list[bytes]) -> None:
    """The segment has been changed under the journal, or git has it: what the stream lacks goes to a new one,
    rechained."""
    present = {codec.id_of(line) for line in handle.read(None).lines}
    data = durable.read_range(place.fs, fd, 0, place.fs.seek(fd, 0, SEEK_END))
    present.update(codec.id_of(line) for line in segments.whole_lines(data))  # it may be out of the tree
    lost = [piece for piece in missing if codec.id_of(line_of(piece[:-1])) not in present]
    handle.sync_segment(name, fd)
    if lost:
        path = handle.take_number(name)
        content = segments.rechained(handle.stream, os.path.basename(path), b"".join(lost))
        durable.replace(place.fs, path, content, tag=place.tag, durable=True)
        durable.fsync_dirs(place.fs, handle.segments.folder, os.path.dirname(place.root))
        pins.keep(place, handle.stream, path)
