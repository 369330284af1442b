"""Appending to one stream on disk, under the stream's lock.

The write order follows from the invariants of docs/format.md, whose numbers the comments cite.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from holdfast.core import commit as codec
from holdfast.core import ids, moment
from holdfast.errors import Conflict, Unavailable, UnknownOutcome
from holdfast.fs import steps
from holdfast.store import kept, segments
from holdfast.store.numbered import check_op
from holdfast.store.protocol import Appended, Cursor, Ground, Plan, Tail
from holdfast.store.segments import UNREAD, Mark
from holdfast.store.stream_note import StreamNote
from holdfast.store.stream_reader import SUM_AND_END, Place
from holdfast.store.writer import BLANK, Memory, decode_memory, grown, read_note
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.ops import Ops


class StreamFiles(StreamNote):
    """The segments of one stream. Callers hold ``mutex``; a forked child must make its own."""

    def __init__(self, place: Place, stream: str) -> None:
        super().__init__(place, stream)
        self.mutex = allocate_lock()
        self._latest: Cursor = None
        self._ops: Ops | None = None

    def append(
        self, plan: Plan, cursor: Cursor, expect: int | None, op: str | None, unread: bool = False
    ) -> Appended:
        written = False
        try:
            writer = (
                self._place.identity.writer()
            )  # before anything is read: a copied folder is put in order first
            self.lock()
            try:
                still = cursor is not None and cursor is self._latest and self._undisturbed()
                if not still:
                    # What follows may renew the note and then be refused: the old cursor would look new again.
                    self._latest = None
                blind = not still and unread and op is None and self._only_grown(cursor)
                if still:
                    tail = self._nothing_new(cursor)
                elif blind:
                    tail = self._left_unread(cursor)
                else:
                    tail = self._read_again(cursor)
                if op is not None and (first := self._first_with(op)) is not None:
                    self._make_sure()
                    return Appended(first, cursor, tail.version, repeated=True)
                if expect is not None and expect != tail.version:
                    raise Conflict(
                        f"{self.stream} is at version {tail.version}, not {expect}; nothing was written."
                    )
                known = still or blind
                memory = self._memory
                if not known or memory is None:
                    memory = self._recall(tail)
                    writer = self._place.identity.writer()
                planned = plan(Ground(tail, writer, memory.numbers))
                check_op(planned.draft.op, op)
                if not known:
                    memory = self._ready(memory, tail)
                now = self._place.clock()
                commit_id = ids.next_id(max(tail.head, memory.clock), now, writer)
                line, commit = codec.encode(
                    planned.draft, commit_id, moment.iso(now), memory.sum, planned.content
                )
                self._write(line, memory.size)
                written = True
                memory = grown(memory, len(line), commit.sum, commit_id, planned.numbers)
                if self._may_lag(now, still) and not planned.numbers:
                    self._memory, self._unnoted = memory, True
                else:
                    self._remember(memory, now)
                after = None if blind else self._covering(tail, memory, commit_id)
                self._latest = after
            finally:
                self.unlock()
            self._sync_segment()
        except OSError as error:
            self.close()
            if written:
                raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
            raise
        return Appended(commit, after, tail.version + 1, repeated=False)

    def _left_unread(self, cursor: Cursor) -> Tail:
        memory = self._memory
        assert memory is not None
        mark = cursor["s"].get(segments.name_of(memory.writer, memory.segment), UNREAD)
        version = cursor["n"] + memory.rows - mark.rows
        return Tail((), cursor, version, max(cursor["h"], memory.clock), False, ())

    def _nothing_new(self, cursor: Cursor) -> Tail:
        faults = self._faults(cursor["f"]) if cursor["f"] else ()
        return Tail([], cursor, cursor["n"], cursor["h"], False, faults)

    def _read_again(self, cursor: Cursor) -> Tail:
        self._seen_path = ""
        return self.read(cursor)

    def _first_with(self, op: str) -> codec.Commit | None:
        from holdfast.store.ops import Ops, matches

        if self._ops is None:
            note = f"local/ops/{self._flat}"
            self._ops = Ops(
                self.read, lambda: self._place.load(note), lambda data: self._place.save(note, data)
            )
        if self._ops.may_have(op):
            for line in self.backward():
                if matches(line, op):
                    return codec.decode(line)
        return None

    def _recall(self, tail: Tail) -> Memory:
        """What this writer remembers; if it must have forgotten something, it takes a new identity first."""
        note = read_note(self._fs, self._lock_fd)
        if self._memory is None or note != self._note:
            self._memory = decode_memory(note)
            self._note = note
        if self._memory and self._complete_for == (
            self._generation,
            self._memory.writer,
            self._memory.highest,
        ):
            return self._memory
        identity = self._place.identity
        writer = identity.writer()
        if self._memory is not None and self._memory.writer != writer:
            writer = identity.reload()
            if self._memory.writer != writer:
                self._memory = None
        highest = self._memory.highest if self._memory else 0
        marks: dict[str, Mark] = tail.cursor["s"]
        unknown = any(
            name.startswith(writer) and segments.number_of(name) > highest and marks[name].lines
            for name in self._listed
        )
        if unknown or kept.knows_more(self._place, self.stream, writer, self._memory, self._listed):
            writer = identity.renew(writer)
            self._memory = None
        self._own_generation = 0
        return self._memory or BLANK._replace(writer=writer)

    def _ready(self, memory: Memory, tail: Tail) -> Memory:
        """The memory with a segment that may be appended to: the current one if every condition holds (I2)."""
        token, index = self._place.head.token(), self._place.head.index()
        if memory.segment < 0:
            memory = self._mended(memory)
        if memory.segment and memory.token == token:
            name = segments.name_of(memory.writer, memory.segment)
            if memory.git_index != index:
                if self._place.head.may_be_staged(f"{self.stream}/events/{name}"):
                    return self._new_segment(memory, token, index)
                memory = memory._replace(git_index=index)
            mark = tail.cursor["s"].get(name)
            if mark is not None and name not in self._put_away and self._open_segment(name):
                size = self._fs.stat_handle(self._segment_fd).st_size
                if size == memory.size == mark.offset and memory.sum == mark.sum:
                    return memory
                memory = self._continue(memory, mark, size)
                if memory.segment:
                    return memory
        return self._new_segment(memory, token, index)

    def _open_segment(self, name: str) -> bool:
        path = self._path(name)
        if path == self._seen_path:  # under this very lock, by the reading before
            node = self._seen_node
        else:
            try:
                node = self._fs.stat(path).st_ino
            except FileNotFoundError:
                return False
        if path != self._segment_path or node != self._segment_node:
            self._close_segment()
            self._segment_fd = self._fs.open(path, steps.APPEND)
            self._segment_path, self._segment_node = path, node
        return True

    def _continue(self, memory: Memory, mark: Mark, size: int) -> Memory:
        """The segment is not as remembered: go on behind what is whole in it, or give it up (segment 0).

        Whole lines beyond the memory were written by a process that died before it could remember them. Bytes
        that are no line were never acknowledged: nobody else can be writing, so they are a torn tail (I5).
        """
        if mark.offset < memory.size or not self._remembered_at(memory):
            return memory._replace(segment=0)
        if not mark.sum or size > mark.offset:
            from holdfast.store import quarantine

            mark = quarantine.cut_torn_tail(
                self._fs, self._place, self.stream, self._segment_path, self._segment_fd
            )
            if mark.offset < memory.size:
                return memory._replace(segment=0)
        clock = max(memory.clock, mark.last or ids.ZERO)
        return memory._replace(size=mark.offset, sum=mark.sum, rows=mark.rows, clock=clock)

    def _remembered_at(self, memory: Memory) -> bool:
        if not memory.size:
            return True
        end = self._fs.read(self._segment_fd, SUM_AND_END, max(0, memory.size - SUM_AND_END))
        return end.endswith(memory.sum.encode() + b'"}\n')

    def _new_segment(self, memory: Memory, token: str, index: str) -> Memory:
        """Open the next segment. Its name is durable before anybody can append to it (I3)."""
        self._close_segment()
        writer = memory.writer
        number = self._next_number(memory)
        path = self._path(segments.name_of(writer, number))
        try:
            self._segment_fd = self._fs.open(path, steps.CREATE)
        except FileNotFoundError:
            steps.make_folders(self._fs, self.folder)
            self._segment_fd = self._fs.open(path, steps.CREATE)
        self._segment_path = path
        self._segment_node = self._fs.stat_handle(self._segment_fd).st_ino
        self._renew_listing(sorted([*self._listed, os.path.basename(path)]))
        kept.keep(self._place, self.stream, path)
        steps.sync_names(self._fs, self.folder, os.path.dirname(self._place.root))
        memory = memory._replace(
            segment=number, size=0, sum=codec.GENESIS, rows=0, token=token, highest=number, git_index=index
        )
        self._remember(memory)
        return memory

    def _next_number(self, memory: Memory) -> int:
        own = [segments.number_of(name) for name in self._listed if name.startswith(memory.writer)]
        return max(memory.highest, *own, 0) + 1

    def take_number(self) -> str:
        """The path of a new own segment, for commits that are brought back. The caller holds the stream."""
        memory = self._recall(self.read(None))
        if memory.segment < 0:
            memory = self._mended(memory)
        number = self._next_number(memory)
        self._remember(memory._replace(segment=0, highest=number))
        return self._path(segments.name_of(memory.writer, number))

    def _write(self, line: bytes, size: int) -> None:
        try:
            steps.write_whole(self._fs, self._segment_fd, line)
        except OSError as error:
            # What was written of the line is a torn tail: the next append saves it aside and cuts it off (I5).
            if self._fs.stat_handle(self._segment_fd).st_size < size + len(line):
                raise Unavailable(
                    f"{self.stream}: writing failed ({error.strerror}); nothing was stored."
                ) from error
            raise UnknownOutcome(f"{self.stream}: writing failed ({error.strerror}).") from error

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
        path = self._path(segments.name_of(memory.writer, -memory.segment))
        try:
            data = steps.read_whole(self._fs, path)
        except FileNotFoundError:
            pass  # gone with a checkout: nothing in it can be repeated
        else:
            steps.replace(self._fs, path, data, tag=self._place.tag, durable=True)
        memory = memory._replace(segment=0)
        self._remember(memory)
        return memory

    def _make_sure(self) -> None:
        """Before a repeated operation is acknowledged: who wrote it may have died, or failed, before its sync."""
        memory = decode_memory(read_note(self._fs, self._lock_fd))
        if memory is not None and memory.segment < 0:
            self._mended(memory)
        for name in self._names():
            fd = self._fs.open(self._path(name), os.O_RDONLY)
            try:
                self._fs.sync(fd)
            finally:
                self._fs.close(fd)

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

    # -- closing ------------------------------------------------------------------------------------------

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
