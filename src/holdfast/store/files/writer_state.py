"""The note of a stream: what its writer remembers of it, at the beginning of the stream's lock file.

The segment that the writer appends to, and the highest clock and short numbers that it ever used, also on branches that
are not checked out. It is written under the lock and not synced: it is compared with the segment before it is used.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from zlib import crc32

from holdfast.core import ids
from holdfast.core.stream import flat
from holdfast.fs import durable
from holdfast.fs.port import FileSystem
from holdfast.typed import Any

try:
    from _struct import Struct  # ``struct`` is a file more to load, and has nothing else
except ImportError:  # an interpreter without the private module
    from struct import Struct

_NOTE = 1 << 16
_USUAL_NOTE = 1024
"""Bytes that hold nearly every note; of a longer one, its beginning."""
_GROWING = Struct("<QQQ32s25s")
"""The part that every commit changes: size, rows, safe, sum, clock."""
_BEGINNING = Struct(f"{_GROWING.format}I")
"""That part and its checksum, which goes on from the checksum of the rest: who knows the rest reads and writes no more
than this, and sees at once if it is another one."""
pack, unpack = _GROWING.pack, _BEGINNING.unpack_from
GROWING, BEGINNING = _GROWING.size, _BEGINNING.size
"""The lengths of the two."""
_LENGTH = Struct("<I")
"""Of the part that lasts, before it."""
UNKNOWN = b"?"
"""In the place of a note that nobody has looked at: it is like none."""
_encode = json.JSONEncoder(separators=(",", ":")).encode
_text = json.encoder.encode_basestring_ascii


class Memory:
    """What the writer remembers of one stream. Every commit changes the size and what goes with it, few the rest."""

    __slots__ = (
        "clock",
        "git_index",
        "highest",
        "lasting",
        "node",
        "numbers",
        "rows",
        "safe",
        "seed",
        "segment",
        "size",
        "sum",
        "token",
        "writer",
    )

    def __init__(
        self,
        writer: str,
        *,
        segment: int = 0,
        token: str = "",
        highest: int = 0,
        clock: str = ids.ZERO,
        numbers: dict[str, int] | None = None,
        git_index: str = "",
        node: int = 0,
    ) -> None:
        self.size = 0
        self.sum = ""
        self.rows = 0
        self.safe = 0
        """So many bytes of the segment are known to survive a power cut: they are on the disk in it, or in journals."""
        self.clock = clock
        """The latest id that it ever wrote."""
        self.writer = writer
        self.segment = segment
        """The number of the segment that it appends to; 0 for none; below 0 for one whose sync has failed."""
        self.highest = highest
        """The highest segment number that it ever used."""
        self.token = token
        """What git had checked out when the segment was opened."""
        self.numbers = numbers or {}
        self.git_index = git_index
        """What git's index was when the segment was last seen not to be in it."""
        self.node = node
        """The inode of the lock file that this was noted in: a note in another one was set back together with it."""
        self.lasting = b""
        """The rest of the note: all that a commit does not change; nothing until it was noted."""
        self.seed = 0
        """Its checksum."""

    def grow(self, length: int, line_sum: str, commit_id: str, safe: int) -> None:
        """One more line of the segment was written."""
        self.size += length
        self.rows += 1
        self.sum = line_sum
        self.clock = commit_id
        if safe > self.safe:
            self.safe = safe

    def follow(self, note: bytes) -> bool:
        """Take over what others noted since, if they have only written lines; otherwise nothing, and False. So it is
        also if the note is not whole: a power cut or a failed write can leave the beginning of one and the end of
        another."""
        if len(note) < BEGINNING or not self.lasting:
            return False
        size, rows, safe, line_sum, clock, checksum = unpack(note)
        if crc32(note[:GROWING], self.seed) != checksum:
            return False
        self.size, self.rows, self.safe = size, rows, safe
        self.sum, self.clock = line_sum.rstrip(b"\0").decode(), clock.decode()
        return True

    def but(self, **changes: Any) -> Memory:
        """The same but for some fields."""
        other = object.__new__(Memory)
        for name in self.__slots__:
            setattr(other, name, changes.get(name, getattr(self, name)))
        other.lasting = b""
        return other


def encode_memory(memory: Memory) -> bytes:
    """The fields that every commit changes, their checksum, those that stay, and last what may hold any text."""
    if not memory.lasting:
        texts = f'[{_text(memory.token)},{_encode(memory.numbers)},"{memory.git_index}"]'
        lasting = f"{memory.writer} {memory.segment} {memory.highest} {memory.node} {texts}\n"
        memory.lasting = lasting.encode()
        memory.seed = crc32(memory.lasting)
    line_sum, clock = memory.sum.encode(), memory.clock.encode()
    growing = pack(memory.size, memory.rows, memory.safe, line_sum, clock)
    checksum = crc32(growing, memory.seed).to_bytes(4, "little")
    return b"".join([growing, checksum, _LENGTH.pack(len(memory.lasting)), memory.lasting])


def decode_memory(note: bytes) -> Memory | None:
    """The memory in a lock file; None if there is none or it is damaged."""
    start = BEGINNING + _LENGTH.size
    if len(note) < start:
        return None
    (length,) = _LENGTH.unpack_from(note, BEGINNING)
    lasting = note[start : start + length]
    try:
        memory = Memory(**_lasting(lasting))
    except (ValueError, TypeError):
        return None
    memory.lasting, memory.seed = lasting, crc32(lasting)
    return memory if memory.follow(note) else None


@lru_cache(maxsize=8)  # the same in many notes in a row
def _lasting(data: bytes) -> dict[str, Any]:
    writer, segment, highest, node, texts = data.decode().split(" ", 4)
    token, numbers, index = json.loads(texts)
    return {
        "writer": writer,
        "segment": int(segment),
        "highest": int(highest),
        "node": int(node),
        "token": token,
        "numbers": numbers,
        "git_index": index,
    }


def remembered(fs: FileSystem, local: str, stream: str) -> Memory | None:
    """What the writer remembers of a stream, read without the lock: to be shown, not to be built on."""
    try:
        return decode_memory(durable.read_whole(fs, os.path.join(local, "locks", f"{flat(stream)}.lock")))
    except OSError:
        return None


def read_note(fs: FileSystem, lock_fd: int) -> bytes:
    note = fs.read(lock_fd, _USUAL_NOTE, 0)
    return note if len(note) < _USUAL_NOTE else fs.read(lock_fd, _NOTE, 0)
