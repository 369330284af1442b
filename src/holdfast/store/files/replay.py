"""Replaying the journals of processes that died: acknowledged lines are written back to their segments.

After a kill the segments have everything and only need a sync. After a power cut a segment may have lost its last
lines, or have zeros or garbage in their place: then they are rewritten after the last valid line (I5).
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
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream


def recover_all(place: Place, handle_of: Callable[[str], Stream]) -> None:
    """Replay the journals of all streams, including those that nobody opens any more."""
    for stream in sorted(
        {journal.stream_of(name).replace("+", "/") for name in journal.journal_names(place)}
    ):
        if is_stream_name(stream):
            handle = handle_of(stream)
            with handle.mutex:
                handle.recover()


def lines_for(place: Place, stream: str, name: str) -> list[bytes]:
    """The journalled bytes of one segment, whether or not the journals' processes are alive."""
    found = []
    for path in journal.journals_of(place, flattened(stream)):
        fd = _open(place, path)
        if fd >= 0:
            try:
                found += [entry.data for entry in _entries(place, fd) if entry.segment == name]
            finally:
                place.fs.close(fd)
    return found


def _open(place: Place, path: str) -> int:
    """A journal, opened for reading; -1 if its process has just removed it, or if it is not a journal."""
    try:
        is_file = stat.S_ISREG(place.fs.stat(path).st_mode)
        return place.fs.open(path, os.O_RDONLY) if is_file else -1
    except FileNotFoundError:
        return -1


def _entries(place: Place, fd: int) -> list[journal.Entry]:
    return list(journal.entries_in(durable.read_range(place.fs, fd, 0, place.fs.seek(fd, 0, SEEK_END))))


def replay_journals(place: Place, handle: Stream, paths: list[str]) -> None:
    """Replay the journals of dead processes, and remove them. The caller holds the stream's lock."""
    dead: list[tuple[str, int]] = []
    try:
        _open_dead(place, paths, dead)
        found: dict[str, list[journal.Entry]] = {}
        for _, fd in dead:
            for entry in _entries(place, fd):
                found.setdefault(entry.segment, []).append(entry)
        for name, entries in found.items():
            if segments.belongs(handle.stream, name):
                _replay_segment(place, handle, name, sorted(entries, key=lambda entry: entry.offset))
        for path, _ in dead:
            try:
                place.fs.unlink(path)
            except FileNotFoundError:
                pass  # its process was alive: it has just synced the segment and removed the journal
    finally:
        for _, fd in dead:
            place.fs.close(fd)


def _open_dead(place: Place, paths: list[str], dead: list[tuple[str, int]]) -> None:
    """Open the journals whose processes are gone. A live process holds the lock, and then nothing was lost: no
    process outlives a power cut."""
    for path in paths:
        fd = _open(place, path)
        if fd < 0:
            continue
        dead.append((path, fd))
        if not place.fs.try_lock(fd):
            place.fs.close(dead.pop()[1])


def pending_faults(place: Place, stream: str, paths: list[str]) -> tuple[Fault, ...]:
    """The faults for dead processes' journals in a workspace that cannot be written."""
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


def _replay_segment(place: Place, handle: Stream, name: str, entries: list[journal.Entry]) -> None:
    fd = _open_segment(place, handle, name)
    if fd < 0:
        return  # archived, removed, or deleted by git together with its pin
    try:
        lines: dict[str, bytes] = {}
        for entry in entries:
            for piece in entry.data.splitlines(keepends=True):
                lines.setdefault(codec.id_of(line_of(piece[:-1])), piece)
        size = place.fs.seek(fd, 0, SEEK_END)
        valid = segments.chained_part(place.fs, fd, entries[0].offset, size)
        missing = [piece for commit_id, piece in lines.items() if commit_id not in valid.ids]
        if not missing:
            handle.sync_segment(name, fd)
        elif _are_chained(missing, valid.sum) and not _git_has(place, handle, name):
            if size > valid.end:
                tail = durable.read_range(place.fs, fd, valid.end, size)
                missing += _lines_after_fault(tail, lines, missing[-1])
                what = "what a power cut left of lines that were rewritten from a journal"
                quarantine.save_aside(place, handle.stream, name, tail, what, offset=valid.end)
                place.fs.truncate(fd, valid.end)
            durable.write_whole(place.fs, fd, b"".join(missing))
            handle.sync_segment(name, fd)
        else:
            _write_to_new_segment(place, handle, name, fd, missing)
    finally:
        place.fs.close(fd)


def _open_segment(place: Place, handle: Stream, name: str) -> int:
    """The segment, or its pin if git removed it from the tree; -1 if there is neither, or if the pin belongs to
    another worktree: then this is a copy of its journal."""
    paths = [os.path.join(handle.segments.folder, name)]
    writer = segments.writer_of(name)
    if writer == place.identity.stored() or not pins.has_worktree(place, writer):
        paths += [os.path.join(folder, flattened(handle.stream), name) for folder in pins.folders(place)]
    for path in paths:
        try:
            return place.fs.open(path, durable.APPEND)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return -1


def _git_has(place: Place, handle: Stream, name: str) -> bool:
    """Whether a git commit may already have the segment: then it must not change (I2)."""
    return place.head.may_be_staged(f"{segments.EVENTS}/{handle.stream}/{name}")


def _lines_after_fault(tail: bytes, known: dict[str, bytes], last: bytes) -> list[bytes]:
    """Lines after a fault that no journal holds and that continue after the ``last`` one. If somebody edited the
    segment, they may have been acknowledged. After a power cut they were not, and are harmless."""
    found: list[bytes] = []
    for piece in tail.split(b"\n")[:-1]:
        line = line_of(piece)
        if segments.is_whole(line) and codec.id_of(line) not in known:
            if not _are_chained([piece + b"\n"], codec.sum_of(line_of((found or [last])[-1][:-1]))):
                break
            found.append(piece + b"\n")
    return found


def _are_chained(pieces: list[bytes], previous: str) -> bool:
    """Whether lines are chained to each other, the first to the line with that checksum."""
    for piece in pieces:
        line = line_of(piece[:-1])
        if codec.fault_of(line, previous) is not None:
            return False
        previous = codec.sum_of(line)
    return True


def _write_to_new_segment(place: Place, handle: Stream, name: str, fd: int, missing: list[bytes]) -> None:
    """The segment was changed under the journal, or git has it: write what the stream lacks to a new one,
    rechained."""
    present = {codec.id_of(line) for line in handle.read(None).lines}
    data = durable.read_range(place.fs, fd, 0, place.fs.seek(fd, 0, SEEK_END))
    present.update(codec.id_of(line) for line in segments.whole_lines(data))  # it may be out of the tree
    lost = [piece for piece in missing if codec.id_of(line_of(piece[:-1])) not in present]
    handle.sync_segment(name, fd)
    if lost:
        path = handle.take_number(name)
        whole = segments.whole_lines(b"".join(lost))
        content = segments.rechained(handle.stream, os.path.basename(path), whole)
        durable.replace(place.fs, path, content, tag=place.tag, durable=True)
        durable.fsync_dirs(place.fs, handle.segments.folder, os.path.dirname(place.root))
        pins.pin_segment(place, handle.stream, path)
