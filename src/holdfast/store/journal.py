"""Journals: where a handle that appends much keeps its newest lines until their segment is synced.

A sync of a file that has grown also writes its new length, in a transaction of the file system. Bytes that replace
others in a file of fixed length are on the disk sooner, and processes with a journal each do not wait for one another
(docs/decisions/0042-journals.md). A line still goes to its segment first, where everybody reads it; the journal only
makes sure of it. ``replay`` reads what a process that died has left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from zlib import crc32

from holdfast.fs import steps
from holdfast.typed import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from holdfast.fs.port import FileSystem
    from holdfast.store.stream_reader import Place

FOLDER = "journals"
_HEAD = 120
"""No head of an entry is longer."""


class Habit(Record):
    """When a handle takes a journal, and how large it is."""

    after: int = 16
    """Appends of a handle before it takes one: making a journal costs as much as a few syncs."""
    size: int = 1 << 20
    window: int = 1 << 15
    """Bytes of a segment that an entry holds at most; of more, the segment itself is synced."""


class Entry(Record):
    """What one entry holds: bytes of a segment, and where in it they begin."""

    segment: str
    offset: int
    data: bytes


class Journal:
    """One file of fixed length that one handle writes to, again and again from the beginning.

    The handle holds the file's kernel lock as long as it lives: a journal that can be locked is a dead process's.
    """

    def __init__(self, fs: FileSystem, path: str, fd: int, size: int) -> None:
        self._fs = fs
        self._path = path
        self._fd = fd
        self._size = size
        self._at = 0
        self._round = 1

    @classmethod
    def create(cls, place: Place, flat: str) -> Journal:
        """A new journal, on the disk with its name. The caller holds the stream: nobody takes it for a dead one's."""
        fs, size = place.fs, place.habit.size
        folder = os.path.join(place.local, FOLDER)
        path = os.path.join(folder, f"{flat}.{place.tag}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        try:
            fd = fs.open(path, flags)
        except FileNotFoundError:
            steps.make_folders(fs, folder)
            fd = fs.open(path, flags)
        journal = cls(fs, path, fd, size)
        try:
            fs.try_lock(fd)  # it is new: nobody else has it
            steps.write_whole_at(fs, fd, bytes(size), 0)
            fs.sync(fd)
            steps.sync_names(fs, folder, os.path.dirname(place.root))
        except OSError:
            journal.remove()
            raise
        return journal

    @property
    def is_used(self) -> bool:
        """Whether something is only in the journal for sure."""
        return self._at > 0

    def has_room(self, length: int) -> bool:
        return self._at + _HEAD + length <= self._size

    def put(self, segment: str, offset: int, data: bytes) -> None:
        """Add bytes of a segment. They are on the disk after ``sync``."""
        body = b"%x %b %d %d\n%b" % (self._round, segment.encode(), offset, len(data), data)
        entry = b"%08x %b" % (crc32(body), body)
        steps.write_whole_at(self._fs, self._fd, entry, self._at)
        self._at += len(entry)

    def sync(self) -> None:
        self._fs.sync(self._fd)

    def clear(self) -> None:
        """Begin again: the segment was synced. Old entries stay until others take their place; they do no harm."""
        self._at = 0
        self._round += 1

    def remove(self) -> None:
        """Give the file up: the segment was synced, or nothing was ever put in."""
        try:
            self._fs.unlink(self._path)
        except OSError:
            pass  # whoever opens the stream next finds in it what is in the segment already
        self.close()

    def close(self) -> None:
        """Give the handle back and leave the file for whoever opens the stream next."""
        try:
            self._fs.close(self._fd)
        except OSError:
            pass


def stream_of(name: str) -> str:
    """The stream (with ``+`` for ``/``) that a journal belongs to, by its name."""
    return name.rpartition(".")[0]


def entries_in(data: bytes) -> Iterator[Entry]:
    """The entries of the last round, up to the first that is not whole."""
    at, last = 0, b""
    while True:
        end = data.find(b"\n", at, at + _HEAD)
        if end < 0:
            return
        try:
            check, this, segment, offset, length = data[at:end].split(b" ")
            entry = Entry(segment.decode(), int(offset), data[end + 1 : end + 1 + int(length)])
            if int(check, 16) != crc32(data[at + 9 : end + 1 + int(length)]) or len(entry.data) != int(
                length
            ):
                return
        except ValueError:
            return
        if last and this != last:
            return
        yield entry
        at, last = end + 1 + int(length), this
