"""Appending while others append too: what has to be done under the lock, in one go.

Where many processes write to one stream, all of them wait for every step that one takes under the lock, and each takes
it with caches that the others have filled since: a call of a function is felt. So there is a short way for what busy
writers do: events that no rule has to judge, behind commits that are left unread. It asks and writes the same as the
long way does (``_happened`` and ``_put``); where anything else has happened, it leaves the append to that one.
"""

from __future__ import annotations

from zlib import crc32

from holdfast.core import ids, timestamps
from holdfast.core.codec import Commit
from holdfast.errors import UnknownOutcome
from holdfast.fs.port import END, HOLD, RELEASE
from holdfast.store.files.fast_append import StreamAlone
from holdfast.store.files.segments import FULL
from holdfast.store.files.writer_state import BEGINNING, GROWING, UNKNOWN, pack, unpack
from holdfast.store.numbered import check_expected
from holdfast.store.protocol import Appended, Planned
from holdfast.typed import made


class StreamBeside(StreamAlone):
    """A stream that others append to at the same time."""

    __slots__ = ()

    def _append_beside(self, planned: Planned, expect: int | None) -> Appended | None:
        """Append behind others' commits of this place, if they are all that came since ``_start``; None, and nothing
        done, if that is not so or cannot be told at once."""
        memory, generation = self._memory, self._generation
        draft, numbers, content, quiet = planned
        events, by, origin, op = draft
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
        fs, lock_fd, head, held = self._fs, self._lock_fd, self._head, True
        try:
            fs.lock(lock_fd, HOLD)  # inside: an interrupt right behind it must not leave the stream held
            note = fs.read(lock_fd, BEGINNING, 0)
            if len(note) < BEGINNING:
                return None
            mix, size, rows, safe, loud, previous, last, checksum = unpack(note)
            folder = fs.stat_handle(self._folder_fd)
            reached, _, beside, read = self._reach
            if (
                crc32(note[:GROWING], memory.seed) != checksum
                or size < reached
                or (size >= FULL and head.common is not None)
                or fs.seek(self._segment_fd, 0, END) != size
                or folder.st_mtime_ns != self._folder_stamp
                or not folder.st_nlink
                or not head.is_at(memory.token, memory.git_index)
            ):
                return None
            if expect is not None:
                check_expected(self.stream, expect, beside + rows)
            now = self._clock()
            at = timestamps.iso(now)
            commit_id = ids.next_id(read if read > last else last, now, memory.writer)
            line, line_sum = self._write_line(content, commit_id, at, previous.decode(), size)
            size += len(line)
            rows += 1
            if self._safe > safe:
                safe = self._safe
            last = commit_id.encode()
            mix = (mix + crc32(last)) & 0xFFFFFFFF
            if not quiet:
                loud = size
            growing = pack(mix, size, rows, safe, loud, line_sum.encode(), last)
            try:
                fs.write_at(lock_fd, growing + crc32(growing, memory.seed).to_bytes(4, "little"), 0)
            except OSError:
                self._memory = None  # only a note: the next append compares it, whatever it says
            # Who goes the long way next reads what is noted now; nothing is remembered of it here.
            self._note, self._latest = UNKNOWN, None
            try:
                held = False
                fs.lock(lock_fd, RELEASE)
                self._make_durable(size, safe, line)
            except OSError as error:
                self.close()
                raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        finally:
            if held:
                fs.lock(lock_fd, RELEASE)
        commit = made(Commit, (commit_id, at, by, origin, op, events, line_sum))
        return made(Appended, (commit, None, beside + rows, False))
