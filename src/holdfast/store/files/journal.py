"""Journals: where a handle that appends often keeps its newest lines until their segment is synced.

Syncing a file that has grown also writes its new length, in a file-system transaction. Overwriting bytes in a file
of fixed length is faster to make durable, and processes with separate journals do not wait for each other
(docs/decisions/0020-journals.md). A line still goes to its segment first, where everybody reads it; the journal only
makes it durable. ``replay`` reads the journals of processes that died.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from holdfast.core import codec
from holdfast.fs import durable
from holdfast.fs.port import RWF_DSYNC
from holdfast.store.files.padding import line_of
from holdfast.typed import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from mmap import mmap

    from holdfast.fs.port import FileSystem
    from holdfast.store.files.place import Place

FOLDER = "journals"
BLOCK = 4096
"""Alignment of entries: writing one touches no other, and direct I/O is possible."""
_HEAD = 120
"""The maximum length of an entry's header."""
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL
_DIRECT = getattr(os, "O_DIRECT", 0)
"""Bypasses the page cache, which would have to be searched for dirty pages."""


class JournalPolicy(Record):
    """When a handle creates a journal, and how large it is."""

    after: int = 16
    """Appends of a handle before it creates one: a new journal costs as much as a few syncs."""
    size: int = 1 << 20
    window: int = 1 << 15
    """The most bytes of a segment in one entry; for more, the segment itself is synced."""


class Entry(Record):
    """One entry: bytes of a segment, and their offset in it."""

    segment: str
    offset: int
    data: bytes


class JournalFile:
    """One file of fixed length that one handle overwrites repeatedly from the beginning.

    The handle holds the file's kernel lock while it is open: a journal that can be locked belongs to a dead process.
    """

    __slots__ = ("_at", "_fd", "_fs", "_out", "_page", "_path", "_round", "_size", "window")

    def __init__(self, fs: FileSystem, path: str, fd: int, journal_policy: JournalPolicy) -> None:
        self.window = journal_policy.window
        self._fs = fs
        self._path = path
        self._fd = fd
        self._size = journal_policy.size
        self._page = _zeros(-(-(_HEAD + journal_policy.window) // BLOCK) * BLOCK)
        view = memoryview(self._page)
        self._out = [[view[:end]] for end in range(0, len(view) + 1, BLOCK)]
        """Views of the page, by number of blocks."""
        self._at = 0
        self._round = "1"

    @classmethod
    def create(cls, place: Place, flat: str) -> JournalFile:
        """A new journal, durable with its name. The caller holds the stream's lock, so nobody replays it."""
        fs = place.fs
        folder = os.path.join(place.local, FOLDER)
        path = os.path.join(folder, f"{flat}.{place.tag}")
        durable.make_folders(fs, folder)
        try:
            fd = fs.open(path, _FLAGS | _DIRECT)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # A file system without direct I/O; it may have created the file before it failed.
            fd = fs.open(path, _FLAGS & ~os.O_EXCL)
        journal = cls(fs, path, fd, place.journal_policy)
        try:
            if not fs.try_lock(fd):
                raise OSError(errno.EWOULDBLOCK, "somebody looks into the new journal")
            fs.write_through(fd, [memoryview(_zeros(place.journal_policy.size))], 0, RWF_DSYNC)
            durable.fsync_dirs(fs, folder, os.path.dirname(place.root))
        except OSError:
            journal.remove()
            raise
        return journal

    @property
    def is_used(self) -> bool:
        """Whether some bytes are durable only in the journal."""
        return self._at > 0

    def put(self, segment: str, offset: int, data: bytes) -> bool:
        """Write bytes of a segment durably. False if they do not fit."""
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
        """Restart: the segment was synced. Old entries remain until they are overwritten; they are harmless."""
        self._at = 0
        self._round = f"{int(self._round, 16) + 1:x}"

    def remove(self) -> None:
        """Remove the file: the segment was synced, or nothing was ever written to the journal."""
        try:
            self._fs.unlink(self._path)
        except OSError:
            pass  # the next replay finds only what the segment already has
        self.close()

    def close(self) -> None:
        """Close the handle and leave the file for replay."""
        try:
            self._fs.close(self._fd)
        except OSError:
            pass


class Journal:
    """Makes the appends of one handle durable without syncing the segment each time.

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
        """Whether some bytes are durable only in the journal."""
        return self._file is not None and self._file.is_used

    def count_append(self) -> None:
        """Count an append; create the file when it is due. The caller holds the stream's lock."""
        if not self._countdown:
            return
        self._countdown -= 1
        if not self._countdown:
            try:
                self._file = JournalFile.create(self._place, self._flat)
            except OSError:
                self._countdown = 16 * self._place.journal_policy.after

    def put(self, segment: str, fd: int, safe: int, size: int, line: bytes) -> bool:
        """Write the bytes of a segment from ``safe`` to ``size``, of which the last are ``line``: they survive a power
        cut when this returns. False if they do not fit, and the segment has to be synced.

        Lines that others wrote before this one and that may not be synced yet are included: no commit is
        acknowledged before one that it follows.
        """
        file, length = self._file, size - safe
        if file is None or length > file.window:
            return False
        if length > len(line):
            line = self._place.fs.read(fd, length, safe)
        return file.put(segment, safe, line)

    def clear(self) -> None:
        """The segment was synced: nothing is in the journal alone."""
        if self._file is not None:
            self._file.clear()

    def abandon(self) -> None:
        """Leave the file for replay: the segment could not be synced."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Remove the file: the segment was synced."""
        if self._file is not None:
            self._file.remove()
            self._file = None
        self._countdown = self._place.journal_policy.after


def _zeros(size: int) -> mmap:
    """Memory that is aligned for direct I/O."""
    from mmap import mmap

    return mmap(-1, size)


def journal_names(place: Place) -> list[str]:
    """The names of all journals; none if the folder is not readable: then it is not writable either."""
    try:
        return durable.names_in(place.fs, os.path.join(place.local, FOLDER))
    except PermissionError:
        return []


def journals_of(place: Place, flat: str) -> list[str]:
    """The paths of all journals of a stream, whether or not their processes are alive."""
    folder = os.path.join(place.local, FOLDER)
    return [os.path.join(folder, name) for name in journal_names(place) if stream_of(name) == flat]


def stream_of(name: str) -> str:
    """The stream (with ``+`` for ``/``) of a journal, from its name."""
    return name.rpartition(".")[0]


def entries_in(data: bytes) -> Iterator[Entry]:
    """The entries of the last round, up to the first incomplete one. Every line in them has its own checksum. One
    written by a later release is refused (``Newer``): its journal is not ours to remove (I10)."""
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
