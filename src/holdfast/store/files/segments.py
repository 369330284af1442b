"""Reading segments: lines, marks, faults, and the canonical order over several of them.

A segment is ``events/<stream>/<writer>-<n>.<tag of the stream>.jsonl``. Its lines are chained, its ids rise. A reader
keeps a mark per segment and reads only what lies beyond it.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache

from holdfast.core import codec, ids
from holdfast.core.hashing import blake2b
from holdfast.errors import Newer
from holdfast.fs import durable
from holdfast.fs.port import FileSystem
from holdfast.store.files.padding import OPEN, SPACE, line_of, pad_line
from holdfast.typed import Record

SUFFIX = ".jsonl"
EVENTS = "events"
"""Segments lie apart from all else that a session has: git takes a folder for renamed if files in it look like new ones
elsewhere, as the views of two sessions do, and then moves there what others add below it."""
TAG_LENGTH = 6
JOINED = "0" * ids.WRITER_LENGTH
"""Stands for the writer in the name of a segment that archiving joined from all others."""
CHUNK = 1 << 17
"""Bytes that are read at once: larger buffers are mapped and unmapped on every read."""
_LONGEST = 4 * codec.MAX_LINE
"""Bytes of one line in a file that are kept while it is read: more than any commit has with its blanks."""
FIRST, SHIFTS = 15, 24
"""Behind the opening brace of a line come 15 to 38 spaces, in a joined segment 39 to 62. Git compares files in pieces
of 64 bytes from the beginning of each line, libgit2 in pieces of 80: the same text in another column is not alike to
them, so they never take a segment that was removed for the old name of a new one. In these columns the first piece has
the clock of the id in it, the second the end of the time. Not before the line: libgit2 ignores spaces there."""
FULL = 1 << 20
"""A segment of that many bytes gets no more lines in a git repository: files of more than 7 MB are alike to git,
whatever is in them. Elsewhere it goes on, since a stream of one segment is the quickest to open."""
STUB = "archived"
"""The file that stays in each folder of an archived session: git never sees one of them vanish, so it does not take
archiving for the renaming of a folder and move there what others add to it."""


class Mark(Record):
    """How far a segment has been read."""

    offset: int
    rows: int
    """Lines of the file, readable or not."""
    lines: int
    """Lines that hold a commit."""
    first: str
    last: str
    sum: str
    """The sum that the next line is chained to; empty if the last line was unreadable, or one that was there before."""
    changed: int
    """Modification time in ns when it was read: another time means that it must be looked at again."""


class Trouble(Record):
    """A line that is not as it should be."""

    line: int
    what: str
    kept: bool
    """The commit in the line is whole and is used all the same."""


class Part(Record):
    """What was read from one segment beyond a mark."""

    mark: Mark
    good: Mark
    """The mark after the last line that holds a commit for the first time: ``mark`` unless the end is damaged. Among
    old bytes of the file, which a cut can leave there, may be whole lines."""
    lines: list[bytes]
    troubles: list[Trouble]
    ordered: bool
    """The ids rise from line to line, as they do in every segment that nothing but its writer touched."""
    torn: int
    """Bytes after the last line feed: a write under way, or a torn tail."""
    damaged: int = 0
    """Lines that hold no commit; ``troubles`` names only the first of them."""


UNREAD = Mark(0, 0, 0, "", "", codec.GENESIS, 0)


def writer_of(name: str) -> str:
    return name[: ids.WRITER_LENGTH]


def number_of(name: str) -> int:
    return int(name[ids.WRITER_LENGTH + 1 :].partition(".")[0])


def tag_in(name: str) -> str:
    """The tag of the stream that a segment's name says it belongs to."""
    return name[ids.WRITER_LENGTH + 1 : -len(SUFFIX)].partition(".")[2]


@lru_cache(maxsize=256)
def tag_of(stream: str) -> str:
    """A few characters that stand for a stream in the names of its segments."""
    digest = blake2b(stream.encode(), digest_size=8).digest()
    return ids.random_text(int.from_bytes(digest, "big"), TAG_LENGTH)


def name_of(stream: str, writer: str, number: int) -> str:
    return f"{writer}-{number}.{tag_of(stream)}{SUFFIX}"


def is_segment(name: str) -> bool:
    """Whether a file is a segment, of whatever stream."""
    digits, _, tag = name[ids.WRITER_LENGTH + 1 : -len(SUFFIX)].partition(".")
    return (
        name.endswith(SUFFIX)
        and ids.is_writer(name[: ids.WRITER_LENGTH])
        and name[ids.WRITER_LENGTH : ids.WRITER_LENGTH + 1] == "-"
        and digits.isascii()
        and digits.isdigit()
        and len(tag) == TAG_LENGTH
        and ids.only(tag, ids.ALPHABET)
    )


def belongs(stream: str, name: str) -> bool:
    """Whether a file is a segment of this stream: somebody may have put it into the folder of another one."""
    return is_segment(name) and tag_in(name) == tag_of(stream)


def opening_of(stream: str, name: str) -> bytes:
    """How every line of a segment begins: with other spaces than in the 23 segments before and after it."""
    (first,) = blake2b(f"{stream}/{writer_of(name)}".encode(), digest_size=1).digest()
    return OPEN + SPACE * (FIRST + (first + number_of(name)) % SHIFTS)


def is_alike(stream: str, one: str, other: str) -> bool:
    """Whether the same lines would look the same in two segments of a stream."""
    return opening_of(stream, one) == opening_of(stream, other)


def shifted(stream: str, name: str, line: bytes) -> bytes:
    """A line as it stands in a segment, also in a joined one, where it has a column of its own: no file that holds the
    same commits is alike, however many of them there are."""
    commit_id = codec.id_of(line)
    sum_at = -codec.TAIL_LENGTH - line.endswith(b"\n")
    if name.startswith(JOINED):
        (drawn,) = blake2b(f"{name}/{commit_id}".encode(), digest_size=1).digest()
        opening = OPEN + SPACE * (FIRST + SHIFTS + drawn % SHIFTS)
    else:
        opening = opening_of(stream, name)
    return pad_line(name, commit_id, opening, line[:sum_at], line[sum_at:])


def folder_of(root: str, stream: str) -> str:
    """Where the segments of a stream lie."""
    return os.path.join(root, EVENTS, *stream.split("/"))


def archive_of(root: str, stream: str) -> str:
    """Where a session goes when it is archived, by the month of its id; empty for other streams."""
    kind, _, name = stream.partition("/")
    if kind != "sessions":
        return ""
    session = name.rpartition("/")[2]
    return os.path.join(root, "history", session[:7], session)


def joined_of(root: str, stream: str) -> str:
    """Where the segments of an archived session lie; empty for other streams."""
    archive = archive_of(root, stream)
    return archive and os.path.join(root, EVENTS, os.path.relpath(archive, root))


def folders_of(root: str, stream: str) -> list[str]:
    """All folders with files of a stream."""
    files = os.path.join(root, *stream.split("/"))
    found = [files, folder_of(root, stream), archive_of(root, stream), joined_of(root, stream)]
    return [folder for folder in found if folder]


MOST_TROUBLES = 100
"""The most lines of a segment that are named as damaged."""
_SHORTEST = codec.TAIL_LENGTH + codec.BY_AT
"""No line of a commit is as short."""


class Chain:
    """Follows a segment's lines one by one and says which ones hold a commit."""

    def __init__(self, mark: Mark) -> None:
        self.sum: str | None = mark.sum or None
        self.first = mark.first
        self.last = mark.last
        self.lines = mark.lines
        self.ordered = True
        self.rising = True
        """The last commit has a higher id than all before it."""
        self.troubles: list[Trouble] = []
        self.damaged = 0

    def is_garbage(self, piece: bytes) -> bool:
        """Whether a line is too short for a commit, in a segment of which enough lines were named: millions of them
        must not cost more than counting."""
        if len(piece) >= _SHORTEST or len(self.troubles) < MOST_TROUBLES:
            return False
        self.sum = None
        self.damaged += 1
        return True

    def take(self, line: bytes, number: int) -> bool:
        """Whether the line holds a commit; what is wrong with it goes to ``troubles``."""
        following = codec.verify_chained(line, self.sum) if self.sum else None
        if following is None and not self._is_kept(line, number):
            self.sum = None
            return False
        self.sum = following or codec.sum_of(line)
        self.lines += 1
        commit_id = codec.id_of(line)
        self.rising = commit_id > self.last
        if self.rising:
            self.last = commit_id
            self.first = self.first or commit_id
        else:
            self.ordered = False
            self.first = min(self.first, commit_id)
        return True

    def _is_kept(self, line: bytes, number: int) -> bool:
        """Whether a line that does not follow the one before it holds a commit all the same."""
        what = codec.fault_of(line, self.sum)
        if what is None:
            return True  # the line before is unreadable
        whole = is_whole(line)
        self.damaged += not whole
        if len(self.troubles) < MOST_TROUBLES:
            self.troubles.append(Trouble(number, what, kept=whole))
        return whole


def read_part(fs: FileSystem, path: str, mark: Mark, *, keep: bool = True) -> Part:
    """Everything of a segment beyond a mark, with its sums checked. ``keep`` False: count, do not collect."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        found = fs.stat_handle(fd)
        return read_open_part(fs, fd, mark, found.st_size, found.st_mtime_ns, keep=keep)
    finally:
        fs.close(fd)


def read_open_part(
    fs: FileSystem, fd: int, mark: Mark, size: int, changed: int, *, keep: bool = True
) -> Part:
    """``read_part`` on an open handle, up to ``size``."""
    chain = Chain(mark)
    lines: list[bytes] = []
    number = mark.rows
    offset = mark.offset
    good_offset, good_rows, good_sum = mark.offset, mark.rows, mark.sum
    doubtful: list[tuple[int, int, bytes]] = []
    """Commits at the end that are out of order, and may be there a second time."""
    torn = 0
    for piece, length in _pieces(fs, fd, offset, size):
        if length < 0:
            torn = -length
            break
        number += 1
        offset += length
        if chain.is_garbage(piece):
            continue
        line = line_of(piece)
        if chain.take(line, number):
            if chain.rising:
                good_offset, good_rows, good_sum = offset, number, chain.sum or ""
                doubtful.clear()
            else:
                doubtful.append((offset, number, line))
            if keep:
                lines.append(line)
    if doubtful:
        seen = {codec.id_of(line) for line in _commits(fs, fd, good_offset)}
        for end, row, line in doubtful:
            if codec.id_of(line) not in seen:
                good_offset, good_rows, good_sum = end, row, codec.sum_of(line)
                seen.add(codec.id_of(line))
    last_sum = chain.sum if chain.sum and good_offset == offset else ""
    new = Mark(offset, number, chain.lines, chain.first, chain.last, last_sum, changed)
    good = new._replace(offset=good_offset, rows=good_rows, sum=good_sum)
    return Part(new, good, lines, chain.troubles, chain.ordered, torn, chain.damaged)


def _pieces(fs: FileSystem, fd: int, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """The lines of a file from ``start`` on, each with its length in the file, line feed included. What follows the
    last line feed comes last, empty, with its length below zero. Of a line that is too long only the beginning."""
    held: list[bytes] = []
    waiting = 0
    while start < end:
        data = durable.read_range(fs, fd, start, min(start + CHUNK, end))
        if not data:
            break
        start += len(data)
        first, feed, data = data.partition(b"\n")
        if waiting < _LONGEST:
            held.append(first)
        waiting += len(first)
        if not feed:
            continue
        yield b"".join(held), waiting + 1
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield line, len(line) + 1
        held, waiting = [rest], len(rest)
    if waiting:
        yield b"", -waiting


def forward(fs: FileSystem, path: str, end: int) -> Iterator[bytes]:
    """The commits of a segment up to ``end``, oldest first, in bounded memory. Sums were checked before."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        yield from _commits(fs, fd, end)
    finally:
        fs.close(fd)


def numbered(fs: FileSystem, path: str) -> Iterator[tuple[int, bytes]]:
    """The commits of a segment with the numbers of their lines, in bounded memory."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        lines = _lines(fs, fd, fs.stat_handle(fd).st_size)
        yield from ((number, line) for number, line in enumerate(lines, 1) if is_whole(line))
    finally:
        fs.close(fd)


def named(fs: FileSystem, root: str, paths: list[str], error: Newer) -> Newer:
    """The error with the file and the line that a later release wrote; itself if it is about no line."""
    for path in paths:
        fd = fs.open(path, os.O_RDONLY)
        try:
            for number, line in enumerate(_lines(fs, fd, fs.stat_handle(fd).st_size), 1):
                try:
                    codec.fault_of(line, None)
                except Newer as found:
                    return Newer(f"{os.path.relpath(path, root)}:{number}: {found.message}")
        finally:
            fs.close(fd)
    return error


def _commits(fs: FileSystem, fd: int, end: int) -> Iterator[bytes]:
    return filter(is_whole, _lines(fs, fd, end))


def _lines(fs: FileSystem, fd: int, end: int) -> Iterator[bytes]:
    return (line_of(piece) for piece, length in _pieces(fs, fd, 0, end) if length > 0)


def backward(fs: FileSystem, path: str, chunk: int = 1 << 16) -> Iterator[bytes]:
    """The commits of a segment, newest first, in bounded memory."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        position = fs.stat_handle(fd).st_size
        rest: list[bytes] = []
        """The parts of a line whose beginning is still to come, the last one first."""
        waiting = 0
        newest = True
        while position > 0:
            start = max(0, position - chunk)
            data = durable.read_range(fs, fd, start, position)
            position = start
            head, feed, data = data.partition(b"\n")
            if feed:
                *middle, last = data.split(b"\n")
                # What follows the last line feed is not a line, and one that is too long is no commit.
                if not newest and waiting <= _LONGEST:
                    middle.append(b"".join([last, *reversed(rest)]))
                yield from filter(is_whole, map(line_of, reversed(middle)))
                newest = False
                rest, waiting = [], 0
            waiting += len(head)
            if not newest and waiting <= _LONGEST:
                rest.append(head)
        if not newest and waiting <= _LONGEST and is_whole(line := line_of(b"".join(reversed(rest)))):
            yield line
    finally:
        fs.close(fd)


def is_whole(line: bytes) -> bool:
    """Whether a line holds a commit, judged by the line alone."""
    return codec.looks_right(line) and codec.fault_of(line, None) is None


def whole_lines(data: bytes) -> list[bytes]:
    """The commits in a segment's bytes, whatever else is between them."""
    return [line for piece in data.split(b"\n") if is_whole(line := line_of(piece))]


def ids_in(data: bytes) -> set[str]:
    """The ids of the commits in a segment's bytes."""
    return set(map(codec.id_of, whole_lines(data)))


def union(stream: str, name: str, versions: Iterable[bytes]) -> bytes:
    """All commits of several versions of a segment, each once, in canonical order."""
    found: dict[str, bytes] = {}
    for data in versions:
        for line in whole_lines(data):
            found.setdefault(codec.id_of(line), line)
    lines = (shifted(stream, name, found[commit_id]) for commit_id in sorted(found))
    return b"".join(line + b"\n" for line in lines)


def rechained(stream: str, name: str, data: bytes) -> bytes:
    """The commits of whole lines, each chained to the one that is now before it: nothing is missing between them."""
    found, previous = [], codec.GENESIS
    for line in whole_lines(data):
        again, previous = codec.rechained(line, previous)
        found.append(shifted(stream, name, again[:-1]) + b"\n")
    return b"".join(found)


def merged(parts: list[Iterator[bytes]], *, newest_first: bool = False) -> Iterator[bytes]:
    """Several segments as one stream in canonical order; a commit that two of them hold comes once."""
    before = ""
    for line in heapq.merge(*parts, key=codec.id_of, reverse=newest_first):
        commit_id = codec.id_of(line)
        if commit_id != before:
            yield line
        before = commit_id
