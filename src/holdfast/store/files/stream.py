"""Appending to one stream on disk, under the stream's lock.

The write order follows from the invariants of docs/format.md, whose numbers the comments cite.
"""

from __future__ import annotations

import errno
import os
from _thread import allocate_lock

from holdfast.core import codec, ids
from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.fs.port import LOCK_EX, SEEK_END
from holdfast.recovery import pins
from holdfast.store.files import segments
from holdfast.store.files.fast_append import StreamAlone
from holdfast.store.files.segments import Mark
from holdfast.store.files.stream_note import NOTHING
from holdfast.store.files.stream_reader import SUM_AND_END, Place, marks_in
from holdfast.store.files.writer_state import Memory, read_note
from holdfast.store.numbered import check_expected, check_op
from holdfast.store.protocol import AppendContext, Appended, Cursor, Fault, Plan, PrebuiltCommit, Tail
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.op_index import Ops

_READ_ONLY = frozenset([errno.EROFS, errno.EACCES, errno.EPERM])


class StreamFiles(StreamAlone):
    """The segments of one stream. Callers hold ``mutex``; a forked child must make its own."""

    __slots__ = ("_ops", "mutex")

    def __init__(self, place: Place, stream: str) -> None:
        super().__init__(place, stream)
        self.mutex = allocate_lock()
        self._ops: Ops | None = None

    def read(self, cursor: Cursor) -> Tail:
        if not self._sound:
            self.make_sound()
        if self._lock_fd >= 0 and self._is_latest(cursor) and not cursor["f"] and not self._unplayed:
            return Tail([], cursor, cursor["n"], cursor["h"], False, ())
        tail = super().read(cursor)
        return tail._replace(faults=(*tail.faults, *self._unplayed)) if self._unplayed else tail

    def append(self, plan: Plan, cursor: Cursor, expect: int | None, op: str | None) -> Appended:
        if not self._sound:
            self.make_sound()
        prepared = None
        if type(plan) is PrebuiltCommit and op is None and plan.prepared.draft.op is None:
            prepared = plan.prepared
        try:
            if prepared is not None and cursor is not None and cursor is self._latest:
                appended = self._append_alone(prepared, cursor, expect)
                if appended is not None:
                    return appended
            if self._lock_fd < 0:
                self._open_lock()
            self._held = True
            try:
                # Inside: an interrupt right behind it must not leave the stream held.
                self._fs.lock(self._lock_fd, LOCK_EX)
                since = self._happened(cursor)
                memory = self._memory
                if prepared is None or since < NOTHING or memory is None or self._is_full(memory):
                    return self._append(plan, cursor, expect, op, since)
                version = cursor["n"]
                if expect is not None:
                    check_expected(self.stream, expect, version)
                return self._put(prepared, memory, cursor, version, cursor["h"], since)
            finally:
                if self._held:
                    self.unlock()
        except HoldfastError:
            raise
        except OSError:
            self.close()
            raise
        except BaseException:
            self._memory, self._unnoted = None, False  # interrupted: it may be half of what was written
            self.close()
            raise

    def _append(self, plan: Plan, cursor: Cursor, expect: int | None, op: str | None, since: int) -> Appended:
        """Append what the plan makes of all that is new."""
        # Before anything is read: a copied folder is put in order first.
        writer = self._place.identity.writer()
        if since == NOTHING:
            faults = self._faults(cursor["f"]) if cursor["f"] else ()
            tail = Tail([], cursor, cursor["n"], cursor["h"], False, faults)
        else:
            self._seen_path = ""
            tail = self.read(cursor)
        if op is not None and (first := self._first_with(op)) is not None:
            self._make_sure()
            return Appended(first, cursor, tail.version, repeated=True)
        check_expected(self.stream, expect, tail.version)
        memory = self._memory
        if since != NOTHING or memory is None:
            memory = self._recall(tail)
            writer = self._place.identity.writer()
        prepared = plan(AppendContext(tail, writer, memory.numbers))
        check_op(prepared.draft.op, op)
        if since != NOTHING or self._is_full(memory):
            memory = self._ready(memory, tail)
        return self._put(prepared, memory, tail.cursor, tail.version, tail.head, since)

    def _first_with(self, op: str) -> codec.Commit | None:
        from holdfast.store.files.op_index import Ops, matches

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
            self._memory = self._remembered(note)
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
        marks = marks_in(tail.cursor)
        unknown = any(
            name.startswith(writer) and segments.number_of(name) > highest and marks[name].lines
            for name in self._listed
        )
        if unknown or pins.knows_more(self._place, self.stream, writer, self._memory, self._listed):
            writer = identity.renew(writer)
            # If the folder turned out to be a copy, the new name has segments by now, and the note tells of them.
            self._folder_stamp = -1
            self._names()
            self._note = read_note(self._fs, self._lock_fd)
            memory = self._remembered(self._note)
            self._memory = memory if memory and memory.writer == writer else None
        self._own_generation = 0
        return self._memory or Memory(writer)

    def _ready(self, memory: Memory, tail: Tail) -> Memory:
        """The memory with a segment that may be appended to: the current one if every condition holds (I2)."""
        token, index = self._head.token(), self._head.index()
        if memory.segment < 0:
            memory = self._mended(memory)
        if memory.segment and memory.token == token and not self._is_full(memory):
            name = segments.name_of(self.stream, memory.writer, memory.segment)
            if memory.git_index != index:
                if self._head.may_be_staged(f"{segments.EVENTS}/{self.stream}/{name}"):
                    return self._new_segment(memory, token, index)
                memory = memory.but(git_index=index)
            mark = marks_in(tail.cursor).get(name)
            if mark is not None and name not in self._put_away and self._open_segment(name):
                size = self._fs.seek(self._segment_fd, 0, SEEK_END)
                if size == memory.size == mark.offset and memory.sum == mark.sum:
                    return memory
                memory = self._continue(memory, mark, size)
                if memory.segment:
                    return memory
        return self._new_segment(memory, token, index)

    def _is_full(self, memory: Memory) -> bool:
        return memory.size >= segments.FULL and self._head.common is not None

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
            self._segment_fd = self._fs.open(path, durable.APPEND)
            self._segment_path, self._segment, self._segment_node = path, name, node
            self._opening = segments.opening_of(self.stream, name)
        return True

    def _continue(self, memory: Memory, mark: Mark, size: int) -> Memory:
        """The segment is not as remembered: go on behind what is whole in it, or give it up (segment 0).

        Whole lines beyond the memory were written by a process that died before it could remember them. Bytes
        that are no line were never acknowledged: nobody else can be writing, so they are a torn tail (I5).
        """
        if mark.offset < memory.size or not self._remembered_at(memory):
            return memory.but(segment=0)
        if not mark.sum or size > mark.offset:
            from holdfast.recovery import quarantine

            mark = quarantine.cut_torn_tail(
                self._fs, self._place, self.stream, self._segment_path, self._segment_fd
            )
            if mark.offset < memory.size:
                return memory.but(segment=0)
        clock = max(memory.clock, mark.last or ids.ZERO)
        return memory.but(size=mark.offset, sum=mark.sum, rows=mark.rows, clock=clock)

    def _remembered_at(self, memory: Memory) -> bool:
        if not memory.size:
            return True
        end = self._fs.read(self._segment_fd, SUM_AND_END, max(0, memory.size - SUM_AND_END))
        return end.endswith(memory.sum.encode() + b'"}\n')

    def _new_segment(self, memory: Memory, token: str, index: str) -> Memory:
        """Open the next segment. Its name is durable before anybody can append to it (I3)."""
        self._close_segment()
        self._sync_last(memory)
        writer = memory.writer
        number = self._next_number(memory)
        name = segments.name_of(self.stream, writer, number)
        path = self._path(name)
        try:
            self._segment_fd = self._fs.open(path, durable.CREATE)
        except FileNotFoundError:
            for folder in (self.folder, os.path.join(self._place.root, *self.stream.split("/"))):
                durable.make_folders(self._fs, folder)  # the second one is for files that people put there
            self._segment_fd = self._fs.open(path, durable.CREATE)
        self._segment_path, self._segment = path, name
        self._segment_node = self._fs.stat_handle(self._segment_fd).st_ino
        self._opening = segments.opening_of(self.stream, name)
        self._renew_listing(sorted([*self._listed, name]))
        pins.keep(self._place, self.stream, path)
        durable.fsync_dirs(self._fs, self.folder, os.path.dirname(self._place.root))
        memory = memory.but(
            segment=number,
            size=0,
            sum=codec.GENESIS,
            rows=0,
            safe=0,
            token=token,
            highest=number,
            git_index=index,
        )
        self._remember(memory)
        return memory

    def _sync_last(self, memory: Memory) -> None:
        """Who wrote the last line of the segment before may still wait for its sync: no later commit goes ahead."""
        if memory.segment <= 0:
            return
        try:
            fd = self._fs.open(
                self._path(segments.name_of(self.stream, memory.writer, memory.segment)), os.O_RDONLY
            )
        except FileNotFoundError:
            return  # gone with a checkout
        try:
            self.sync_segment(segments.name_of(self.stream, memory.writer, memory.segment), fd)
        finally:
            self._fs.close(fd)

    def _next_number(self, memory: Memory) -> int:
        own = [segments.number_of(name) for name in self._listed if name.startswith(memory.writer)]
        return max(memory.highest, *own, 0) + 1

    def make_sound(self) -> None:
        """Before the stream is used: take over what dead processes, or this one before an error, had in journals."""
        self._sound = True
        try:
            self._unplayed = self._take_over()
        except BaseException:
            self._sound = False
            raise

    def _take_over(self) -> tuple[Fault, ...]:
        from holdfast.recovery import replay

        paths = replay.waiting(self._place, self._flat)
        if not paths:
            return ()
        try:
            with self.holding():
                memory = self._remembered(read_note(self._fs, self._lock_fd))
                if memory is not None and memory.segment < 0:
                    self._mended(memory)
                replay.take_over(self._place, self, paths)
        except OSError as error:
            if error.errno not in _READ_ONLY:
                raise
            return replay.left(self._place, self.stream, paths)
        return ()

    def take_number(self, old: str) -> str:
        """The path of a new own segment, for the commits of an old one that are brought back: with its lines in
        another column, so that it is not alike to the old one. The caller holds the stream."""
        memory = self._recall(self.read(None))
        if memory.segment < 0:
            memory = self._mended(memory)
        number = self._next_number(memory)
        number += segments.is_alike(self.stream, old, segments.name_of(self.stream, memory.writer, number))
        self._remember(memory.but(segment=0, highest=number))
        return self._path(segments.name_of(self.stream, memory.writer, number))

    def _make_sure(self) -> None:
        """Before a repeated operation is acknowledged: who wrote it may have died, or failed, before its sync."""
        memory = self._remembered(read_note(self._fs, self._lock_fd))
        if memory is not None and memory.segment < 0:
            self._mended(memory)
        for name in self._names():
            fd = self._fs.open(self._path(name), os.O_RDONLY)
            try:
                self.sync_segment(name, fd)
            finally:
                self._fs.close(fd)
