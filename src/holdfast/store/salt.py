"""Salt for lines that repeat themselves, so that git does not find them alike.

Git compares files in pieces of 64 bytes. In a rule of hundreds of ``=``, in a list of zeros, or in a log in which one
line comes again and again, the pieces are the same in whatever column the text begins. So where a line repeats what it
has said before, some characters are written by their number, as ``\\u003d``, or a space follows a comma: the same JSON
in other bytes. Which ones follows from the segment and the commit. A reader turns them back.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import count

from holdfast.core import commit as codec
from holdfast.core.hashing import blake2b
from holdfast.store.segments import SALTED
from holdfast.typed import Record

_PIECE = 64
_NEAR = 4096
"""How far back a line is searched for what it says again."""
_SAMPLES = 16
"""So many pieces of a line are looked at first: if none is repeated, not half of all are."""
_APART = 16
"""At most that many characters are between two grains."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[ \t]+')
_ESCAPE = re.compile(rb"\\(?:u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9a-f]{4})|.)")


class Grain(Record):
    """What is written otherwise: bytes of the line from a place on, and what stands for them."""

    place: int
    width: int
    text: bytes


def salted(line: bytes, key: bytes) -> bytes:
    """The line with grains where it repeats itself; if it hardly does, the line itself.

    It begins with its brace, and has spaces nowhere but behind that and in its texts.
    """
    # The first piece has the id, the last ones have the sum.
    pieces = range(_PIECE, len(line.rstrip(b"\n")) - 2 * _PIECE, _PIECE)
    if not any(_is_repeated(line, at) for at in pieces[:: 1 + len(pieces) // _SAMPLES]):
        return line
    texts, draws = _Texts(line), _draws(key)
    parts, done = [SALTED], 1
    for start in pieces:
        if not _is_repeated(line, start):
            continue
        plain = texts.is_plain(start)
        place = max(start, done) + next(draws)
        while place < start + _PIECE:
            if plain:
                parts += (line[done:place], _NUMBERS[line[place]])
                done = place = place + 1
            elif (grain := texts.grain(place)) is not None and grain.place >= done:
                parts += (line[done : grain.place], grain.text)
                done = place = grain.place + grain.width
            place += 1 + next(draws)
    return b"".join(parts) + line[done:]


def _is_repeated(line: bytes, at: int) -> bool:
    """Whether the piece here is already in the line, not far before."""
    return line.find(line[at : at + _PIECE], max(0, at - _NEAR), at + _PIECE - 1) >= 0


def _draws(key: bytes) -> Iterator[int]:
    """Numbers below ``_APART`` that follow from the key, as many as are wanted."""
    for number in count():
        for byte in blake2b(b"%d/%b" % (number, key), digest_size=64).digest():
            yield byte % _APART


_NUMBERS = [b"\\u%04x" % number for number in range(128)]


class _Texts:
    """Where the texts of a line are, and the escapes in them."""

    def __init__(self, line: bytes) -> None:
        self._line = line
        texts = [found.span() for found in _TOKEN.finditer(line) if found[0][:1] == b'"']
        self._borders = [border for start, end in texts for border in (start + 1, end - 1)]
        self._escapes = [found.span() for found in _ESCAPE.finditer(line)]

    def is_plain(self, start: int) -> bool:
        """Whether a piece is in the midst of a text, and nothing but letters of ASCII."""
        piece = self._line[start - len("\\u0000") : start + _PIECE]
        inside = bisect_right(self._borders, start) % 2 == 1
        return inside and piece.isascii() and b'"' not in piece and b"\\" not in piece

    def grain(self, place: int) -> Grain | None:
        """The character here by its number, or a space behind a comma between values; None if neither can be."""
        byte = self._line[place]
        if bisect_right(self._borders, place) % 2 == 0:
            return Grain(place, 1, b", ") if byte == ord(",") else None
        before = bisect_right(self._escapes, (place, len(self._line))) - 1
        if before >= 0 and place < self._escapes[before][1]:
            place, end = self._escapes[before]
            if end - place > 2:
                return None  # a control character, which is always written so
            character = json.loads(b'"%b"' % self._line[place:end])
            return Grain(place, 2, b"\\u%04x" % ord(character))
        if 0x80 <= byte < 0xC0:
            return None  # inside of a character
        width = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        units = self._line[place : place + width].decode().encode("utf-16-be").hex()
        numbers = (units[at : at + 4].encode() for at in range(0, len(units), 4))
        return Grain(place, width, b"".join(b"\\u%b" % number for number in numbers))


def unsalted(line: bytes) -> bytes:
    """The line as it was, without spaces behind its brace."""
    try:
        record = json.loads(line)
        plain = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        plain = b""
    # Nearly always that is the line. Not if a number was written in another way than here: then only the salt goes.
    return plain if codec.looks_right(plain) and not codec.fault_of(plain, None) else _TOKEN.sub(_plain, line)


def _plain(token: re.Match[bytes]) -> bytes:
    if token[0][:1] != b'"':
        return b""
    return _ESCAPE.sub(_character, token[0]) if b"\\u" in token[0] else token[0]


def _character(escape: re.Match[bytes]) -> bytes:
    """An escape as every line has it: numbers only for control characters without a name of their own."""
    if not escape[1]:
        return escape[0]
    try:
        return json.dumps(json.loads(b'"%b"' % escape[0]), ensure_ascii=False)[1:-1].encode()
    except UnicodeEncodeError:
        return escape[0]  # half of a surrogate pair: no salt of ours
