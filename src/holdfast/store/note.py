"""The note of a stream: what its writer remembers of it, at the beginning of the stream's lock file.

The segment that the writer appends to, and the highest clock and short numbers that it ever used, also on branches that
are not checked out. It is written under the lock and not synced: it is compared with the segment before it is used.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from struct import Struct
from zlib import crc32

from holdfast.core import ids
from holdfast.core.stream import flat
from holdfast.fs import steps
from holdfast.fs.port import FileSystem
from holdfast.typed import Any

_NOTE = 1 << 16
_USUAL_NOTE = 1024
"""Bytes that hold nearly every note; of a longer one, its beginning."""
GROWING = Struct("<IIQQQQ32s25sH")
"""What every commit changes: the checksum of all that follows it, then mix, size, rows, safe, loud, sum, clock; and the
length of what lasts, which comes behind it."""
UNKNOWN = b"?"
"""In the place of a note that nobody has looked at: it is like none."""
CHECKED = 4
"""Where that begins which the checksum is of."""
_encode = json.JSONEncoder(separators=(",", ":")).encode
_text = json.encoder.encode_basestring_ascii


class Memory:
    """What the writer remembers of one stream. Every commit changes the size and what goes with it, few the rest."""

    __slots__ = (
        "clock",
        "extent",
        "git_index",
        "highest",
        "lasting",
        "loud",
        "mix",
        "node",
        "numbers",
        "rows",
        "safe",
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
        self.mix = 0
        """A number to which every line of the segment adds its id's checksum, wherever it began."""
        self.loud = 0
        """Behind so many bytes of the segment there are only quiet commits, and all of them are in ``mix``."""
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
        self.extent = 0
        """How long the note is."""

    def grow(self, length: int, line_sum: str, commit_id: str, safe: int, quiet: bool) -> None:
        """One more line of the segment was written."""
        self.size += length
        self.rows += 1
        self.sum = line_sum
        self.clock = commit_id
        self.mix = (self.mix + crc32(commit_id.encode())) & 0xFFFFFFFF
        if not quiet:
            self.loud = self.size
        if safe > self.safe:
            self.safe = safe

    def follow(self, note: bytes) -> bool:
        """Take over what others noted since, if they have only written lines; otherwise nothing, and False."""
        told = fields_of(note)
        if told is None or told[-1] != self.lasting:
            return False
        self.mix, self.size, self.rows, self.safe, self.loud, self.sum, self.clock, _ = told
        return True

    def but(self, **changes: Any) -> Memory:
        """The same but for some fields."""
        other = object.__new__(Memory)
        for name in self.__slots__:
            setattr(other, name, changes.get(name, getattr(self, name)))
        other.lasting = b""
        return other


def encode_memory(memory: Memory) -> bytes:
    """Checksum, the fields that every commit changes, those that stay, and last what may hold any text."""
    lasting = memory.lasting
    if not lasting:
        texts = f'[{_text(memory.token)},{_encode(memory.numbers)},"{memory.git_index}"]'
        lasting = f"{memory.writer} {memory.segment} {memory.highest} {memory.node} {texts}\n".encode()
        memory.lasting, memory.extent = lasting, GROWING.size + len(lasting)
    line_sum, clock = memory.sum.encode(), memory.clock.encode()
    return noted(memory.mix, memory.size, memory.rows, memory.safe, memory.loud, line_sum, clock, lasting)


def noted(
    mix: int, size: int, rows: int, safe: int, loud: int, line_sum: bytes, clock: bytes, lasting: bytes
) -> bytes:
    """The note of these fields."""
    note = GROWING.pack(0, mix, size, rows, safe, loud, line_sum, clock, len(lasting)) + lasting
    body = note[CHECKED:]
    return crc32(body).to_bytes(CHECKED, "little") + body


def fields_of(note: bytes) -> tuple[int, int, int, int, int, str, str, bytes] | None:
    """Mix, size, rows, safe bytes, loud bytes, sum, clock, and all that lasts; None of a note that is not whole: a
    power cut or a failed write can leave the beginning of one and the end of another."""
    if len(note) < GROWING.size:
        return None
    checksum, mix, size, rows, safe, loud, line_sum, clock, length = GROWING.unpack_from(note)
    end = GROWING.size + length
    if crc32(note[CHECKED:end]) != checksum or len(note) < end:
        return None
    text = line_sum.rstrip(b"\0").decode()
    return mix, size, rows, safe, loud, text, clock.decode(), note[GROWING.size : end]


def decode_memory(note: bytes) -> Memory | None:
    """The memory in a lock file; None if there is none or it is damaged."""
    told = fields_of(note)
    if told is None:
        return None
    lasting = told[-1]
    try:
        memory = Memory(**_lasting(lasting))
    except (ValueError, TypeError):
        return None
    memory.lasting, memory.extent = lasting, GROWING.size + len(lasting)
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
        return decode_memory(steps.read_whole(fs, os.path.join(local, "locks", f"{flat(stream)}.lock")))
    except OSError:
        return None


def read_note(fs: FileSystem, lock_fd: int) -> bytes:
    note = fs.read(lock_fd, _USUAL_NOTE, 0)
    return note if len(note) < _USUAL_NOTE else fs.read(lock_fd, _NOTE, 0)
