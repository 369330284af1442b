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
from holdfast.core.commit import Commit
from holdfast.errors import UnknownOutcome
from holdfast.fs.port import END, HOLD, RELEASE
from holdfast.store.blanks import laid_out
from holdfast.store.note import USUAL_NOTE, fields_of
from holdfast.store.numbered import check_expected
from holdfast.store.protocol import Appended, Cursor, Planned
from holdfast.store.segments import FULL
from holdfast.store.stream_put import StreamPut
from holdfast.typed import made


class StreamBeside(StreamPut):
    """A stream that others append to at the same time."""

    __slots__ = ()

    def _append_beside(self, planned: Planned, cursor: Cursor, expect: int | None) -> Appended | None:
        """Append behind others' commits of this place, if they are all that came since the cursor; None, and nothing
        done, if that is not so or cannot be told at once."""
        memory, generation = self._memory, self._generation
        draft, numbers, content, quiet = planned
        if (
            memory is None
            or content is None
            or numbers
            or self._journal is None
            or self._folder_fd < 0
            or self._complete_for[0] != generation
            or self._start_generation != generation
        ):
            return None
        fs, lock_fd = self._fs, self._lock_fd
        fs.lock(lock_fd, HOLD)
        self._held = True
        try:
            told = fields_of(fs.read(lock_fd, USUAL_NOTE, 0))
            if told is None:
                return None
            size, previous, rows, safe, last, mix, loud, lasting = told
            folder = fs.stat_handle(self._folder_fd)
            reached, rows_then = self._reach
            head = self._place.head
            if (
                lasting != memory.lasting
                or size < reached
                or (size >= FULL and head.common is not None)
                or fs.seek(self._segment_fd, 0, END) != size
                or folder.st_mtime_ns != self._folder_stamp
                or not folder.st_nlink
                or not head.is_at(memory.token, memory.git_index)
            ):
                return None
            version = cursor["n"] + rows - rows_then
            if expect is not None:
                check_expected(self.stream, expect, version)
            now = self._place.clock()
            at = moment.iso(now)
            read = cursor["h"]
            commit_id = ids.next_id(read if read > last else last, now, memory.writer)
            body, end, line_sum = codec.sealed(content, commit_id, at, previous)
            line = laid_out(self._segment, commit_id, self._opening, body, end)
            self._write_line(line, size)
            size += len(line)
            if self._safe > safe:
                safe = self._safe
            mix = (mix + crc32(commit_id.encode())) & 0xFFFFFFFF
            if not quiet:
                loud = size
            noted = f"{size} {line_sum} {rows + 1} {safe} {commit_id} {mix} {loud} {lasting}".encode()
            self._note = note = b"%08x %b" % (crc32(noted), noted)
            try:
                fs.write_at(lock_fd, note, 0)
            except OSError:
                self._memory = (
                    None  # only a note: the next append compares it with the segment, whatever it says
                )
            try:
                self._held = False
                fs.lock(lock_fd, RELEASE)
                memory.size, memory.rows, memory.safe = size, rows + 1, safe
                memory.sum, memory.clock, memory.mix, memory.loud = line_sum, commit_id, mix, loud
                self._latest, self._alone, self._noted_at, self._unnoted = None, 0, now, False
                self._make_durable(memory, line)
            except OSError as error:
                self.close()
                raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        finally:
            if self._held:
                self.unlock()
        events, by, origin, op = draft
        commit = made(Commit, (commit_id, at, by, origin, op, events, line_sum))
        return made(Appended, (commit, None, version + 1, False))
