"""Journals: where a handle that appends much keeps its newest lines until their segment is synced.

A sync of a file that has grown also writes its new length, in a transaction of the file system. Bytes that replace
others in a file of fixed length are on the disk sooner, and processes with a journal each do not wait for one another
(docs/decisions/0020-journals.md). A line still goes to its segment first, where everybody reads it; the journal only
makes sure of it. ``replay`` reads what a process that died has left.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from mmap import mmap

from holdfast.core import codec
from holdfast.fs import durable
from holdfast.fs.port import RWF_DSYNC
from holdfast.store.files.padding import line_of
from holdfast.typed import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from holdfast.fs.port import FileSystem
    from holdfast.store.files.place import Place

FOLDER = "journals"
BLOCK = 4096
"""Entries begin at multiples of it: no other one is touched when one is written, and disks can be written directly."""
_HEAD = 120
"""No head of an entry is longer."""
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL
_DIRECT = getattr(os, "O_DIRECT", 0)
"""Past the page cache, which would have to be searched for what to write."""


class JournalPolicy(Record):
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


class JournalFile:
    """One file of fixed length that one handle writes to, again and again from the beginning.

    The handle holds the file's kernel lock as long as it lives: a journal that can be locked is a dead process's.
    """

    __slots__ = ("_at", "_fd", "_fs", "_out", "_page", "_path", "_round", "_size", "window")

    def __init__(self, fs: FileSystem, path: str, fd: int, journal_policy: JournalPolicy) -> None:
        self.window = journal_policy.window
        self._fs = fs
        self._path = path
        self._fd = fd
        self._size = journal_policy.size
        self._page = mmap(
            -1, -(-(_HEAD + journal_policy.window) // BLOCK) * BLOCK
        )  # aligned as a disk wants it
        view = memoryview(self._page)
        self._out = [[view[:end]] for end in range(0, len(view) + 1, BLOCK)]
        """What is written of the page, by number of blocks."""
        self._at = 0
        self._round = "1"

    @classmethod
    def create(cls, place: Place, flat: str) -> JournalFile:
        """A new journal, on the disk with its name. The caller holds the stream: nobody takes it for a dead one's."""
        fs = place.fs
        folder = os.path.join(place.local, FOLDER)
        path = os.path.join(folder, f"{flat}.{place.tag}")
        durable.make_folders(fs, folder)
        try:
            fd = fs.open(path, _FLAGS | _DIRECT)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # A file system that knows no other way than through its cache; it may have made the file before it said so.
            fd = fs.open(path, _FLAGS & ~os.O_EXCL)
        journal = cls(fs, path, fd, place.journal_policy)
        try:
            if not fs.try_lock(fd):
                raise OSError(errno.EWOULDBLOCK, "somebody looks into the new journal")
            fs.write_through(fd, [memoryview(mmap(-1, place.journal_policy.size))], 0, RWF_DSYNC)
            durable.fsync_dirs(fs, folder, os.path.dirname(place.root))
        except OSError:
            journal.remove()
            raise
        return journal

    @property
    def is_used(self) -> bool:
        """Whether something is only in the journal for sure."""
        return self._at > 0

    def put(self, segment: str, offset: int, data: bytes) -> bool:
        """Keep bytes of a segment: they are on the disk when this returns. False if there is no room for them."""
        entry = f"{self._round} {segment} {offset} {len(data)}\n".encode() + data
        length, at = len(entry), self._at
        blocks = (length + BLOCK - 1) // BLOCK
        end = at + blocks * BLOCK
        if end > self._size:
            return False
        self._page[:length] = entry
        if self._fs.write_through(self._fd, self._out[blocks], at, RWF_DSYNC) != end - at:
            raise OSError(errno.EIO, "an entry of a journal was written in part")
        self._at = end
        return True

    def clear(self) -> None:
        """Begin again: the segment was synced. Old entries stay until others take their place; they do no harm."""
        self._at = 0
        self._round = f"{int(self._round, 16) + 1:x}"

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


class Journal:
    """What one handle needs in order to make its appends durable without syncing the segment each time.

    It has no file until the handle has appended a few times; until then the segment is synced.
    """

    __slots__ = ("_countdown", "_file", "_flat", "_place", "safe")

    def __init__(self, place: Place, flat: str) -> None:
        self._place = place
        self._flat = flat
        self._file: JournalFile | None = None
        self._countdown = place.journal_policy.after
        """Appends before this handle makes a journal file."""
        self.safe = 0
        """So much of the open segment is known to survive a power cut."""

    @property
    def is_open(self) -> bool:
        return self._file is not None

    @property
    def is_used(self) -> bool:
        """Whether something is only in the journal for sure."""
        return self._file is not None and self._file.is_used

    def count_append(self) -> None:
        """One more append comes; make the file when it is time. The caller holds the stream's lock."""
        if not self._countdown:
            return
        self._countdown -= 1
        if not self._countdown:
            try:
                self._file = JournalFile.create(self._place, self._flat)
            except OSError:
                self._countdown = 16 * self._place.journal_policy.after

    def put(self, segment: str, fd: int, safe: int, size: int, line: bytes) -> bool:
        """Keep the bytes of a segment from ``safe`` to ``size``, the last of which are ``line``: they survive a power
        cut when this returns. False if they do not fit, and the segment has to be synced.

        What others wrote before this line and may still wait for goes along: no commit is acknowledged ahead of one
        that it follows.
        """
        file, length = self._file, size - safe
        if file is None or length > file.window:
            return False
        if length > len(line):
            line = self._place.fs.read(fd, length, safe)
        return file.put(segment, safe, line)

    def clear(self) -> None:
        """The segment was synced: nothing is in the journal alone any more."""
        if self._file is not None:
            self._file.clear()

    def abandon(self) -> None:
        """Leave the file for whoever uses the stream next: the segment could not be synced."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Remove the file: the segment was synced."""
        if self._file is not None:
            self._file.remove()
            self._file = None
        self._countdown = self._place.journal_policy.after


def stream_of(name: str) -> str:
    """The stream (with ``+`` for ``/``) that a journal belongs to, by its name."""
    return name.rpartition(".")[0]


def entries_in(data: bytes) -> Iterator[Entry]:
    """The entries of the last round, up to the first that is not whole. Every line in them has a sum of its own; one
    that a later release wrote is refused (``Newer``): its journal is not ours to remove (I10)."""
    at, first = 0, b""
    while True:
        end = data.find(b"\n", at, at + _HEAD)
        try:
            this, segment, offset, length = data[at : max(at, end)].split(b" ")
            entry = Entry(segment.decode(), int(offset), data[end + 1 : end + 1 + int(length)])
        except ValueError:
            return
        first = first or this
        if this != first or len(entry.data) != int(length) or not _is_whole(entry.data):
            return
        yield entry
        at = (end + int(length) + BLOCK) & -BLOCK


def _is_whole(data: bytes) -> bool:
    *pieces, rest = data.split(b"\n")
    return bool(pieces) and not rest and all(codec.fault_of(line_of(piece), None) is None for piece in pieces)
