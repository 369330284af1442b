"""Padding in the lines of a segment, against git's rename detection (docs/decisions/0012-padding.md).

Git detects a rename if half of a new file's chunks occur in a removed one. More than half of every usual line is
unique: a short line by its id, time and checksum, a longer one by padding derived from its segment and its commit.
Padding is bounded: in even longer lines, the same text is split into different chunks because it begins in another
column.
"""

from __future__ import annotations

from functools import lru_cache

from holdfast.core import codec
from holdfast.core.hashing import blake2b

CR = b"\r"
"""A line never ends in one, so stripping it undoes a conversion to CRLF."""
SPACE = b" "
TAB = b"\t"
BLANKS = SPACE + TAB
OPEN, SHIFTED = b"{", b"{ "
LONG = 280
"""Up to this length more than half of a line is unique: its id and its time, each in a 64-byte chunk, and its
checksum. A longer line gets padding until less than half of it can occur elsewhere."""
MOST = 1024
"""Bytes of padding in a line."""
COVERED = 1200
"""Up to this length the padding is enough."""
_PIECE = 64
_SHIFTS = 80
"""Git compares files in chunks of 64 bytes from the start of each line, libgit2 in chunks of 80."""


def line_of(piece: bytes) -> bytes:
    """The line between two line feeds of a segment, without its padding."""
    line = piece.removesuffix(CR).lstrip(SPACE)
    if line.startswith(SHIFTED):
        line = OPEN + line[1:].lstrip(SPACE)
    start, end = codec.BY_AT, -codec.TAIL_LENGTH
    if line[end - 1 : end] in (SPACE, TAB):
        line = line[:end].rstrip(BLANKS) + line[end:]
    return line[:start] + line[start:].lstrip(BLANKS) if line[start : start + 1] in (SPACE, TAB) else line


def pad_line(name: str, commit_id: str, opening: bytes, body: bytes, end: bytes) -> bytes:
    """The line of a commit (up to its checksum, and the rest) as written to the segment of that name, whose lines
    share an opening."""
    length = len(body) + codec.TAIL_LENGTH
    if length <= LONG:
        return opening + body[1:] + end
    drawn = _drawn(name)
    first = int(commit_id[9:12], 16)
    last = first + padding_in(length)
    if length <= COVERED:
        return opening + body[1:] + drawn[first:last] + end
    # The shift depends on the commit alone: a copy of it in another segment still begins in another column.
    shift, at = first % _SHIFTS, codec.BY_AT
    return b"".join([opening, body[1:at], SPACE * shift, body[at:], drawn[first : last - shift], end])


def padding_in(length: int) -> int:
    """How many bytes of padding a line of that length gets."""
    return min(_PIECE + (length - LONG) * 5 // 4, MOST) if length > LONG else 0


@lru_cache(maxsize=16)  # a handle writes many lines to one segment
def _drawn(name: str) -> bytes:
    """The padding of a segment, twice over: every line takes a part of it, from an offset derived from its commit.

    Each 16 bytes have one tab at a pseudorandom place: more would be hard to read. Git hashes chunks to 107,927
    numbers, so two chunks of different segments collide now and then, but never half of those in a line.
    """
    sixteen = [SPACE * place + TAB + SPACE * (15 - place) for place in range(16)]
    digests = b"".join([blake2b(f"{name}/{number}".encode()).digest() for number in range(2)])
    return 2 * b"".join([sixteen[byte >> 4] + sixteen[byte & 15] for byte in digests])
