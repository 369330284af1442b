"""Putting one commit behind the last one of a segment, while the stream is held (docs/format.md, write order)."""

from __future__ import annotations

from holdfast.core import codec, ids, timestamps
from holdfast.errors import HoldfastError, Unavailable, UnknownOutcome
from holdfast.fs import durable
from holdfast.fs.port import LOCK_UN
from holdfast.store.files import segments
from holdfast.store.files.journal import Journal
from holdfast.store.files.padding import pad_line
from holdfast.store.files.segments import UNREAD
from holdfast.store.files.stream_note import ALONE, LAG_MS, NOTHING, StreamNote
from holdfast.store.files.stream_reader import Place, marks_in
from holdfast.store.files.writer_state import Memory, read_note
from holdfast.store.protocol import Appended, Cursor, Fault, PreparedCommit
from holdfast.typed import made


class StreamPut(StreamNote):
    """A stream that can be appended to."""

    __slots__ = (
        "_journal",
        "_safe",
        "_sound",
        "_unplayed",
        "_until_journal",
    )

    def __init__(self, place: Place, stream: str) -> None:
        super().__init__(place, stream)
        self._journal: Journal | None = None
        self._until_journal = place.journal_policy.after
        """Appends before this handle takes a journal."""
        self._safe = 0
        """So much of the segment at hand is known to survive a power cut."""
        self._sound = False
        """Nothing is waiting in a journal to be taken over."""
        self._unplayed: tuple[Fault, ...] = ()

    def _put(
        self, prepared: PreparedCommit, memory: Memory, cursor: Cursor, version: int, head: str, since: int
    ) -> Appended:
        """Write the commit, note it, release the stream, make it durable: in this order (I1)."""
        if self._until_journal:
            self._count_down()
        draft, numbers, content = prepared
        if content is None:
            content = codec.content_of(draft)
        now = self._clock()
        at = timestamps.iso(now)
        commit_id = ids.next_id(head if head > memory.clock else memory.clock, now, memory.writer)
        line, line_sum = self._write_line(content, commit_id, at, memory.sum, memory.size)
        try:
            memory.grow(len(line), line_sum, commit_id, self._safe)
            if numbers:
                memory = memory.but(numbers={**memory.numbers, **numbers})
            self._alone = alone = self._alone + 1 if since == NOTHING and not numbers else 0
            if alone > ALONE and 0 <= now - self._noted_at < LAG_MS:
                self._unnoted = True  # others go by the note; while there are none it can wait
            else:
                self._remember(memory, now)
            self._held = False
            self._fs.lock(self._lock_fd, LOCK_UN)
            version += 1
            # Before the wait for the disk, while all that it needs is at hand.
            latest = self._covering(cursor, version, memory)
            self._make_durable(memory.size, memory.safe, line)
        except OSError as error:
            self.close()
            raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        self._latest = latest
        events, by, origin, op = draft
        commit = made(codec.Commit, (commit_id, at, by, origin, op, events, line_sum))
        return made(Appended, (commit, latest, version, False))

    def _write_line(
        self, content: bytes, commit_id: str, at: str, previous: str, size: int
    ) -> tuple[bytes, str]:
        """Write the line of a commit behind the ``size`` bytes that the segment has; returns it, and its sum."""
        body, end, line_sum = codec.finish_line(content, commit_id, at, previous)
        line = pad_line(self._segment, commit_id, self._opening, body, end)
        try:
            done = self._fs.write(self._segment_fd, line)
            if done < len(line):  # hardly ever
                durable.write_whole(self._fs, self._segment_fd, line[done:])
        except OSError as error:
            raise self._not_written(error, size + len(line)) from error
        return line, line_sum

    def _covering(self, cursor: Cursor, version: int, memory: Memory) -> Cursor:
        """The cursor moved behind the commit that was just written."""
        name, commit_id = self._segment, memory.clock
        newest = cursor.get("e")
        if newest is not None and newest[0] == name:
            moved = cursor.copy()
        else:
            marks = marks_in(cursor)
            newest = (name, *marks.get(name, UNREAD))
            moved = {"g": (self._serial, self._generation), "s": marks, "f": cursor["f"]}
        moved["n"] = version
        moved["h"] = commit_id
        lines, first = newest[3] + 1, newest[4] or commit_id
        moved["e"] = (name, memory.size, memory.rows, lines, first, commit_id, memory.sum, 0)
        return moved

    def _make_durable(self, size: int, safe: int, line: bytes) -> None:
        """Outside the lock on purpose: processes wait for the disk at the same time, not one behind the other.

        What others wrote before this line and may still wait for goes along: no commit is acknowledged ahead of
        one that it follows.
        """
        journal, wanting = self._journal, size - safe
        if journal is None:
            self._sync()
        elif wanting > journal.window:
            self._empty_journal()
        else:
            if wanting > len(line):
                line = self._fs.read(self._segment_fd, wanting, safe)
            if not journal.put(self._segment, safe, line):
                self._empty_journal()
        self._safe = size

    def _count_down(self) -> None:
        self._until_journal -= 1
        if not self._until_journal:
            self._take_journal()

    def _take_journal(self) -> None:
        """Have a journal from now on, if one can be made. The caller holds the stream."""
        try:
            self._journal = Journal.create(self._place, self._flat)
        except OSError:
            self._until_journal = 16 * self._place.journal_policy.after

    def _empty_journal(self) -> None:
        """Sync the segment: nothing is in the journal alone any more."""
        self._sync()
        memory = self._remembered(read_note(self._fs, self._lock_fd))
        if memory is not None and memory.segment < 0:
            # Somebody else's sync has failed, which may be the reason why this one did not.
            with self.holding():
                self._mended(memory)
        if self._journal is not None:
            self._journal.clear()

    def _leave_journal(self) -> None:
        """Leave the journal as it is, for whoever uses the stream next: its segment could not be synced."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self._sound = False

    def _not_written(self, error: OSError, whole: int) -> HoldfastError:
        # What was written of the line is a torn tail: the next append saves it aside and cuts it off (I5).
        if self._fs.stat_handle(self._segment_fd).st_size < whole:
            return Unavailable(f"{self.stream}: writing failed ({error.strerror}); nothing was stored.")
        return UnknownOutcome(f"{self.stream}: writing failed ({error.strerror}).")

    def _sync(self) -> None:
        self.sync_segment(self._segment, self._segment_fd)

    def sync_segment(self, name: str, fd: int) -> None:
        """Sync a segment. If that fails, nobody appends to it again, and nothing that is only in it counts as stored,
        until its bytes were written once more, to a new file: the kernel may have marked the lost pages clean, and a
        second sync that succeeds proves nothing (I7)."""
        try:
            self._fs.sync(fd)
        except OSError:
            self._leave_journal()
            with self.holding():
                self._sync_failed(name)
            raise

    def _sync_failed(self, name: str) -> None:
        """Note that a segment has to be written once more, and do it if that can be done now. Where a power cut took
        the note, a new one says only this: its writer has forgotten all else, and takes a new name."""
        writer = segments.writer_of(name)
        memory = self._remembered(read_note(self._fs, self._lock_fd)) or Memory(writer)
        try:
            if memory.writer == writer:
                memory = memory.but(segment=-segments.number_of(name))
                self._note_mending(memory)
                self._mended(memory)
            else:
                self._write_anew(self._path(name))
        except OSError:
            pass  # the note says that it still has to be done

    def _mended(self, memory: Memory) -> Memory:
        """Write the segment whose sync failed once more, so that what is read in it is also on the disk."""
        self._write_anew(self._path(segments.name_of(self.stream, memory.writer, -memory.segment)))
        memory = memory.but(segment=0)
        self._note_mending(memory)
        return memory

    def _write_anew(self, path: str) -> None:
        try:
            data = durable.read_whole(self._fs, path)
        except FileNotFoundError:
            return  # gone with a checkout: nothing in it can be repeated
        durable.replace(self._fs, path, data, tag=self._place.tag, durable=True)

    def _note_mending(self, memory: Memory) -> None:
        """Write the note. That does not mean that the memory was compared with the stream."""
        complete = self._complete_for
        self._remember(memory)
        self._complete_for = complete

    def _close_segment(self) -> None:
        """Leave the segment at hand. What of it is in the journal alone is synced first."""
        if self._segment_fd < 0:
            return
        if self._journal is not None and self._journal.is_used:
            self._empty_journal()
        fd, self._segment_fd = self._segment_fd, -1
        self._segment_path, self._segment, self._safe = "", "", 0
        try:
            self._fs.close(fd)
        except OSError:
            pass

    def close(self) -> None:
        try:
            self._close_segment()
        except OSError:
            self._leave_journal()
            self._close_segment()
        if self._journal is not None:
            self._journal.remove()
            self._journal = None
        self._until_journal = self._place.journal_policy.after
        self._close_note()
