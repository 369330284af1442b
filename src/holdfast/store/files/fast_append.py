"""Appending while nobody else does: a handle behind its own last commit, in one go.

A program that keeps a session of its own appends again and again where nothing else happens. Each time the interpreter
comes back from the disk with cold caches, so every call of a function is felt, and they add up to as much as a sync. So
there is a short way for events that no rule has to judge. It asks and writes the same as the long way does
(``_happened`` and ``_put``); where anything has happened, it leaves the append to that one.
"""

from __future__ import annotations

from holdfast.core import ids, timestamps
from holdfast.core.codec import Commit
from holdfast.errors import UnknownOutcome
from holdfast.fs.port import LOCK_EX, LOCK_UN, SEEK_END
from holdfast.store.files.segments import FULL
from holdfast.store.files.stream_note import ALONE, LAG_MS
from holdfast.store.files.stream_put import StreamPut
from holdfast.store.numbered import check_expected
from holdfast.store.protocol import Appended, Cursor, PreparedCommit
from holdfast.typed import made


class StreamAlone(StreamPut):
    """A stream that mostly one handle appends to."""

    __slots__ = ()

    def _append_alone(self, prepared: PreparedCommit, cursor: Cursor, expect: int | None) -> Appended | None:
        """Append behind this handle's own last commit, at whose end ``cursor`` stands; None, and nothing done, if
        anything has happened since, or it cannot be told at once."""
        memory, journal, newest = self._memory, self._journal, cursor["e"]
        draft, numbers, content = prepared
        events, by, origin, op = draft
        if (
            memory is None
            or journal is None
            or content is None
            or numbers
            or self._folder_fd < 0
            or self._complete_for[0] != self._generation
        ):
            return None
        size, name = memory.size, self._segment
        if self._safe != size or newest[0] != name:
            return None
        fs, lock_fd, head, note, held = self._fs, self._lock_fd, self._head, self._note, True
        try:
            fs.lock(lock_fd, LOCK_EX)  # inside: an interrupt right behind it must not leave the stream held
            if fs.read(lock_fd, len(note), 0) != note:
                return None
            folder = fs.stat_handle(self._folder_fd)
            if (
                folder.st_mtime_ns != self._folder_stamp
                or not folder.st_nlink
                or fs.seek(self._segment_fd, 0, SEEK_END) != size
                or not head.is_at(memory.token, memory.git_index)
                or (size >= FULL and head.common is not None)
            ):
                return None
            version = cursor["n"]
            if expect is not None:
                check_expected(self.stream, expect, version)
            version += 1
            now = self._clock()
            at = timestamps.iso(now)
            commit_id = ids.next_id(memory.clock, now, memory.writer)
            line, line_sum = self._write_line(content, commit_id, at, memory.sum, size)
            memory.safe = size
            memory.size = grown = size + len(line)
            memory.rows = rows = memory.rows + 1
            memory.sum = line_sum
            memory.clock = commit_id
            try:
                self._alone = alone = self._alone + 1
                if alone > ALONE and 0 <= now - self._noted_at < LAG_MS:
                    self._unnoted = True  # others go by the note; while there are none it can wait
                else:
                    self._remember(memory, now)
                held = False
                fs.lock(lock_fd, LOCK_UN)
                moved = cursor.copy()
                moved["n"] = version
                moved["h"] = commit_id
                moved["e"] = (name, grown, rows, newest[3] + 1, newest[4], commit_id, line_sum, 0)
                if len(line) > journal.window or not journal.put(name, size, line):
                    self._empty_journal()
                self._safe = grown
            except OSError as error:
                self.close()
                raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        finally:
            if held:
                fs.lock(lock_fd, LOCK_UN)
        self._latest = moved
        commit = made(Commit, (commit_id, at, by, origin, op, events, line_sum))
        return made(Appended, (commit, moved, version, False))
