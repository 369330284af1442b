"""Who writes here, and what this writer remembers of each stream.

A writer is one clone or worktree on one machine. Its identity is in ``local/writer.json``. A copied folder or a
restored backup would bring the identity along, and two places would write under one name; so the identity is
tied to an anchor file that no copy can reproduce (inode and change time), and whoever finds it broken takes a
new identity.

What the writer remembers per stream stands in the stream's lock file, written under the lock: the segment it
appends to, and the highest clock and short numbers it ever used, also on branches that are not checked out.
The note is not synced: it is compared with the segment before it is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import lru_cache
from zlib import crc32

from holdfast.core import ids
from holdfast.core.stream import flat
from holdfast.fs import steps
from holdfast.fs.port import FileSystem
from holdfast.typed import Any

_NOTE = 1 << 16
_USUAL_NOTE = 512
_encode = json.JSONEncoder(separators=(",", ":")).encode
_text = json.encoder.encode_basestring_ascii


class Memory:
    """What the writer remembers of one stream."""

    __slots__ = (
        "clock",
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
        segment: int = 0,
        size: int = 0,
        line_sum: str = "",
        rows: int = 0,
        safe: int = 0,
        token: str = "",
        highest: int = 0,
        clock: str = ids.ZERO,
        numbers: dict[str, int] | None = None,
        git_index: str = "",
        node: int = 0,
    ) -> None:
        self.writer = writer
        self.segment = segment
        """The number of the segment that it appends to; 0 for none; below 0 for one whose sync has failed."""
        self.size = size
        self.sum = line_sum
        self.rows = rows
        self.safe = safe
        """So many bytes of the segment are known to survive a power cut: they are on the disk in it, or in journals."""
        self.token = token
        """What git had checked out when the segment was opened."""
        self.highest = highest
        """The highest segment number that it ever used."""
        self.clock = clock
        """The latest id that it ever wrote."""
        self.numbers = numbers or {}
        self.git_index = git_index
        """What git's index was when the segment was last seen not to be in it."""
        self.node = node
        """The inode of the lock file that this was noted in: a note in another one was set back together with it."""

    def grow(self, length: int, line_sum: str, commit_id: str, safe: int) -> None:
        """One more line of the segment was written."""
        self.size += length
        self.rows += 1
        self.sum = line_sum
        self.clock = commit_id
        if safe > self.safe:
            self.safe = safe

    def but(self, **changes: Any) -> Memory:
        """The same but for some fields."""
        other = object.__new__(Memory)
        for name in self.__slots__:
            setattr(other, name, changes.get(name, getattr(self, name)))
        return other


def encode_memory(memory: Memory) -> bytes:
    """One line: checksum, the fields that every commit changes, those that stay, and last what may hold any text."""
    lasting = f"{memory.writer} {memory.segment} {memory.highest} {memory.node}"
    numbers = _encode(memory.numbers) if memory.numbers else "{}"
    texts = f'[{_text(memory.token)},{numbers},"{memory.git_index}"]'
    changing = f"{memory.size} {memory.sum or '-'} {memory.rows} {memory.safe} {memory.clock}"
    body = f"{changing} {lasting} {texts}".encode()
    return b"%08x %b\n" % (crc32(body), body)


def decode_memory(note: bytes) -> Memory | None:
    """The memory in a lock file; None if there is none or it is damaged."""
    body = note[9:].partition(b"\n")[0]
    try:
        if int(note[:8], 16) != crc32(body):
            return None
        size, line_sum, rows, safe, clock, rest = body.decode().split(" ", 5)
        writer, segment, token, highest, numbers, index, node = _lasting(rest)
        return Memory(
            writer,
            segment,
            int(size),
            line_sum,
            int(rows),
            int(safe),
            token,
            highest,
            clock,
            numbers,
            index,
            node,
        )
    except (ValueError, TypeError):
        return None


@lru_cache(maxsize=8)  # the same in many notes in a row
def _lasting(rest: str) -> tuple[str, int, str, int, dict[str, int], str, int]:
    writer, segment, highest, node, texts = rest.split(" ", 4)
    token, numbers, index = json.loads(texts)
    return writer, int(segment), token, int(highest), numbers, index, int(node)


def remembered(fs: FileSystem, local: str, stream: str) -> Memory | None:
    """What the writer remembers of a stream, read without the lock: to be shown, not to be built on."""
    try:
        return decode_memory(steps.read_whole(fs, os.path.join(local, "locks", f"{flat(stream)}.lock")))
    except OSError:
        return None


def read_note(fs: FileSystem, lock_fd: int) -> bytes:
    note = fs.read(lock_fd, _USUAL_NOTE, 0)
    return note if len(note) < _USUAL_NOTE else fs.read(lock_fd, _NOTE, 0)


class Identity:
    """The name under which this place writes."""

    def __init__(self, fs: FileSystem, local: str, random_bits: Callable[[int], int], tag: str) -> None:
        self._fs = fs
        self._local = local
        self._path = os.path.join(local, "writer.json")
        self._anchor = os.path.join(local, "anchor")
        self._random_bits = random_bits
        self._tag = tag
        self._writer = ""
        self.copied: Callable[[str, str], None] | None = None
        """Called with the old and the new name when the folder turns out to be a copy."""

    def writer(self) -> str:
        """The current identity; a new one where there is none or the folder was copied."""
        return self._writer or self.stored() or self.renew("")

    def stored(self) -> str:
        """The current identity; empty where there is none. Never makes one."""
        if not self._writer:
            self._writer = self._load()
        return self._writer

    def reload(self) -> str:
        """The identity as another process may have left it."""
        self._writer = ""
        return self.writer()

    def renew(self, old: str) -> str:
        """Take a new identity in place of ``old``, unless another process has just done so."""
        steps.make_folders(self._fs, self._local)
        lock = self._fs.open(os.path.join(self._local, "writer.lock"), os.O_RDWR | os.O_CREAT)
        try:
            self._fs.lock(lock)
            stored = self._load()
            if stored and stored != old:
                self._writer = stored
                return stored
            writer = ids.random_text(self._random_bits(64), ids.WRITER_LENGTH)
            if self.copied is not None and not stored and (before := self._named()):
                self.copied(before, writer)
            self._fs.close(self._fs.open(self._anchor, os.O_RDWR | os.O_CREAT))
            note = {"writer": writer, "anchor": self._stamp()}
            steps.replace(
                self._fs, self._path, json.dumps(note).encode() + b"\n", tag=self._tag, durable=False
            )
            self._writer = writer
            return writer
        finally:
            self._fs.close(lock)

    def _named(self) -> str:
        """The writer in the file, whether or not the file belongs here."""
        try:
            writer = str(json.loads(steps.read_whole(self._fs, self._path))["writer"])
            return writer if ids.is_writer(writer) else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _load(self) -> str:
        try:
            note: dict[str, Any] = json.loads(steps.read_whole(self._fs, self._path))
            writer = str(note["writer"])
            return writer if ids.is_writer(writer) and note["anchor"] == self._stamp() else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _stamp(self) -> list[int]:
        found = self._fs.stat(self._anchor)
        return [found.st_ino, found.st_ctime_ns]
