"""Putting one commit behind the last one of a segment, while the stream is held (docs/format.md, write order)."""

from __future__ import annotations

import os

from holdfast.core import commit as codec
from holdfast.core import ids, moment
from holdfast.errors import HoldfastError, Unavailable, UnknownOutcome
from holdfast.fs import steps
from holdfast.store import segments
from holdfast.store.blanks import laid_out
from holdfast.store.protocol import Appended, Cursor, Planned, Tail
from holdfast.store.segments import UNREAD, Mark
from holdfast.store.stream_note import GROWN, NOTHING, StreamNote
from holdfast.store.writer import Memory, decode_memory, grown, read_note


class StreamPut(StreamNote):
    """A stream that can be appended to."""

    def _put(self, planned: Planned, memory: Memory, tail: Tail, since: int) -> Appended:
        """Write the commit, note it, release the stream, sync: in this order (I1)."""
        now = self._place.clock()
        commit_id = ids.next_id(max(tail.head, memory.clock), now, memory.writer)
        line, commit = codec.encode(planned.draft, commit_id, moment.iso(now), memory.sum, planned.content)
        name = self._segment_path.rpartition(os.sep)[2]
        line = laid_out(f"{name}/{commit_id}", self._opening, line)
        try:
            steps.write_whole(self._fs, self._segment_fd, line)
        except OSError as error:
            raise self._not_written(error, memory.size + len(line)) from error
        try:
            memory = grown(memory, len(line), commit.sum, commit_id, planned.numbers)
            if self._may_lag(now, since == NOTHING) and not planned.numbers:
                self._memory, self._unnoted = memory, True
            else:
                self._remember(memory, now)
            self.unlock()
            self._sync_segment()
        except OSError as error:
            self.close()
            raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        self._latest = None if since == GROWN else self._covering(tail, memory, commit_id)
        return Appended(commit, self._latest, tail.version + 1, repeated=False)

    def _covering(self, tail: Tail, memory: Memory, commit_id: str) -> Cursor:
        """The tail's cursor moved behind the commit that was just written."""
        name = self._segment_path.rpartition(os.sep)[2]
        cursor = tail.cursor
        before = cursor["s"].get(name, UNREAD)
        mark = Mark(
            memory.size, memory.rows, before.lines + 1, before.first or commit_id, commit_id, memory.sum, 0
        )
        return {
            "g": (self._serial, self._generation),
            "n": tail.version + 1,
            "h": commit_id,
            "s": {**cursor["s"], name: mark},
            "f": cursor["f"],
        }

    def _not_written(self, error: OSError, whole: int) -> HoldfastError:
        # What was written of the line is a torn tail: the next append saves it aside and cuts it off (I5).
        if self._fs.stat_handle(self._segment_fd).st_size < whole:
            return Unavailable(f"{self.stream}: writing failed ({error.strerror}); nothing was stored.")
        return UnknownOutcome(f"{self.stream}: writing failed ({error.strerror}).")

    def _sync_segment(self) -> None:
        """Outside the lock on purpose: one flush of the disk can then serve several waiting processes."""
        try:
            self._fs.sync(self._segment_fd)
        except OSError:
            # The kernel may have marked the lost pages clean: a second sync that succeeds proves nothing.
            # So nobody appends to this segment again, and nothing that is only in it counts as stored, until
            # its bytes were written once more, to a new file (I7).
            self.lock()
            name = os.path.basename(self._segment_path)
            memory = decode_memory(read_note(self._fs, self._lock_fd))
            if memory is not None and memory.writer == segments.writer_of(name):
                self._remember(memory._replace(segment=-segments.number_of(name)))
                try:
                    self._mended(memory._replace(segment=-segments.number_of(name)))
                except OSError:
                    pass  # the note says that it still has to be done
            raise

    def _mended(self, memory: Memory) -> Memory:
        """Write the segment whose sync failed once more, so that what is read in it is also on the disk."""
        path = self._path(segments.name_of(self.stream, memory.writer, -memory.segment))
        try:
            data = steps.read_whole(self._fs, path)
        except FileNotFoundError:
            pass  # gone with a checkout: nothing in it can be repeated
        else:
            steps.replace(self._fs, path, data, tag=self._place.tag, durable=True)
        memory = memory._replace(segment=0)
        self._remember(memory)
        return memory

    def _close_segment(self) -> None:
        if self._segment_fd >= 0:
            fd, self._segment_fd = self._segment_fd, -1
            self._segment_path = ""
            try:
                self._fs.close(fd)
            except OSError:
                pass

    def close(self) -> None:
        self._close_segment()
        self._close_note()
