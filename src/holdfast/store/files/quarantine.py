"""Cutting a torn tail: what a power cut or a killed process left after the last complete line of a segment.

The bytes are saved under ``local/quarantine/`` with a report, durable before the segment is truncated (I5).
"""

from __future__ import annotations

import json
import os

from holdfast.core import codec, timestamps
from holdfast.fs import durable
from holdfast.fs.port import SEEK_END, FileSystem
from holdfast.fs.symlinks import reject_symlinks
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.files.segment_set import SUM_AND_END
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.cursor import Cursor
    from holdfast.store.files.lockfile import WriterState
    from holdfast.store.files.place import Place
    from holdfast.store.files.segment_set import OpenSegment, SegmentSet


TORN = "a torn tail: bytes after the last complete line, never acknowledged as a commit"
UNCHAINED = "lines that did not follow the ones before them; the commits in them were written again"


def cut_torn_tail(fs: FileSystem, place: Place, stream: str, path: str, fd: int) -> segments.Mark:
    """Save what follows the last complete line, and truncate the segment. The caller holds the stream's lock."""
    found = fs.stat_handle(fd)
    part = segments.read_open_part(fs, fd, segments.UNREAD, found.st_size, found.st_mtime_ns, collect=False)
    good = part.good
    if good.offset == found.st_size:
        return good
    tail = durable.read_range(fs, fd, good.offset, found.st_size)
    save_aside(place, stream, path, tail, TORN, line=good.rows + 1, offset=good.offset)
    fs.truncate(fd, good.offset)
    fs.sync(fd)
    return good


def continue_segment(place: Place, found: SegmentSet, state: WriterState, size: int) -> WriterState | None:
    """The state at the end of the open segment, which is longer than its header says; None to abandon it.

    Lines beyond the header were written by a process that died before it stored the header, or a power cut took the
    header. Bytes among them that are no line, or a line that does not follow the one before it, were never
    acknowledged: nobody else can be writing, so they are a torn tail (I5). The caller holds the stream's lock.
    """
    segment, fs = found.open, place.fs
    assert segment is not None
    if not _ends_as_stored(fs, segment.fd, state):
        return None
    chained = segments.chained_part(fs, segment.fd, state.safe, size)
    if chained.end < state.size:
        return None
    added = durable.read_range(fs, segment.fd, state.size, chained.end)
    if chained.end < size:
        line = state.rows + added.count(b"\n") + 1
        added += _chain_again(place, found.stream, segment, chained, line)
    if not added:
        return state
    last = line_of(added[:-1].rpartition(b"\n")[2])
    return state.replace(
        size=state.size + len(added),
        sum=codec.sum_of(last),
        rows=state.rows + added.count(b"\n"),
        clock=max(state.clock, codec.id_of(last)),
    )


def without_tail(cursor: Cursor, name: str, rows: int) -> Cursor:
    """The cursor without problems in the lines of a segment after the first ``rows``: they were put in order."""
    left = tuple(
        problem
        for problem in cursor.problems
        if not problem[0].startswith(name) or int(problem[0].rpartition(":")[2]) <= rows
    )
    return cursor._replace(problems=left)


def _ends_as_stored(fs: FileSystem, fd: int, state: WriterState) -> bool:
    if not state.size:
        return True
    end = fs.read(fd, SUM_AND_END, max(0, state.size - SUM_AND_END))
    return end.endswith(state.sum.encode() + b'"}\n')


def _chain_again(
    place: Place, stream: str, segment: OpenSegment, chained: segments.ChainedPart, line: int
) -> bytes:
    """Cut off what does not follow the ``chained`` part of a segment, from its line number ``line`` on.

    What is acknowledged is on the disk with all lines before it, so nothing of this was. Whole commits in it may have
    been read and shown: they are written again, chained to the line that is now before them. Returns these lines.
    """
    fs, fd = place.fs, segment.fd
    tail = durable.read_range(fs, fd, chained.end, fs.seek(fd, 0, SEEK_END))
    before = segments.ids_before(fs, fd, chained.end)  # which old bytes can repeat
    lines = segments.whole_lines(tail[: tail.rfind(b"\n") + 1])
    whole = {codec.id_of(line): line for line in lines if codec.id_of(line) not in before}
    again = segments.rechained(stream, segment.name, list(whole.values()), chained.sum)
    save_aside(place, stream, segment.path, tail, UNCHAINED if again else TORN, line=line, offset=chained.end)
    fs.truncate(fd, chained.end)
    if again:
        durable.write_whole(fs, fd, again)
    fs.sync(fd)
    return again


def save_aside(
    place: Place, stream: str, path: str, data: bytes, what: str, *, line: int = 1, offset: int = 0
) -> str:
    """Save bytes in quarantine, durably, with a report; returns their path relative to the workspace."""
    fs = place.fs
    folder = os.path.join(place.local, "quarantine")
    reject_symlinks(fs, place.root, f"local{os.sep}quarantine")
    durable.make_folders(fs, folder)
    name = f"{stream.replace('/', '+')}+{os.path.basename(path)}+{offset}+{place.clock()}"
    durable.replace(fs, os.path.join(folder, f"{name}.bin"), data, tag=place.tag, durable=True)
    durable.fsync_dirs(fs, folder, place.root)
    report = {
        "stream": stream,
        "segment": os.path.basename(path),
        "line": line,
        "offset": offset,
        "bytes": len(data),
        "at": timestamps.iso(place.clock()),
        "what": what,
    }
    text = json.dumps(report, indent=2).encode() + b"\n"
    durable.replace(fs, os.path.join(folder, f"{name}.json"), text, tag=place.tag, durable=False)
    return f"local/quarantine/{name}.bin"
