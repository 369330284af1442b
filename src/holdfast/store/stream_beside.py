"""Appending while others append too: what has to be done under the lock, in one go.

Where many processes write to one stream, all of them wait for every step that one takes under the lock, and each takes
it with caches that the others have filled since: a call of a function is felt. So there is a short way for what busy
writers do: events that no rule has to judge, behind commits that are left unread. It asks and writes the same as the
long way does (``_happened`` and ``_put``); where anything else has happened, it leaves the append to that one.
"""

from __future__ import annotations

from zlib import crc32

from holdfast.core import commit as codec
from holdfast.core import ids, moment
from holdfast.errors import UnknownOutcome
from holdfast.store.blanks import laid_out
from holdfast.store.note import USUAL_NOTE, Memory, fields_of
from holdfast.store.numbered import check_expected
from holdfast.store.protocol import Appended, Cursor, Planned
from holdfast.store.segments import FULL
from holdfast.store.stream_put import StreamPut
from holdfast.typed import made


class StreamBeside(StreamPut):
    """A stream that others append to at the same time."""

    def _append_beside(self, planned: Planned, cursor: Cursor, expect: int | None) -> Appended | None:
        """Append behind others' commits of this place, if they are all that came since the cursor; None, and nothing
        done, if that is not so or cannot be told at once."""
        memory, generation = self._memory, self._generation
        if (
            memory is None
            or planned.content is None
            or planned.numbers
            or self._journal is None
            or self._folder_fd < 0
            or self._complete_for[0] != generation
            or self._start_in != (generation, self._segment)
        ):
            return None
        self._fs.lock(self._lock_fd)
        self._held = True
        try:
            return self._put_beside(planned, planned.content, memory, cursor, expect)
        finally:
            if self._held:
                self.unlock()

    def _put_beside(
        self, planned: Planned, content: bytes, memory: Memory, cursor: Cursor, expect: int | None
    ) -> Appended | None:
        fs, lock_fd, segment_fd, name = self._fs, self._lock_fd, self._segment_fd, self._segment
        told = fields_of(fs.read(lock_fd, USUAL_NOTE, 0))
        if told is None:
            return None
        size, previous, rows, safe, last, lasting = told
        folder = fs.stat_handle(self._folder_fd)
        reached, rows_then = self._reach
        if (
            lasting != memory.lasting
            or size < reached
            or (size >= FULL and self._place.head.common is not None)
            or fs.size(segment_fd) != size
            or folder.st_mtime_ns != self._folder_stamp
            or not folder.st_nlink
            or not self._place.head.is_at(memory.token, memory.git_index)
        ):
            return None
        version = cursor["n"] + rows - rows_then
        if expect is not None:
            check_expected(self.stream, expect, version)
        now = self._place.clock()
        at = moment.iso(now)
        head = cursor["h"]
        commit_id = ids.next_id(head if head > last else last, now, memory.writer)
        body, end, line_sum = codec.sealed(content, commit_id, at, previous)
        line = laid_out(name, commit_id, self._opening, body, end)
        self._write_line(line, size)
        size += len(line)
        if self._safe > safe:
            safe = self._safe
        noted = f"{size} {line_sum} {rows + 1} {safe} {commit_id} {memory.lasting}".encode()
        self._note = note = b"%08x %b" % (crc32(noted), noted)
        try:
            fs.write_at(lock_fd, note, 0)
        except OSError:
            self._memory = None  # only a note: the next append compares it with the segment, whatever it says
        try:
            self._held = False
            fs.unlock(lock_fd)
            memory.size, memory.rows, memory.safe = size, rows + 1, safe
            memory.sum, memory.clock = line_sum, commit_id
            self._latest, self._alone, self._noted_at, self._unnoted = None, 0, now, False
            self._make_durable(memory, line)
        except OSError as error:
            self.close()
            raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        return made(
            Appended, (codec.commit_of(planned.draft, commit_id, at, line_sum), None, version + 1, False)
        )
