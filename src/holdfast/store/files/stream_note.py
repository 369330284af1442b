"""The note of one stream: its lock file, which holds what the writer remembers, written under the lock.

The note is not synced and may lag a little behind a handle that appends alone: whoever comes next compares it with
the segment, and reads what lies beyond it.
"""

from __future__ import annotations

import os

from holdfast.fs import durable
from holdfast.fs.port import LOCK_EX, LOCK_UN, SEEK_END
from holdfast.store.files.stream_reader import Place, StreamReader
from holdfast.store.files.writer_state import Memory, decode_memory, encode_memory
from holdfast.store.protocol import Cursor

LAG_MS = 100
"""Short, so that a checkout that hides the segment finds nearly all of it noted: a writer that must have forgotten
something takes a new name."""

ALONE = 8
"""Commits in a row without others between them, after which the note may lag."""
NOTHING, ANYTHING = 0, -1
"""What may have happened to a stream while it was not held."""


class StreamNote(StreamReader):
    """A stream that can be held, and what is remembered of it."""

    __slots__ = (
        "_alone",
        "_complete_for",
        "_flat",
        "_folder_fd",
        "_held",
        "_latest",
        "_lock_fd",
        "_lock_node",
        "_memory",
        "_note",
        "_noted_at",
        "_opening",
        "_unnoted",
    )

    def __init__(self, place: Place, stream: str) -> None:
        super().__init__(place, stream)
        self._flat = stream.replace("/", "+")
        self._folder_fd = -1
        """The stream's folder: asking a handle is quicker than walking down a path."""
        self._lock_fd = -1
        self._lock_node = 0
        self._held = False
        self._note = b""
        self._memory: Memory | None = None
        self._unnoted = False
        """The memory is ahead of the note."""
        self._noted_at = 0
        self._alone = 0
        """Commits in a row that nobody else came between."""
        self._complete_for = (0, "", 0)
        self._opening = b""
        """How the lines of the segment at hand begin."""
        self._latest: Cursor = None
        """The cursor behind this handle's own last commit."""

    def lock(self) -> None:
        """Hold the stream: everybody else who wants to append waits."""
        if self._lock_fd < 0:
            self._open_lock()
        self._fs.lock(self._lock_fd, LOCK_EX)
        self._held = True

    def _open_lock(self) -> None:
        folder = os.path.join(self._place.local, "locks")
        path = os.path.join(folder, f"{self._flat}.lock")
        try:
            self._lock_fd = self._fs.open(path, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            durable.make_folders(self._fs, folder)
            self._lock_fd = self._fs.open(path, os.O_RDWR | os.O_CREAT)
        self._lock_node = self._fs.stat_handle(self._lock_fd).st_ino

    def holding(self) -> Holding:
        """Hold the stream for a while."""
        return Holding(self, self._held)

    def unlock(self) -> None:
        """Let others append, if the stream is held."""
        if self._held:
            self._held = False
            self._fs.lock(self._lock_fd, LOCK_UN)

    def _happened(self, cursor: Cursor) -> int:
        """What has happened to the stream since ``cursor``: NOTHING or ANYTHING. The caller holds it.

        NOTHING: what was read, checked and remembered for this handle's own last commit holds for the next one too.
        Every other process leaves a new note, every other program a new folder time, a new length or a new git HEAD.
        """
        if self._is_latest(cursor):
            return NOTHING
        # What follows may renew the note and then be refused: the old cursor would look new again.
        self._latest = None
        return ANYTHING

    def _is_latest(self, cursor: Cursor) -> bool:
        """Whether the cursor stands behind this handle's own last commit and nothing has happened since."""
        if cursor is not self._latest or cursor is None:
            return False
        memory, note = self._memory, self._note
        if memory is None or self._fs.read(self._lock_fd, len(note), 0) != note:
            return False
        return self._is_as_noted(memory)

    def _is_as_noted(self, memory: Memory) -> bool:
        if self._segment_fd < 0 or self._complete_for[0] != self._generation:
            return False
        fs = self._fs
        try:
            if self._folder_fd < 0:
                self._folder_fd = fs.open(self.folder, os.O_RDONLY)
            folder = fs.stat_handle(self._folder_fd)
        except OSError:
            return False
        if folder.st_mtime_ns != self._folder_stamp or not folder.st_nlink:
            self._close_folder()  # there may be another one in its place
            return False
        return fs.seek(self._segment_fd, 0, SEEK_END) == memory.size and self._head.is_at(
            memory.token, memory.git_index
        )

    def _close_folder(self) -> None:
        if self._folder_fd >= 0:
            fd, self._folder_fd = self._folder_fd, -1
            try:
                self._fs.close(fd)
            except OSError:
                pass

    def _remembered(self, note: bytes) -> Memory | None:
        """The memory in a note that was written into this very file; none if a backup has brought it back, which knows
        nothing of what was written since."""
        memory = decode_memory(note)
        return memory if memory is not None and memory.node == self._lock_node else None

    def _remember(self, memory: Memory, now: int = 0) -> None:
        """Write the note. The caller holds the stream."""
        if memory.node != self._lock_node:
            memory = memory.but(node=self._lock_node)
        note = encode_memory(memory)
        try:
            self._fs.write_at(self._lock_fd, note, 0)
        except OSError:
            # Only a note: the next append compares it with the segment, whatever it says.
            self._memory = None
            return
        self._memory = memory
        self._note = note
        self._noted_at = now
        self._unnoted = False
        self._complete_for = (self._generation, memory.writer, memory.highest)

    def _catch_up(self) -> None:
        """Note what was appended since the last note, unless others have gone on from there."""
        self._unnoted = False
        try:
            self.lock()
            if self._memory and self._fs.read(self._lock_fd, len(self._note), 0) == self._note:
                self._fs.write_at(self._lock_fd, encode_memory(self._memory), 0)
            self.unlock()
        except OSError:
            pass  # whoever comes next reads the segment beyond the note

    def _close_note(self) -> None:
        self._close_folder()
        if self._lock_fd >= 0:
            if self._unnoted:
                self._catch_up()
            fd, self._lock_fd = self._lock_fd, -1
            self._held = False
            try:
                self._fs.close(fd)
            except OSError:
                pass


class Holding:
    """Holds a stream, and gives it back unless it was held before."""

    def __init__(self, handle: StreamNote, before: bool) -> None:
        self._handle = handle
        self._before = before

    def __enter__(self) -> None:
        self._handle.lock()

    def __exit__(self, *_: object) -> None:
        if not self._before:
            self._handle.unlock()
