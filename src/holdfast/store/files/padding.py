"""Spaces and blanks in the lines of a segment, which are there for git alone (docs/decisions/0012-padding.md).

Git takes a new file for a removed one under another name if half of its pieces are the same. More than half of every
line is its own: a short one by its id, time and sum, a long one by blanks that follow from its segment and its commit.
"""

from __future__ import annotations

from functools import lru_cache

from holdfast.core import codec
from holdfast.core.hashing import blake2b

CR = b"\r"
"""A line never ends in one, so a conversion to CRLF is undone by taking it away."""
SPACE = b" "
TAB = b"\t"
BLANKS = SPACE + TAB
OPEN, SHIFTED = b"{", b"{ "
LONG = 280
"""Up to that length more than half of a line is its own: its id and its time, each in a piece of 64 bytes, and its sum.
A longer line is filled up with blanks of its own until at most two fifths of it can be found anywhere else."""
VERY_LONG = 4000
"""Up to that length the blanks stand behind what people read."""
_PIECE = 64
_DRAWN = 4096
"""Blanks that are drawn for a segment."""


def line_of(piece: bytes) -> bytes:
    """The line in a piece of a segment between two line feeds: without the blanks that are there for git alone."""
    line = piece.removesuffix(CR).lstrip(SPACE)
    if line.startswith(SHIFTED):
        line = OPEN + line[1:].lstrip(SPACE)
    start, end = codec.BY_AT, -codec.TAIL_LENGTH
    if line[end - 1 : end] in (SPACE, TAB):
        line = line[:end].rstrip(BLANKS) + line[end:]
    return line[:start] + line[start:].lstrip(BLANKS) if line[start : start + 1] in (SPACE, TAB) else line


def pad_line(name: str, commit_id: str, opening: bytes, body: bytes, end: bytes) -> bytes:
    """The line of a commit (up to its sum, and the rest) as it stands in the segment of that name, whose lines begin in
    a known way."""
    length = len(body) + codec.TAIL_LENGTH
    if length <= LONG:
        return opening + body[1:] + end
    drawn = _drawn(name)
    first = int(commit_id[9:12], 16)
    last = first + _PIECE + (length - LONG) * 3 // 2
    if last > len(drawn):
        drawn *= last // _DRAWN + 1
    if length <= VERY_LONG:
        return opening + body[1:] + drawn[first:last] + end
    # Of a file with many pieces, libgit2 takes more samples from the beginning: so there, in a very long line.
    return b"".join([opening, body[1 : codec.BY_AT], drawn[first:last], body[codec.BY_AT :], end])


def blanks_in(length: int) -> int:
    """How many blanks a line of that length has in a segment."""
    return _PIECE + (length - LONG) * 3 // 2 if length > LONG else 0


@lru_cache(maxsize=16)  # a handle writes many lines to one segment
def _drawn(name: str) -> bytes:
    """The blanks of a segment, twice over: every line has some of them, from a place on that follows from its commit.

    16 have one tab, at a place that is drawn: more of them would be hard to look at. Git knows 107,927 numbers for
    pieces, so two pieces of different segments get the same one now and then, but not half of those in a line.
    """
    sixteen = [SPACE * place + TAB + SPACE * (15 - place) for place in range(16)]
    digests = b"".join([blake2b(f"{name}/{number}".encode()).digest() for number in range(2)])
    return 2 * b"".join([sixteen[byte >> 4] + sixteen[byte & 15] for byte in digests])
