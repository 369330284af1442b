"""One stream on disk: appending under the stream's lock, and reading.

The write order follows from the invariants of docs/format.md, whose numbers the comments cite.
"""

from __future__ import annotations

import errno
import os
from _thread import allocate_lock
from collections.abc import Iterator

from holdfast.core import codec, ids, timestamps
from holdfast.core.stream import flat
from holdfast.errors import HoldfastError, Unavailable, UnknownOutcome
from holdfast.fs import durable
from holdfast.store.files import pins, segments
from holdfast.store.files.cursor import Cursor
from holdfast.store.files.journal import Journal, journals_of
from holdfast.store.files.lockfile import StreamLock, WriterState
from holdfast.store.files.padding import pad_line
from holdfast.store.files.segment_set import SegmentSet
from holdfast.store.numbered import check_expected, check_op
from holdfast.store.protocol import AppendContext, Appended, Fault, Plan, PrebuiltCommit, PreparedCommit, Tail
from holdfast.typed import TYPE_CHECKING, Any, Record, new_record

if TYPE_CHECKING:
    from holdfast.store.files.op_index import Ops
    from holdfast.store.files.place import Place

_READ_ONLY = frozenset([errno.EROFS, errno.EACCES, errno.EPERM])
UNCHANGED, UNKNOWN = 0, 1
"""What may have happened to a stream since a cursor."""


class _Written(Record):
    """A commit that is in its segment, and how much of the segment is durable."""

    appended: Appended
    size: int
    """Of the segment, with the commit."""
    safe: int
    """So much of it already survives a power cut."""
    line: bytes
    """Empty if nothing was written."""


class Stream:
    """The segments, the lock and the journal of one stream. Callers hold ``mutex``; a forked child creates its own."""

    __slots__ = (
        "_compared",
        "_fs",
        "_latest",
        "_newest",
        "_ops",
        "_pending",
        "_place",
        "_recovered",
        "journal",
        "lock",
        "mutex",
        "segments",
        "stream",
    )

    def __init__(self, place: Place, stream: str) -> None:
        self.stream = stream
        self.mutex = allocate_lock()
        self.segments = SegmentSet(place, stream, self.sync_segment)
        self.lock = StreamLock(place, stream)
        self.journal = Journal(place, flat(stream))
        self._place = place
        self._fs = place.fs
        self._recovered = False
        """No journal of a dead process is waiting to be replayed."""
        self._pending: tuple[Fault, ...] = ()
        """Journals that cannot be replayed because the workspace is not writable."""
        self._latest: Cursor | None = None
        """The cursor after this handle's own last commit."""
        self._compared = (0, "", 0)
        """The listing, the writer and the highest number for which the header was compared with the segments."""
        self._newest: list[bytes] = []
        """What the header said of the newest segment before the segments were last listed."""
        self._ops: Ops | None = None

    # -- reading ------------------------------------------------------------------------------------------

    def read(self, cursor: Any) -> Tail:
        """The commits after the cursor."""
        if not self._recovered:
            self.recover()
        if self.lock.is_open and self._changes_since(cursor) == UNCHANGED:
            self._latest = cursor = self.segments.with_time(cursor)
            tail = self._nothing_new(cursor)
        else:
            self._notice_segments()
            tail = self.segments.read(cursor)
        return tail._replace(faults=(*tail.faults, *self._pending)) if self._pending else tail

    def _nothing_new(self, cursor: Cursor) -> Tail:
        faults = self.segments.faults(cursor) if cursor.problems or cursor.lost else ()
        return new_record(Tail, ([], cursor, cursor.version, cursor.head, False, faults))

    def backward(self) -> Iterator[bytes]:
        """All commits, newest first. The stream was read before."""
        return self.segments.backward()

    def _notice_segments(self) -> None:
        """Have the folder listed again if another process of this place has created or removed a segment: the folder's
        modification time tells that only as exactly as the file system stores it."""
        newest = self.lock.newest_segment()
        if newest != self._newest:
            if self._newest or not self.segments.has_listed(newest):
                self.segments.expire()
            self._newest = newest

    def _changes_since(self, cursor: Any) -> int:
        """Whether the stream may have changed since the cursor.

        UNCHANGED: it is the cursor after this handle's own last commit, and what was read, verified and stored for
        that one still holds. Any other process leaves a different header, any other program a different folder time,
        length or git HEAD.
        """
        state = self.lock.state
        if (
            cursor is not None
            and state is not None
            and cursor == self._latest
            and self.lock.is_unchanged()
            and self._compared[0] == self.segments.generation
            and self.segments.is_unchanged(state.size, cursor)
            and self._place.head.is_at(state.token, state.git_index)
        ):
            return UNCHANGED
        return UNKNOWN

    # -- appending ----------------------------------------------------------------------------------------

    def append(self, plan: Plan, cursor: Any, expect: int | None, op: str | None) -> Appended:
        """Write the commit, store the header, release the lock, make the commit durable: in this order (I1)."""
        if not self._recovered:
            self.recover()
        written: _Written | None = None
        try:
            with self.lock:
                written = self._append(plan, cursor, expect, op)
            appended, size, safe, line = written
            if line:
                # Outside the lock on purpose: processes wait for the disk at the same time, not one after another.
                self._make_durable(size, safe, line)
            return appended
        except HoldfastError:
            raise
        except OSError as error:
            self.close()
            if written is None:
                raise
            raise UnknownOutcome(f"{self.stream}: a file call failed ({error.strerror}).") from error
        except BaseException:
            self.lock.forget()  # interrupted: it may be half written
            self.close()
            raise

    def _append(self, plan: Plan, cursor: Any, expect: int | None, op: str | None) -> _Written:
        """Write what the plan makes of all that is new."""
        unchanged = self._changes_since(cursor) == UNCHANGED
        tail: Tail | None = None
        if not unchanged and type(plan) is PrebuiltCommit and op is None and expect is None:
            written = self._append_unread(plan.prepared, cursor)
            if written is not None:
                return written
        if unchanged:
            start: Cursor = cursor
        else:
            # Until this append succeeds: if it is refused, the old cursor must not become valid again.
            self._latest = None
            self._place.identity.writer()  # before anything is read: a copied folder is put in order first
            self._notice_segments()
            tail = self.segments.read(cursor)
            start = tail.cursor
        if op is not None and (first := self._first_with(op)) is not None:
            self._make_all_durable()
            return _Written(Appended(first, cursor, start.version, repeated=True), 0, 0, b"")
        if expect is not None:
            check_expected(self.stream, expect, start.version)
        state = self.lock.state
        if state is None or not unchanged:
            state = self._load_state(start)
            start = self._with_loss(state, start)
        if unchanged and type(plan) is PrebuiltCommit:
            prepared = plan.prepared
        else:
            context = AppendContext(tail or self._nothing_new(start), state.writer, state.numbers)
            prepared = plan(context)
        check_op(prepared.draft.op, op)
        if not unchanged or self._is_full(state):
            state, start = self._writable(state, start)
        commit, state, line = self._put(prepared, state, start.head)
        self._latest = latest = self.segments.after(start, state.size, state.rows, commit.id, commit.sum)
        appended = new_record(Appended, (commit, latest, latest.version, False))
        return new_record(_Written, (appended, state.size, state.safe, line))

    def _append_unread(self, prepared: PreparedCommit, cursor: Any) -> _Written | None:
        """The fast path under contention: write a prebuilt commit after commits that this handle has not read.

        They are all in the open segment, written by other processes of this writer, and the header tells all that the
        next commit needs of them. None, and nothing written, if anything else may have happened. The handle's cursor
        stays where it is: one reading of many commits is cheaper than many readings of a few, under the lock.
        """
        state, segment = self.lock.load(), self.segments.open
        if (
            state is None
            or segment is None
            or type(cursor) is not Cursor
            or prepared.draft.op is not None
            or self._compared != (self.segments.generation, state.writer, state.highest)
            or segment.name != segments.name_of(self.stream, state.writer, state.segment)
            or not self.segments.is_only_grown(state.size, cursor)
            or not self._place.head.is_at(state.token, state.git_index)
            or self._is_full(state)
        ):
            return None
        commit, state, line = self._put(prepared, state, cursor.head)
        self._latest = None
        version = cursor.version + state.rows - cursor.marks[segment.name].rows
        appended = new_record(Appended, (commit, None, version, False))
        return new_record(_Written, (appended, state.size, state.safe, line))

    def _put(
        self, prepared: PreparedCommit, state: WriterState, head: str
    ) -> tuple[codec.Commit, WriterState, bytes]:
        """Write a commit after everything in the stream: its id is later than ``head``, the last one that was read."""
        self.journal.count_append()
        draft, numbers, content = prepared
        if content is None:
            content = codec.content_of(draft)
        now = self._place.clock()
        at = timestamps.iso(now)
        commit_id = ids.next_id(head if head > state.clock else state.clock, now, state.writer)
        line, line_sum = self._write_line(content, commit_id, at, state)
        state.grow(len(line), line_sum, commit_id, self.journal.safe)
        if numbers:
            state.use_numbers(numbers)
        self._store_state(state)
        events, by, origin, op = draft
        return new_record(codec.Commit, (commit_id, at, by, origin, op, events, line_sum)), state, line

    def _write_line(self, content: bytes, commit_id: str, at: str, state: WriterState) -> tuple[bytes, str]:
        """Append the line of a commit to the open segment; returns it, and its checksum."""
        segment = self.segments.open
        assert segment is not None
        body, end, line_sum = codec.finish_line(content, commit_id, at, state.sum)
        line = pad_line(segment.name, commit_id, segment.opening, body, end)
        try:
            done = self._fs.write(segment.fd, line)
            if done < len(line):  # rare
                durable.write_whole(self._fs, segment.fd, line[done:])
        except OSError as error:
            # What was written of the line is a torn tail: the next append saves it aside and cuts it off (I5).
            kind: type[HoldfastError] = UnknownOutcome
            try:
                if self._fs.stat_handle(segment.fd).st_size < state.size + len(line):
                    kind = Unavailable
            except OSError:
                pass  # nobody can tell
            stored = "; nothing was stored" if kind is Unavailable else ""
            raise kind(f"{self.stream}: writing failed ({error.strerror}){stored}.") from error
        return line, line_sum

    def _make_durable(self, size: int, safe: int, line: bytes) -> None:
        """Make the segment durable up to ``size``; up to ``safe`` it already is."""
        segment, journal = self.segments.open, self.journal
        assert segment is not None
        if not journal.is_open:
            self.sync_segment(segment.name, segment.fd)
        elif not journal.put(segment.name, segment.fd, safe, size, line):
            self._flush()
        journal.safe = size

    def _flush(self) -> None:
        """Sync the open segment: then nothing is in the journal alone."""
        segment = self.segments.open
        assert segment is not None
        self.sync_segment(segment.name, segment.fd)
        state = self.lock.peek()
        if state is not None and state.segment < 0:
            # Another process's sync has failed, which may be why this one did not.
            with self.lock:
                self._rewrite_unsynced(state)
        self.journal.clear()

    def _first_with(self, op: str) -> codec.Commit | None:
        """The commit that has this operation id."""
        from holdfast.store.files.blobs import Blobs
        from holdfast.store.files.op_index import Ops, matches

        if self._ops is None:
            note = f"local/ops/{flat(self.stream)}"
            self._ops = Ops(
                self.read, lambda: self._place.load(note), lambda data: self._place.save(note, data)
            )
        if self._ops.may_have(op):
            for line in self.backward():
                if matches(line, op):
                    return codec.decode(Blobs(self._place).whole(self.stream, line))
        return None

    def _make_all_durable(self) -> None:
        """Before a repeated operation is acknowledged: its writer may have died, or failed, before its sync."""
        state = self.lock.peek()
        if state is not None and state.segment < 0:
            self._rewrite_unsynced(state)
        for name in self.segments.names():
            self._sync_closed(name)

    # -- the writer's state -------------------------------------------------------------------------------

    def _store_state(self, state: WriterState) -> None:
        """Write the header of a state that agrees with the segments."""
        if self.lock.store(state):
            self._compared = (self.segments.generation, state.writer, state.highest)

    def _load_state(self, cursor: Cursor) -> WriterState:
        """The writer's state; if part of it must be lost, the writer first takes a new identity."""
        state = self.lock.load()
        if state is not None and self._compared == (self.segments.generation, state.writer, state.highest):
            return state
        identity = self._place.identity
        writer = identity.writer()
        if state is not None and state.writer != writer:
            writer = identity.reload()
            # That may have found the folder to be a copy, and given the open segment to the new name.
            self.segments.list_again()
            state = self.lock.load()
            if state is not None and state.writer != writer:
                state = None
        if self._has_forgotten(state, writer, cursor):
            writer = identity.renew(writer)
            # If the folder is a copy, the new identity now has segments, and the header lists them.
            self.segments.list_again()
            state = self.lock.load()
            if state is not None and state.writer != writer:
                state = None
        self.segments.writer_changed()
        if state is None:
            self.lock.forget()
        return state or WriterState(writer)

    def _has_forgotten(self, state: WriterState | None, writer: str, cursor: Cursor) -> bool:
        """Whether the writer wrote something that its state lacks."""
        highest = state.highest if state else 0
        listed = self.segments.listed()
        return any(
            name.startswith(writer)
            and segments.number_of(name) > highest
            and cursor.marks.get(name, segments.UNREAD).lines
            for name in listed
        ) or pins.is_state_stale(self._place, self.stream, writer, state, listed)

    def _writable(self, state: WriterState, cursor: Cursor) -> tuple[WriterState, Cursor]:
        """The state with an open segment that may be appended to: the current one if every condition holds (I2). The
        cursor with it: a torn tail that was cut off is no longer a problem."""
        head = self._place.head
        token, index = head.token(), head.index()
        if state.segment < 0:
            state = self._rewrite_unsynced(state)
        if state.segment and state.token == token and not self._is_full(state):
            name = segments.name_of(self.stream, state.writer, state.segment)
            node = self.segments.node_of(name)
            if pins.was_replaced(self._place, self.stream, name, node, state.git_index != index):
                return self._new_segment(state, token, index), cursor
            if state.git_index != index:
                if head.may_be_staged(f"{segments.EVENTS}/{self.stream}/{name}"):
                    return self._new_segment(state, token, index), cursor
                state = state.replace(git_index=index)
            mark = cursor.marks.get(name)
            if mark is not None and not self.segments.is_archived(name) and self._open_segment(name):
                size = self.segments.size()
                if size == state.size == mark.offset and state.sum == mark.sum:
                    return state, cursor
                if mark.offset >= state.size:
                    from holdfast.store.files import quarantine

                    continued = quarantine.continue_segment(self._place, self.segments, state, size)
                    if continued is not None:
                        return continued, quarantine.without_tail(cursor, name, state.rows)
        return self._new_segment(state, token, index), cursor

    def _with_loss(self, state: WriterState, cursor: Cursor) -> Cursor:
        """The cursor, with what its segment has lost of what the header knows to be on the disk."""
        name = segments.name_of(self.stream, state.writer, state.segment)
        mark = cursor.marks.get(name)
        if mark is None or mark.offset >= state.safe:  # a missing segment was removed by a checkout
            return cursor
        if any(name == lost for lost, _, _ in cursor.lost):
            return cursor
        return cursor._replace(lost=(*cursor.lost, (name, state.rows - mark.lines, state.clock)))

    def _is_full(self, state: WriterState) -> bool:
        return state.size >= segments.FULL and self._place.head.common is not None

    def _open_segment(self, name: str) -> bool:
        """Open a segment for appending, if it exists and is not open."""
        node, current = self.segments.node_of(name), self.segments.open
        if node is None:
            return False
        if current is None or current.path != self.segments.path_of(name) or current.node != node:
            self._close_segment()
            self.segments.open_for_append(name, node)
        return True

    def _new_segment(self, state: WriterState, token: str, index: str) -> WriterState:
        """Create the next segment. Its name is durable before anybody can append to it (I3)."""
        self._close_segment()
        if state.segment > 0:
            # The last line of the previous segment may still wait for its sync: no later commit may overtake it.
            self._sync_closed(segments.name_of(self.stream, state.writer, state.segment))
        number = self._next_number(state)
        try:
            created = self.segments.create(segments.name_of(self.stream, state.writer, number))
        except FileExistsError:  # not of this listing
            self.segments.list_again()
            number = self._next_number(state)
            created = self.segments.create(segments.name_of(self.stream, state.writer, number))
        pins.pin_segment(self._place, self.stream, created.path)
        durable.fsync_dirs(self._fs, self.segments.folder, os.path.dirname(self._place.root))
        state = state.replace(
            segment=number,
            size=0,
            sum=codec.GENESIS,
            rows=0,
            safe=0,
            token=token,
            highest=number,
            git_index=index,
        )
        self._store_state(state)
        self._newest = self.lock.newest_segment()  # nobody else can have created one since the listing
        return state

    def _next_number(self, state: WriterState) -> int:
        own = [segments.number_of(name) for name in self.segments.listed() if name.startswith(state.writer)]
        return max(state.highest, *own, 0) + 1

    def take_number(self, old: str) -> str:
        """The path of a new own segment for the restored commits of an old one: its lines begin in another column, so
        that git does not match the two. The caller holds the lock."""
        state = self._load_state(self.segments.read(None).cursor)
        if state.segment < 0:
            state = self._rewrite_unsynced(state)
        number = self._next_number(state)
        number += segments.same_column(self.stream, old, segments.name_of(self.stream, state.writer, number))
        self._store_state(state.replace(segment=0, highest=number))
        return self.segments.path_of(segments.name_of(self.stream, state.writer, number))

    def leave_segment(self) -> None:
        """Store that the current segment is not appended to any more. The caller holds the lock."""
        state = self.lock.peek()
        if state is not None and state.segment > 0:
            self.lock.store(state.replace(segment=0))

    # -- recovery -----------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Before the stream is used: replay journals left by dead processes, or by this one after an error."""
        self._recovered = True
        try:
            self._pending = self._replay()
        except BaseException:
            self._recovered = False
            raise

    def _replay(self) -> tuple[Fault, ...]:
        paths = journals_of(self._place, flat(self.stream))
        if not paths:
            return ()
        from holdfast.store.files import replay

        try:
            with self.lock:
                state = self.lock.peek()
                if state is not None and state.segment < 0:
                    self._rewrite_unsynced(state)
                replay.replay_journals(self._place, self, paths)
        except OSError as error:
            if error.errno not in _READ_ONLY:
                raise
            return replay.pending_faults(self._place, self.stream, paths)
        return ()

    def sync_segment(self, name: str, fd: int) -> None:
        """Sync a segment. If that fails, nobody appends to it again, and nothing that is only in it counts as stored
        until its bytes were rewritten to a new file: the kernel may have marked the lost pages clean, and a second
        sync that succeeds proves nothing (I7)."""
        try:
            self._fs.sync(fd)
        except OSError:
            self._abandon_journal()
            with self.lock:
                self._sync_failed(name)
            raise

    def _sync_closed(self, name: str) -> None:
        try:
            fd = self._fs.open(self.segments.path_of(name), os.O_RDONLY)
        except FileNotFoundError:
            return  # removed by a checkout
        try:
            self.sync_segment(name, fd)
        finally:
            self._fs.close(fd)

    def _sync_failed(self, name: str) -> None:
        """Record that a segment has to be rewritten, and rewrite it now if possible. If a power cut took the header, a
        new one records only this: the writer has lost its other state, and takes a new identity."""
        writer = segments.writer_of(name)
        state = self.lock.peek() or WriterState(writer)
        try:
            if state.writer == writer:
                state = state.replace(segment=-segments.number_of(name))
                self.lock.store(state)
                self._rewrite_unsynced(state)
            else:
                self._rewrite(self.segments.path_of(name))
        except OSError:
            pass  # the header records that it still has to be done

    def _rewrite_unsynced(self, state: WriterState) -> WriterState:
        """Rewrite the segment whose sync failed, so that what can be read in it is also on the disk."""
        self._rewrite(self.segments.path_of(segments.name_of(self.stream, state.writer, -state.segment)))
        state = state.replace(segment=0)
        self.lock.store(state)  # not yet compared with the segments
        return state

    def _rewrite(self, path: str) -> None:
        try:
            data = durable.read_whole(self._fs, path)
        except FileNotFoundError:
            return  # removed by a checkout: no operation in it can be repeated
        durable.replace(self._fs, path, data, tag=self._place.tag, durable=True)

    # -- closing ------------------------------------------------------------------------------------------

    def _abandon_journal(self) -> None:
        if self.journal.is_open:
            self.journal.abandon()
            self._recovered = False

    def _close_segment(self) -> None:
        """Close the open segment. What is only in the journal is synced first."""
        if self.segments.open is not None:
            if self.journal.is_used:
                self._flush()
            self.segments.close_segment()
            self.journal.safe = 0

    def close(self) -> None:
        """Close all files. The handle stays usable: it reopens them."""
        try:
            self._close_segment()
        except OSError:
            self._abandon_journal()
            self._close_segment()
        self.journal.close()
        self.segments.close()
        self.lock.close()
