"""Spaces and blanks in the lines of a segment, which are there for git alone (docs/decisions/0023-unlike-segments.md).

Git takes a new file for a removed one under another name if half of its pieces are the same. More than half of every
line is its own: a short one by its id, time and sum, a long one by blanks that follow from its segment and its commit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from holdfast.core import commit as codec
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
_PIECE, _GROUP = 64, 2048


def line_of(piece: bytes) -> bytes:
    """The line in a piece of a segment between two line feeds: without the blanks that are there for git alone."""
    line = piece.removesuffix(CR).lstrip(SPACE)
    if line.startswith(SHIFTED):
        line = OPEN + line[1:].lstrip(SPACE)
    start, end = codec.BY_AT, -codec.TAIL_LENGTH
    if line[end - 1 : end] in (SPACE, TAB):
        line = line[:end].rstrip(BLANKS) + line[end:]
    return line[:start] + line[start:].lstrip(BLANKS) if line[start : start + 1] in (SPACE, TAB) else line


def laid_out(key: str, opening: bytes, line: bytes) -> bytes:
    """A line, with its line feed or without, as it stands in a segment whose lines begin in a known way. The key says
    which line of which segment it is: ``<name of the segment>/<id of the commit>``."""
    length = len(line) - line.endswith(b"\n")
    if length <= LONG:
        return opening + line[1:]
    # Of a file with many pieces, libgit2 takes more samples from the beginning: so there, in a very long line.
    place = length - codec.TAIL_LENGTH if length <= VERY_LONG else codec.BY_AT
    return opening + line[1:place] + _drawn(key, (length - LONG) * 3 // 2) + line[place:]


def blanks_in(length: int) -> int:
    """How many blanks a line of that length has in a segment."""
    return _PIECE + (length - LONG) * 3 // 2 if length > LONG else 0


def _drawn(key: str, length: int) -> bytes:
    """Blanks that no other line has: a piece in which each one is drawn, then so many in groups of 32 pieces that come
    again and again.

    Git knows 107,927 numbers for pieces, so two pieces get the same one now and then, but not several in one line.
    libgit2 takes samples, so the more blanks, the more groups.
    """
    eight, pair = _tables()
    digest = blake2b(key.encode()).digest()
    first = b"".join(map(eight, digest[:8]))
    if length <= _GROUP:
        return first + b"".join(map(pair, digest[: length // 32 + 1]))[:length]
    for number in range(1, min(length // 8192 + 1, 256)):
        digest += blake2b(f"{key}/{number}".encode()).digest()
    groups = b"".join(map(pair, digest))
    return first + (groups * (length // len(groups) + 1))[:length]


@cache  # made for the first long line: most commands write none
def _tables() -> tuple[Callable[[int], bytes], Callable[[int], bytes]]:
    """For a byte 8 blanks, one for each bit; and 32 with a tab for each half of the byte: more of them would be hard to
    look at."""
    sixteen = [b" " * place + TAB + b" " * (15 - place) for place in range(16)]
    eight = [f"{byte:08b}".encode().translate(_BLANK) for byte in range(256)]
    pair = [sixteen[byte >> 4] + sixteen[byte & 15] for byte in range(256)]
    return eight.__getitem__, pair.__getitem__


_BLANK = bytes.maketrans(b"01", BLANKS)
