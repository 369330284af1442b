"""The lock file of a stream: a kernel lock, and a header with the writer's state.

The header names the segment that the writer appends to, and the highest clock and short numbers that it ever used,
including on branches that are not checked out. It is written under the lock and not synced: readers verify it against
the segment before use.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from zlib import crc32

from holdfast.core import ids
from holdfast.core.codec import json_of
from holdfast.core.stream import flat
from holdfast.fs import durable
from holdfast.fs.port import LOCK_EX, LOCK_UN, FileSystem
from holdfast.typed import TYPE_CHECKING, Any, Self

try:
    from _struct import Struct  # importing ``struct`` loads one more file for the same class
except ImportError:  # an interpreter without the private module
    from struct import Struct

if TYPE_CHECKING:
    from holdfast.store.files.place import Place

_LONGEST = 1 << 16
_USUAL = 1024
"""Bytes that hold nearly every header; of a longer one, its beginning."""
_IDENTIFIED = 64
"""Bytes that hold the writer and the two numbers at the beginning of the fixed part."""
_GROWING = Struct("<QQQ32s25s")
"""The part that every commit changes: size, rows, safe, sum, clock."""
_BEGINNING = Struct(f"{_GROWING.format}I")
"""That part and its checksum, which continues the checksum of the rest: a header whose two parts were not written
together is detected."""
_LENGTH = Struct("<I")
"""Of the fixed part, before it."""
_text = json.encoder.encode_basestring_ascii


class WriterState:
    """What the writer knows about one stream. Every commit changes the size and related fields, few change the rest."""

    __slots__ = (
        "clock",
        "fixed",
        "fixed_crc",
        "git_index",
        "highest",
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
        """So many bytes of the segment are known to survive a power cut: they are on the disk, in it or in journals."""
        self.clock = clock
        """The latest id that it ever wrote."""
        self.writer = writer
        self.segment = segment
        """The number of the open segment; 0 for none; negative for one whose sync has failed."""
        self.highest = highest
        """The highest segment number that it ever used."""
        self.token = token
        """What git had checked out when the segment was opened."""
        self.numbers = numbers or {}
        self.git_index = git_index
        """The state of git's index when the segment was last seen to be absent from it."""
        self.node = node
        """The inode of the lock file it was written to: a header with another inode was restored with its file."""
        self.fixed = b""
        """The encoded part that a commit does not change; empty until it is encoded."""
        self.fixed_crc = 0

    def grow(self, length: int, line_sum: str, commit_id: str, safe: int) -> None:
        """Account for one more line in the segment."""
        self.size += length
        self.rows += 1
        self.sum = line_sum
        self.clock = commit_id
        if safe > self.safe:
            self.safe = safe

    def use_numbers(self, numbers: dict[str, int]) -> None:
        """Account for new short numbers."""
        self.numbers = {**self.numbers, **numbers}
        self.fixed = b""

    def apply_header(self, header: bytes) -> bool:
        """Apply the growing part of a header with the same fixed part; False, with no change, if its checksum does not
        match: a power cut or a failed write can leave the start of one and the end of another."""
        size, rows, safe, line_sum, clock, checksum = _BEGINNING.unpack_from(header)
        if crc32(header[: _GROWING.size], self.fixed_crc) != checksum:
            return False
        self.size, self.rows, self.safe = size, rows, safe
        self.sum, self.clock = line_sum.rstrip(b"\0").decode(), clock.decode()
        return True

    def replace(self, **changes: Any) -> WriterState:
        """A copy with some fields changed."""
        other = object.__new__(WriterState)
        for name in self.__slots__:
            setattr(other, name, changes.get(name, getattr(self, name)))
        other.fixed = b""
        return other


def encode_header(state: WriterState) -> bytes:
    """The fields that every commit changes, their checksum, the fixed fields, and last the free-text fields."""
    if not state.fixed:
        texts = f'[{_text(state.token)},{json_of(state.numbers)},"{state.git_index}"]'
        fixed = f"{state.writer} {state.segment} {state.highest} {state.node} {texts}\n"
        state.fixed = fixed.encode()
        state.fixed_crc = crc32(state.fixed)
    growing = _GROWING.pack(state.size, state.rows, state.safe, state.sum.encode(), state.clock.encode())
    checksum = crc32(growing, state.fixed_crc).to_bytes(4, "little")
    return b"".join([growing, checksum, _LENGTH.pack(len(state.fixed)), state.fixed])


def decode_header(header: bytes) -> WriterState | None:
    """The state in a lock file; None if there is none or it is damaged."""
    start = _BEGINNING.size + _LENGTH.size
    if len(header) < start:
        return None
    (length,) = _LENGTH.unpack_from(header, _BEGINNING.size)
    fixed = header[start : start + length]
    try:
        state = WriterState(**_fixed_fields(fixed))
        state.fixed, state.fixed_crc = fixed, crc32(fixed)
        return state if state.apply_header(header) and ids.is_commit_id(state.clock) else None
    except (ValueError, TypeError):
        return None


@lru_cache(maxsize=8)  # the same in many consecutive headers
def _fixed_fields(data: bytes) -> dict[str, Any]:
    writer, segment, highest, node, texts = data.decode().split(" ", 4)
    token, numbers, index = json.loads(texts)
    if not isinstance(token, str) or not isinstance(index, str) or not ids.is_writer(writer):
        raise ValueError("not what encode_header wrote")
    if not isinstance(numbers, dict) or any(type(number) is not int for number in numbers.values()):
        raise ValueError("not what encode_header wrote")
    return {
        "writer": writer,
        "segment": int(segment),
        "highest": int(highest),
        "node": int(node),
        "token": token,
        "numbers": numbers,
        "git_index": index,
    }


def stored_state(fs: FileSystem, local: str, stream: str) -> WriterState | None:
    """The state of a stream's writer, read without the lock: for display only. One that was written to another file,
    such as one that git brought, does not count."""
    path = os.path.join(local, "locks", f"{flat(stream)}.lock")
    try:
        state = decode_header(durable.read_whole(fs, path))
        return state if state is not None and state.node == fs.stat(path).st_ino else None
    except OSError:
        return None


def read_header(fs: FileSystem, fd: int) -> bytes:
    header = fs.read(fd, _USUAL, 0)
    return header if len(header) < _USUAL else fs.read(fd, _LONGEST, 0)


class StreamLock:
    """The lock of one stream, as a re-entrant scope: ``with lock:`` releases only what it acquired itself."""

    __slots__ = ("_depth", "_fd", "_fs", "_header", "_node", "_path", "state")

    def __init__(self, place: Place, stream: str) -> None:
        self._fs = place.fs
        self._path = os.path.join(place.local, "locks", f"{flat(stream)}.lock")
        self._fd = -1
        self._node = 0
        self._depth = 0
        self._header = b""
        """The header as this handle last read or wrote it."""
        self.state: WriterState | None = None
        """What that header says."""

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def __enter__(self) -> Self:
        if self._depth:
            self._depth += 1
            return self
        if self._fd < 0:
            self._open()
        try:
            self._depth = 1
            self._fs.lock(self._fd, LOCK_EX)
        except BaseException:
            self.close()  # also if an interrupt came after the lock was acquired
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._depth > 1:
            self._depth -= 1
        elif self._depth:
            self._depth = 0
            self._fs.lock(self._fd, LOCK_UN)

    def _open(self) -> None:
        try:
            self._fd = durable.open_lock(self._fs, self._path)
        except FileNotFoundError:
            durable.make_folders(self._fs, os.path.dirname(self._path))
            self._fd = durable.open_lock(self._fs, self._path)
        self._node = self._fs.stat_handle(self._fd).st_ino

    def is_unchanged(self) -> bool:
        """Whether the header is still the one that this handle last read or wrote."""
        header = self._header
        return self.state is not None and self._fs.read(self._fd, len(header), 0) == header

    def newest_segment(self) -> list[bytes]:
        """The writer, its segment and its highest number as the header has them now, not decoded. Whoever creates or
        removes a segment of this place changes them. Read without the lock they may be torn, but never the old ones.
        """
        if self._fd < 0:
            return []
        start = _BEGINNING.size + _LENGTH.size
        return self._fs.read(self._fd, _IDENTIFIED, start).split(b" ", 3)[:3]

    def load(self) -> WriterState | None:
        """The state as the header has it now."""
        header = read_header(self._fs, self._fd)
        if self.state is None or header != self._header:
            self.state = self._decode(header)
            self._header = header
        return self.state

    def peek(self) -> WriterState | None:
        """The state as the header has it now, without changing what this handle knows."""
        if self._fd < 0:
            self._open()
        return self._decode(read_header(self._fs, self._fd))

    def _decode(self, header: bytes) -> WriterState | None:
        """The state in a header that was written to this very file. One restored from a backup is out of date."""
        state = decode_header(header)
        return state if state is not None and state.node == self._node else None

    def store(self, state: WriterState) -> bool:
        """Write the header; False if that failed. The caller holds the lock."""
        if state.node != self._node:
            state = state.replace(node=self._node)
        header = encode_header(state)
        try:
            self._fs.write_at(self._fd, header, 0)
        except OSError:
            # The header is only a cache: the next append compares it with the segment.
            self.state = None
            return False
        self.state = state
        self._header = header
        return True

    def forget(self) -> None:
        """Read the header again before the next append."""
        self.state = None

    def close(self) -> None:
        """Close the file, which also ends every scope. The header is read again before the next append."""
        self._depth = 0
        self.state = None
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            try:
                self._fs.close(fd)
            except OSError:
                pass
