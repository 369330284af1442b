"""Spaces and blanks in the lines of a segment, which are there for git alone (docs/decisions/0023-unlike-segments.md).

Git takes a new file for a removed one under another name if half of its pieces are the same. More than half of every
line is its own: a short one by its id, time and sum, a long one by blanks that follow from its segment and its commit.
"""

from __future__ import annotations

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


def laid_out(name: str, opening: bytes, line: bytes) -> bytes:
    """A line as it stands in a segment whose lines begin in a known way."""
    whole = line.rstrip(b"\n")
    blanks = blanks_in(len(whole))
    if not blanks:
        return opening + line[1:]
    # Of a file with many pieces, libgit2 takes more samples from the beginning: so there, in a very long line.
    place = len(whole) - codec.TAIL_LENGTH if len(whole) <= VERY_LONG else codec.BY_AT
    return opening + line[1:place] + _drawn(f"{name}/{codec.id_of(line)}", blanks) + line[place:]


def blanks_in(length: int) -> int:
    """How many blanks a line of that length has in a segment."""
    return _PIECE + (length - LONG) * 3 // 2 if length > LONG else 0


def _drawn(key: str, length: int) -> bytes:
    """Blanks that no other line has: a piece in which each one is drawn, then groups of 32 that come again and again.

    Git knows 107,927 numbers for pieces, so two pieces get the same one now and then, but not several in one line.
    libgit2 takes samples, so the more blanks, the more groups.
    """
    bits = int.from_bytes(blake2b(key.encode(), digest_size=_PIECE // 8).digest(), "big")
    first = f"{bits:064b}".encode().translate(_BLANK)
    length -= _PIECE
    if length <= _GROUP:
        return first + _group(f"{key}/0", length)
    groups = b"".join([_group(f"{key}/{number}") for number in range(min(length // 8192 + 1, 256))])
    return first + (groups * (length // len(groups) + 1))[:length]


def _group(key: str, length: int = _GROUP) -> bytes:
    """Up to 32 pieces. For half a byte 16 blanks, one of them a tab: more of them would be hard to look at."""
    digits = blake2b(key.encode(), digest_size=64).hexdigest()[: length // 16 + 1]
    return "".join([_BY_DIGIT[digit] for digit in digits])[:length].encode()


_BLANK = bytes.maketrans(b"01", BLANKS)
_BY_DIGIT = {f"{place:x}": " " * place + "\t" + " " * (15 - place) for place in range(16)}
