"""Reading segments: lines, marks, faults, and the canonical order over several of them.

A segment is ``events/<stream>/<writer>-<n>.<tag of the stream>.jsonl``. Its lines are chained, its ids increase. A
reader keeps a mark per segment and reads only what follows it.
"""

from __future__ import annotations

import os
import time
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
"""Segments are separate from a session's other files: git detects a folder rename if its files resemble new ones
elsewhere, as the views of two sessions do, and then moves what others add below it."""
TAG_LENGTH = 6
JOINED = "0" * ids.WRITER_LENGTH
"""Replaces the writer in the name of a segment that archiving joined from all others."""
CHUNK = 1 << 17
"""Bytes per read: larger buffers are mapped and unmapped on every read."""
_LONGEST = 4 * codec.MAX_LINE
"""The most bytes of one line that are kept in memory: more than any commit has with its padding."""
FIRST, SHIFTS = 15, 24
"""After the opening brace of a line come 15 to 38 spaces, in a joined segment 39 to 62. Git compares files in chunks
of 64 bytes from the start of each line, libgit2 in chunks of 80: the same text in another column gives different
chunks, so they never match a removed segment with a new one. In these columns the first chunk contains the clock of
the id, the second the end of the time. Not before the line: libgit2 ignores spaces there."""
FULL = 1 << 20
"""A segment of that many bytes gets no more lines in a git repository: git considers files of more than 7 MB
similar, whatever they hold. Elsewhere it keeps growing, since a stream of one segment is the fastest to open."""
STUB = "archived"
"""A stub that stays in each folder of an archived session: no folder vanishes, so git does not detect archiving as
a folder rename and move what others add there."""


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
    """The checksum that the next line is chained to; empty if the last line was unreadable or a repeated commit."""
    changed: int
    """Modification time in ns when it was read: a different time means that it must be verified again; 0 if unknown."""


class Trouble(Record):
    """A damaged line."""

    line: int
    what: str
    kept: bool
    """The commit in the line is complete and is used anyway."""


class Part(Record):
    """What was read from one segment after a mark."""

    mark: Mark
    good: Mark
    """The mark after the last line that holds a commit for the first time: ``mark`` unless the end is damaged. Old
    bytes, which truncation can leave in the file, may contain complete lines."""
    lines: list[bytes]
    troubles: list[Trouble]
    ordered: bool
    """The ids increase from line to line, as in every segment that only its writer touched."""
    torn: int
    """Bytes after the last line feed: a write in progress, or a torn tail."""
    damaged: int = 0
    """Lines that hold no commit; ``troubles`` names only the first of them."""


UNREAD = Mark(0, 0, 0, "", "", codec.GENESIS, 0)


def writer_of(name: str) -> str:
    return name[: ids.WRITER_LENGTH]


def number_of(name: str) -> int:
    return int(name[ids.WRITER_LENGTH + 1 :].partition(".")[0])


def tag_in(name: str) -> str:
    """The stream tag in a segment's name."""
    return name[ids.WRITER_LENGTH + 1 : -len(SUFFIX)].partition(".")[2]


@lru_cache(maxsize=256)
def tag_of(stream: str) -> str:
    """A few characters that identify a stream in the names of its segments."""
    digest = blake2b(stream.encode(), digest_size=8).digest()
    return ids.random_text(int.from_bytes(digest, "big"), TAG_LENGTH)


def name_of(stream: str, writer: str, number: int) -> str:
    return f"{writer}-{number}.{tag_of(stream)}{SUFFIX}"


def is_segment(name: str) -> bool:
    """Whether a file is a segment, of any stream."""
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
    """Whether a file is a segment of this stream: it may be another stream's, in the wrong folder."""
    return is_segment(name) and tag_in(name) == tag_of(stream)


def opening_of(stream: str, name: str) -> bytes:
    """The start of every line of a segment: its number of spaces differs from the 23 segments before and after it."""
    (first,) = blake2b(f"{stream}/{writer_of(name)}".encode(), digest_size=1).digest()
    return OPEN + SPACE * (FIRST + (first + number_of(name)) % SHIFTS)


def same_column(stream: str, one: str, other: str) -> bool:
    """Whether the same lines would be in the same column in two segments of a stream."""
    return opening_of(stream, one) == opening_of(stream, other)


def in_column(stream: str, name: str, line: bytes) -> bytes:
    """A line as written in a segment. In a joined one it gets a column of its own, so that no other file with the
    same commits is similar, however many there are."""
    commit_id = codec.id_of(line)
    sum_at = -codec.TAIL_LENGTH - line.endswith(b"\n")
    if name.startswith(JOINED):
        (drawn,) = blake2b(f"{name}/{commit_id}".encode(), digest_size=1).digest()
        opening = OPEN + SPACE * (FIRST + SHIFTS + drawn % SHIFTS)
    else:
        opening = opening_of(stream, name)
    return pad_line(name, commit_id, opening, line[:sum_at], line[sum_at:])


def folder_of(root: str, stream: str) -> str:
    """The folder of a stream's segments."""
    return os.path.join(root, EVENTS, *stream.split("/"))


def archive_of(root: str, stream: str) -> str:
    """The archive folder of a session, by the month of its id; empty for other streams."""
    kind, _, name = stream.partition("/")
    if kind != "sessions":
        return ""
    session = name.rpartition("/")[2]
    return os.path.join(root, "history", session[:7], session)


def joined_of(root: str, stream: str) -> str:
    """The folder of an archived session's segments; empty for other streams."""
    archive = archive_of(root, stream)
    return archive and os.path.join(root, EVENTS, os.path.relpath(archive, root))


def folders_of(root: str, stream: str) -> list[str]:
    """All folders with files of a stream."""
    files = os.path.join(root, *stream.split("/"))
    found = [files, folder_of(root, stream), archive_of(root, stream), joined_of(root, stream)]
    return [folder for folder in found if folder]


MOST_TROUBLES = 20
"""The most lines of a segment that are named as damaged; one more entry says how many there are besides."""
_SHORTEST = codec.TAIL_LENGTH + codec.BY_AT
"""No line of a commit is as short."""


class Chain:
    """Verifies a segment's lines one by one and says which ones hold a commit."""

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
        self.unnamed = 0
        """Lines that are used, but do not follow the one before them, and are not named."""

    def take_garbage(self, pieces: list[bytes], number: int) -> None:
        """Lines, before the line ``number``, that are too short for a commit. Millions of them cost little more than
        counting."""
        number -= len(pieces)
        named = max(0, MOST_TROUBLES + 1 - len(self.troubles))
        for index, piece in enumerate(pieces[:named], 1):
            self.take(line_of(piece), number + index)
        self.sum = None
        self.damaged += len(pieces[named:])

    def take(self, line: bytes, number: int) -> bool:
        """Whether the line holds a commit; problems are added to ``troubles``."""
        following = codec.verify_chained(line, self.sum) if self.sum else None
        if following is None and not self._is_usable(line, number):
            self.sum = None
            return False
        self.sum = following or codec.sum_of(line)
        commit_id = codec.id_of(line)
        if commit_id >= ids.SURELY_PAST and is_too_late(commit_id):
            self._name(number, ids.TOO_LATE, kept=False)
            return False
        self.lines += 1
        self.rising = commit_id > self.last
        if self.rising:
            self.last = commit_id
            self.first = self.first or commit_id
        else:
            self.ordered = False
            self.first = min(self.first, commit_id)
        return True

    def _is_usable(self, line: bytes, number: int) -> bool:
        """Whether a line that is not chained to the one before it holds a commit anyway."""
        what = codec.fault_of(line, self.sum)
        if what is None:
            return True  # the line before is unreadable
        whole = is_whole(line)
        self._name(number, what, kept=whole)
        return whole

    def _name(self, number: int, what: str, *, kept: bool) -> None:
        self.damaged += not kept
        if len(self.troubles) <= MOST_TROUBLES:
            self.troubles.append(Trouble(number, what, kept=kept))
        else:
            self.unnamed += kept

    def named(self) -> list[Trouble]:
        """The troubles; if there are too many, the last one stands for all that follow."""
        if len(self.troubles) <= MOST_TROUBLES:
            return self.troubles
        *first, last = self.troubles
        lost = self.damaged - sum(not trouble.kept for trouble in first)
        kept = self.unnamed + last.kept
        what = ", ".join(
            [
                *([f"{lost:,} more lines from here on hold no commit"] if lost else []),
                *([f"{kept:,} more lines from here on do not follow the one before them"] if kept else []),
            ]
        )
        return [*first, Trouble(last.line, what, kept=not lost)]


def read_part(fs: FileSystem, path: str, mark: Mark, *, collect: bool = True) -> Part:
    """The part of a segment after a mark, with its checksums verified. ``collect`` False: count, do not collect."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        found = fs.stat_handle(fd)
        return read_open_part(fs, fd, mark, found.st_size, found.st_mtime_ns, collect=collect)
    finally:
        fs.close(fd)


def read_open_part(
    fs: FileSystem, fd: int, mark: Mark, size: int, changed: int, *, collect: bool = True
) -> Part:
    """``read_part`` on an open handle, up to ``size``."""
    chain = Chain(mark)
    lines: list[bytes] = []
    number = mark.rows
    offset = mark.offset
    good_offset, good_rows, good_sum = mark.offset, mark.rows, mark.sum
    doubtful: list[tuple[int, int, bytes]] = []
    """Commits at the end that are out of order, and may be duplicates."""
    torn = 0
    for piece, length, short in _pieces(fs, fd, offset, size):
        if length < 0:
            torn = -length
            break
        number += len(short) or 1
        offset += length
        if short:
            chain.take_garbage(short, number)
            continue
        line = line_of(piece)
        if chain.take(line, number):
            if chain.rising:
                good_offset, good_rows, good_sum = offset, number, chain.sum or ""
                doubtful.clear()
            else:
                doubtful.append((offset, number, line))
            if collect:
                lines.append(line)
    if doubtful:
        seen = ids_before(fs, fd, good_offset)
        for end, row, line in doubtful:
            if codec.id_of(line) not in seen:
                good_offset, good_rows, good_sum = end, row, codec.sum_of(line)
                seen.add(codec.id_of(line))
    last_sum = chain.sum if chain.sum and good_offset == offset else ""
    new = Mark(offset, number, chain.lines, chain.first, chain.last, last_sum, changed)
    good = new._replace(offset=good_offset, rows=good_rows, sum=good_sum)
    return Part(new, good, lines, chain.named(), chain.ordered, torn, chain.damaged)


class ChainedPart(Record):
    """A segment up to its first fault."""

    end: int
    sum: str
    """Of the last line before the end."""
    ids: set[str]
    """Of the lines that were verified."""


def chained_part(fs: FileSystem, fd: int, start: int, size: int) -> ChainedPart:
    """The part of a segment in which every line follows the one before it. What precedes ``start``, the end of a line,
    is known to be on the disk: reading starts there if that line is readable."""
    before = durable.read_range(fs, fd, max(0, start - CHUNK), min(start, size))
    line = line_of(before[:-1].rpartition(b"\n")[2])
    end, line_sum, last = 0, codec.GENESIS, ""
    if start <= size and before.endswith(b"\n") and is_whole(line):
        end, line_sum, last = start, codec.sum_of(line), codec.id_of(line)
    found: set[str] = set()
    for piece, length, short in _pieces(fs, fd, end, size):
        line = line_of(piece)
        if length < 0 or short or codec.fault_of(line, line_sum) is not None or codec.id_of(line) <= last:
            break
        end, line_sum, last = end + length, codec.sum_of(line), codec.id_of(line)
        found.add(last)
    return ChainedPart(end, line_sum, found)


_Piece = tuple[bytes, int, list[bytes]]


def _pieces(fs: FileSystem, fd: int, start: int, end: int) -> Iterator[_Piece]:
    """The lines of a file from ``start``, each with its length in the file including the line feed. What follows the
    last line feed comes last, empty, with a negative length. An overlong line is cut to its beginning. Consecutive
    lines that are too short for a commit come as one list, with their length altogether."""
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
        yield b"".join(held), waiting + 1, []
        *lines, rest = data.split(b"\n")
        lengths = list(map(len, lines))
        done = 0
        long = (index for index, length in enumerate(lengths) if length >= _SHORTEST)
        for index in long if max(lengths, default=0) >= _SHORTEST else ():
            if done < index:
                yield _short(lines[done:index])
            yield lines[index], len(lines[index]) + 1, []
            done = index + 1
        if done < len(lines):
            yield _short(lines[done:])
        held, waiting = [rest], len(rest)
    if waiting:
        yield b"", -waiting, []


def _short(lines: list[bytes]) -> _Piece:
    return b"", sum(map(len, lines)) + len(lines), lines


def forward(fs: FileSystem, path: str, end: int) -> Iterator[bytes]:
    """The commits of a segment up to ``end``, oldest first, in bounded memory. Checksums were verified before."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        yield from _commits(fs, fd, end)
    finally:
        fs.close(fd)


def numbered(fs: FileSystem, path: str) -> Iterator[tuple[int, bytes]]:
    """The commits of a segment with their line numbers, in bounded memory."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        number = 0
        for piece, _, short in _pieces(fs, fd, 0, fs.stat_handle(fd).st_size):
            number += len(short) or 1
            if not short and is_whole(line := line_of(piece)):
                yield number, line
    finally:
        fs.close(fd)


def named(fs: FileSystem, root: str, paths: list[str], error: Newer) -> Newer:
    """The error with the file and line that a later release wrote; unchanged if it is not about a line."""
    for path in paths:
        fd = fs.open(path, os.O_RDONLY)
        try:
            for number, line in enumerate(map(line_of, _every(fs, fd, fs.stat_handle(fd).st_size)), 1):
                try:
                    codec.fault_of(line, None)
                except Newer as found:
                    return Newer(f"{os.path.relpath(path, root)}:{number}: {found.message}")
        finally:
            fs.close(fd)
    return error


def _commits(fs: FileSystem, fd: int, end: int) -> Iterator[bytes]:
    lines = (line_of(piece) for piece, length, short in _pieces(fs, fd, 0, end) if length > 0 and not short)
    return filter(is_whole, lines)


def _every(fs: FileSystem, fd: int, end: int) -> Iterator[bytes]:
    for piece, length, short in _pieces(fs, fd, 0, end):
        if length > 0:
            yield from short or [piece]


def backward(fs: FileSystem, path: str, chunk: int = 1 << 16) -> Iterator[bytes]:
    """The commits of a segment, newest first, in bounded memory."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        position = fs.stat_handle(fd).st_size
        rest: list[bytes] = []
        """The parts of a line whose beginning is still to come, last one first."""
        waiting = 0
        newest = True
        while position > 0:
            start = max(0, position - chunk)
            data = durable.read_range(fs, fd, start, position)
            position = start
            head, feed, data = data.partition(b"\n")
            if feed:
                *middle, last = data.split(b"\n")
                # What follows the last line feed is not a line, and an overlong line is not a commit.
                if not newest and waiting <= _LONGEST:
                    middle.append(b"".join([last, *reversed(rest)]))
                yield from _whole(reversed(middle))
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
    """Whether a line holds a commit, from the line alone."""
    if not codec.looks_right(line) or codec.fault_of(line, None) is not None:
        return False
    commit_id = codec.id_of(line)
    return commit_id < ids.SURELY_PAST or not is_too_late(commit_id)


def is_too_late(commit_id: str) -> bool:
    """Whether no clock can be the reason for an id."""
    return ids.is_too_late(commit_id, time.time() * 1000)


def ids_before(fs: FileSystem, fd: int, end: int) -> set[str]:
    """The ids of the commits of a segment up to ``end``."""
    return set(map(codec.id_of, _commits(fs, fd, end)))


def whole_lines(data: bytes) -> list[bytes]:
    """The commits in a segment's bytes, ignoring everything between them."""
    return list(_whole(data.split(b"\n")))


def _whole(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that hold a commit. Most garbage is told by its length."""
    return filter(is_whole, map(line_of, [piece for piece in pieces if len(piece) >= _SHORTEST]))


def ids_in(data: bytes) -> set[str]:
    """The ids of the commits in a segment's bytes."""
    return set(map(codec.id_of, whole_lines(data)))


def union(stream: str, name: str, versions: Iterable[bytes]) -> bytes:
    """All commits of several versions of a segment, each once, in canonical order."""
    found: dict[str, bytes] = {}
    for data in versions:
        for line in whole_lines(data):
            found.setdefault(codec.id_of(line), line)
    lines = (in_column(stream, name, found[commit_id]) for commit_id in sorted(found))
    return b"".join(line + b"\n" for line in lines)


def rechained(stream: str, name: str, lines: list[bytes], previous: str = codec.GENESIS) -> bytes:
    """Whole lines, each rechained to the line now before it, the first to the one with the sum ``previous``."""
    found = []
    for line in lines:
        again, previous = codec.rechained(line, previous)
        found.append(in_column(stream, name, again[:-1]) + b"\n")
    return b"".join(found)


def merged(parts: list[Iterator[bytes]], *, newest_first: bool = False) -> Iterator[bytes]:
    """Several segments as one stream in canonical order, without duplicate commits."""
    import heapq  # not needed where a stream is read in one pass

    before = ""
    for line in heapq.merge(*parts, key=codec.id_of, reverse=newest_first):
        commit_id = codec.id_of(line)
        if commit_id != before:
            yield line
        before = commit_id
