"""The PostgreSQL engine: streams as rows of one schema, for all machines that reach the server.

URL ``postgresql://…`` (see ``address``). An append that nobody disturbs is one statement in one trip: it names the last
commit that this store has seen, tries the stream's lock, and adds the next row. If somebody else is writing, or was,
the append queues at the lock, reads what is new and plans again (docs/decisions/0035-postgresql.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from threading import RLock

from holdfast.core import ids
from holdfast.core.codec import GENESIS, Commit, decode, encode, fault_of, sum_of
from holdfast.core.stream import checked_note, checked_stream, flat
from holdfast.core.timestamps import iso
from holdfast.errors import Damaged, HoldfastError, Unavailable, UnknownOutcome
from holdfast.store import forks
from holdfast.store.local_notes import LocalNotes, belongs_here
from holdfast.store.numbered import check_expected, check_op, check_unchanged, closed, place_of, plan_wrote
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.failures import FOREIGN_KEY, RETRY, UNIQUE, Failed, Lost, translated
from holdfast.store.postgres.link import Link, Timeouts
from holdfast.store.postgres.schema import greeted
from holdfast.store.postgres.statements import Statement, hashed, statements
from holdfast.store.protocol import (
    CHANGES,
    AppendContext,
    Appended,
    Capabilities,
    Cursor,
    Fault,
    Plan,
    PrebuiltCommit,
    PreparedCommit,
    Tail,
)
from holdfast.store.rows import Before, checked, fits, head_of, is_text, row, tail_of
from holdfast.typed import TYPE_CHECKING, Any, Record

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

_PAGE = 256
_MOST_ENDS = 1000
_NO_END = (1 << 63) - 1
_TRIES = 20
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Whoever has waited for a lock sees what the holder before has written."""


class _End(Record):
    """The last commit of a stream, as far as this store has seen it."""

    number: int
    """The stream's."""
    seq: int
    id: str
    sum: str


class _Planned(Record):
    """A commit that is ready to be written behind an end."""

    commit: Commit
    line: bytes
    op: bytes | None
    attempt: int
    seq: int

    def appended(self) -> Appended:
        return Appended(self.commit, [self.seq, self.commit.sum], self.seq, repeated=False)


class _Unsure(Exception):
    """The connection was lost while this was committed."""

    def __init__(self, planned: _Planned) -> None:
        super().__init__()
        self.planned = planned


class PostgresStore:
    """Streams in a schema of a PostgreSQL database. Threads may share a store: they take turns."""

    def __init__(
        self,
        address: Address,
        *,
        clock: Callable[[], int],
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - a value
    ) -> None:
        self._address = address
        self._clock = clock
        self._lock = RLock()
        self._sql = statements(address.schema, portable=address.profile == "portable")
        self._ends: dict[str, _End] = {}
        self._writer = ""
        self._planning = False
        self._closed = False
        self._link = Link(address, timeouts, self._greet)
        with self._lock:
            self._link.open()
        self._local = LocalNotes(self._writer)
        forks.watch(self)

    def _greet(self) -> None:
        """Called for every new connection."""
        address = self._address
        server = greeted(self._link, address.schema, portable=address.profile == "portable")
        self._writer = server.writer
        self.capabilities = Capabilities(
            "postgresql",
            survives_exit=True,
            survives_power_cut=server.survives_power_cut,
            shared=True,
            url=address.url,
            extensions=frozenset([CHANGES]),
            limits=server.limits,
        )

    # -- appending ----------------------------------------------------------------------------------------

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        checked_stream(stream)
        with self._lock:
            self._check_writable()
            try:
                return self._append(stream, plan, cursor, expect, op)
            except Failed as error:
                raise translated(error, self._link.label) from error
            finally:
                self._leave()

    def _append(
        self, stream: str, plan: Plan, cursor: Cursor, expect: int | None, op: str | None
    ) -> Appended:
        done = self._behind_known_end(stream, plan, cursor, expect, op)
        if isinstance(done, Appended):
            return done
        before, failure = done, Exception()
        for _ in range(_TRIES):
            try:
                return self._in_turn(stream, plan, cursor, expect, op, before)
            except _Unsure as error:
                before = error.planned
            except Lost as error:
                failure = error
            except Unavailable as error:
                raise (self._unknown(before, error) if before else error) from None
            except Failed as error:
                failure = error
                if error.state not in RETRY and error.state != UNIQUE:
                    raise
            self._leave()
        raise (self._unknown(before, failure) if before else self._unreachable(failure)) from failure

    def _behind_known_end(
        self, stream: str, plan: Plan, cursor: Cursor, expect: int | None, op: str | None
    ) -> Appended | _Planned | None:
        """Append without queueing. Else None, or what may have been written before the connection was lost."""
        end = self._ends.get(stream)
        planned = None
        if end is not None and cursor == [end.seq, end.sum] and expect in (None, end.seq):
            tail = Tail([], cursor, end.seq, end.id, False, ())
            if op is None or isinstance(plan, PrebuiltCommit):
                try:
                    planned = self._planned(tail, plan, end.sum, op)
                except Exception:
                    # Its reason may be that somebody has written meanwhile: only a fresh tail can tell.
                    planned = None
        if planned is None:
            if op is not None and (found := self._asking(lambda: self._by_op(stream, op))):
                return found
            tail, end = self._asking(lambda: self._tail(stream, cursor))
            check_expected(stream, expect, tail.version)
            if end is None or not end.seq:
                return None  # the first commit creates the stream
            planned = self._planned(tail, plan, end.sum, op)
        assert end is not None
        return self._follow(stream, end, planned)

    def _follow(self, stream: str, end: _End, planned: _Planned) -> Appended | _Planned | None:
        """Add a row behind the end, if it is still the end."""
        self._ends.pop(stream, None)
        values = (
            *(planned.commit.id, planned.line, end.number, end.seq, end.id, planned.op, planned.attempt),
        )
        maybe = None
        for _ in range(2):
            try:
                rows = self._link.run(self._sql.follow, *values)
            except Lost:
                # Nobody knows whether it arrived. The same row again does no harm: it has one place only.
                maybe = planned
                continue
            except Unavailable:
                if maybe is None:
                    raise
                break
            except Failed as error:
                if error.state != FOREIGN_KEY and error.state not in RETRY:
                    raise
                break  # the stream was forgotten meanwhile
            if rows:
                self._remember(stream, _End(end.number, planned.seq, planned.commit.id, planned.commit.sum))
                return planned.appended()
            break
        return maybe

    def _in_turn(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor,
        expect: int | None,
        op: str | None,
        before: _Planned | None,
    ) -> Appended:
        """Queue at the stream's lock, read, plan and append. ``before`` is what may have been written already."""
        link, sql = self._link, self._sql
        number = self._begin(stream, create=True)
        if before is not None and link.run(sql.at, number, before.seq) == [(before.attempt,)]:
            return before.appended()
        if op is not None and (found := self._by_op(stream, op)):
            return found
        tail, end = self._tail(stream, cursor)
        check_expected(stream, expect, tail.version)
        met = link.met
        planned = self._planned(tail, plan, end.sum if end else GENESIS, op)
        if link.met != met or not link.in_transaction:
            raise Unavailable(f"{link.label} failed while the plan was reading; nothing was written.")
        link.run(sql.add, number, planned.seq, planned.commit.id, planned.line, planned.op, planned.attempt)
        self._ends.pop(stream, None)
        try:
            link.simple("COMMIT")
        except Lost:
            raise _Unsure(planned) from None
        self._remember(stream, _End(number, planned.seq, planned.commit.id, planned.commit.sum))
        return planned.appended()

    def _begin(self, stream: str, *, create: bool) -> int:
        """Begin a transaction that holds the lock of a stream; its number, or 0 if there is no such stream."""
        for _ in range(_TRIES):
            rows = self._link.run(self._sql.number, stream)
            if not rows and create:
                self._link.simple(_BEGIN)
                bits = int.from_bytes(os.urandom(8), "big") >> 1
                self._link.run(self._sql.create, stream, bits)
                rows = self._link.run(self._sql.number, stream)
                self._link.simple(self._lock_sql(rows[0][0]))
            elif rows:
                self._link.simple(f"{_BEGIN}; {self._lock_sql(rows[0][0])}")
            else:
                self._link.simple(_BEGIN)
                return 0
            if self._link.run(self._sql.number, stream) == rows:
                return int(rows[0][0])
            self._link.simple("ROLLBACK")  # forgotten while this waited
        raise Unavailable(f"{self._link.label}: {stream} keeps being forgotten; nothing was written.")

    def _lock_sql(self, number: int) -> str:
        if self._address.profile == "portable":
            return f"SELECT number FROM {self._address.schema}.streams WHERE number = {number:d} FOR UPDATE"  # noqa: S608
        return f"SELECT pg_advisory_xact_lock({number:d})"

    def _planned(self, tail: Tail, plan: Plan, previous: str, op: str | None) -> _Planned:
        self._planning = True
        try:
            prepared: PreparedCommit = plan(AppendContext(tail, self._writer, {}))
        finally:
            self._planning = False
        check_op(prepared.draft.op, op)
        now = self._clock()
        line, commit = encode(
            prepared.draft, ids.next_id(tail.head, now, self._writer), iso(now), previous, prepared.content
        )
        attempt = int.from_bytes(os.urandom(8), "big", signed=True)
        return _Planned(commit, line[:-1], hashed(op), attempt, tail.version + 1)

    def _by_op(self, stream: str, op: str) -> Appended | None:
        if not is_text(op):
            return None
        rows = self._run(self._sql.by_op, stream, hashed(op))
        if not rows:
            return None
        ((seq, line),) = rows
        if what := fault_of(line, None):
            raise Damaged(f"The commit of this operation cannot be read: {row(stream, seq)}: {what}.")
        commit = decode(line)
        return Appended(commit, [seq, commit.sum], seq, repeated=True)

    # -- reading ------------------------------------------------------------------------------------------

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        checked_stream(stream)
        with self._lock:
            if not newest_first:
                return self._asking(lambda: self._tail(stream, cursor))[0]
            last = self._asking(lambda: self._run(self._sql.back, stream, _NO_END, 1))
            version = last[0][0] if last else 0
            head = self._asking(lambda: head_of(last, self._before(stream)))
            at = [version, sum_of(last[0][2]) if last else GENESIS]
            return Tail(self._backwards(stream, at), at, version, head, restarted=True, faults=())

    def _tail(self, stream: str, cursor: Cursor) -> tuple[Tail, _End | None]:
        """The commits after the cursor, and the stream's end; None if there is no such stream."""
        place = place_of(cursor) or (0, "")
        number, rows = self._from(stream, place[0])
        if fits(rows, *place):
            tail, previous = tail_of(stream, rows, place, self._before(stream))
        else:
            if place[0]:
                number, rows = self._from(stream, 1)
            tail, previous = tail_of(stream, rows, None, self._before(stream))
        end = _End(number, tail.version, tail.head, previous) if number else None
        if end is not None and end.seq and not self._link.in_transaction:
            self._remember(stream, end)
        return tail, end

    def _before(self, stream: str) -> Before:
        return lambda seq: self._run(self._sql.back, stream, seq, _PAGE)[::-1]

    def _from(self, stream: str, seq: int) -> tuple[int, list[tuple[int, str, bytes]]]:
        """The stream's number, and its rows from a position on; 0 if there is no such stream."""
        rows = self._run(self._sql.tail, stream, seq)
        return (rows[0][0] if rows else 0), [found[1:] for found in rows if found[1] is not None]

    def _remember(self, stream: str, end: _End) -> None:
        if len(self._ends) >= _MOST_ENDS:
            self._ends.clear()
        self._ends[stream] = end

    def _backwards(self, stream: str, at: Cursor) -> Iterator[bytes]:
        """The readable lines up to the cursor ``at``, newest first, a page at a time."""
        seq, last_sum = at
        while seq > 0:
            with self._lock:
                # One row more than the page: it proves the row after it, and the next page starts from it.
                rows = self._asking(partial(self._run, self._sql.back, stream, seq, _PAGE + 1))
            if not rows or sum_of(rows[0][2]) != last_sum:
                return  # removed while it was being read
            rows.reverse()
            before: tuple[int, str | None] = (0, GENESIS)
            if len(rows) > _PAGE:
                number, _, line = rows.pop(0)
                before = (number, None if fault_of(line, None) else sum_of(line))
                last_sum = sum_of(line)
            lines, _ = checked(stream, rows, *before)
            yield from reversed(lines)
            seq = before[0]

    def streams(self, prefix: str = "") -> list[str]:
        with self._lock:
            found = self._asking(lambda: self._run(self._sql.names))
        return [name for name, _ in found if name.startswith(prefix)]

    @property
    def index_path(self) -> str:
        """On this machine: the index is SQLite's."""
        return self._local.index_path()

    def changes(self, known: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The streams whose stamp is not the known one, with their new stamps, and the known streams that are gone."""
        with self._lock:
            rows = self._asking(lambda: self._run(self._sql.last_commits))
        found = {name: f"{seq} {commit_id}" for name, seq, commit_id in rows}
        changed = {name: stamp for name, stamp in found.items() if known.get(name) != stamp}
        return changed, [name for name in known if name not in found]

    # -- notes, and the store as a whole ------------------------------------------------------------------

    def put(self, name: str, data: bytes | None) -> None:
        checked_note(name)
        with self._lock:
            self._check_writable()
            if belongs_here(name):
                self._local.put(name, data)
            elif data is None:
                self._asking(lambda: self._run(self._sql.remove, name))
            else:
                self._asking(lambda: self._run(self._sql.put, name, bytes(data)))

    def get(self, name: str) -> bytes | None:
        checked_note(name)
        with self._lock:
            if belongs_here(name):
                self._check_open()
                return self._local.get(name)
            rows = self._asking(lambda: self._run(self._sql.get, name))
        return rows[0][0] if rows else None

    def forget(self, stream: str, expect: int | None = None) -> None:
        checked_stream(stream)
        with self._lock:
            self._check_writable()
            self._ends.pop(stream, None)

            def remove() -> None:
                number = self._begin(stream, create=False)
                rows = self._run(self._sql.back, stream, _NO_END, 1)
                check_unchanged(stream, expect, rows[0][0] if rows else 0)
                if number:
                    self._link.run(self._sql.forget, number)
                self._link.run(self._sql.forget_notes, stream + "/", "/" + flat(stream))
                self._link.simple("COMMIT")

            self._asking(remove)

    def check(self, *, fix: bool = False) -> list[Fault]:
        from holdfast.store.faults import WRONG_COLUMNS
        from holdfast.store.postgres.check import faults_of, repaired

        with self._lock:
            self._check_open()

            def run(statement: Statement, *values: Any) -> list[Any]:
                return self._asking(lambda: self._run(statement, *values))

            found = faults_of(run, self._sql, self._link.label)
            if fix and any(fault.kind == WRONG_COLUMNS for fault in found):
                found = repaired(run, self._sql, found)
            return found

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._link.drop()
            self._ends.clear()

    # -- the connection -----------------------------------------------------------------------------------

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork(self, *, child: bool) -> None:
        if child:
            self._link.abandon()
        self._lock.release()

    def _run(self, statement: Statement, *values: Any) -> list[Any]:
        self._check_open()
        return self._link.run(statement, *values)

    def _asking(self, ask: Callable[[], T]) -> T:
        """What can be asked twice: once more after the connection was lost or the server wants it so."""
        inside = not self._link.is_idle  # a plan reads: its transaction cannot be continued elsewhere
        for left in range(_TRIES - 1, -1, -1):
            try:
                return ask()
            except (Lost, Failed) as error:
                if not inside:
                    self._leave()
                again = isinstance(error, Lost) or error.state in RETRY
                if not again or inside or not left:
                    raise (
                        self._unreachable(error)
                        if isinstance(error, Lost)
                        else translated(error, self._link.label)
                    ) from error
            except BaseException:
                if not inside:
                    self._leave()
                raise
        raise AssertionError("unreachable")

    def _leave(self) -> None:
        """End an open transaction without effect."""
        if not self._link.is_idle:
            try:
                self._link.simple("ROLLBACK")
            except (Lost, Failed):
                self._link.drop()

    def _unreachable(self, error: Exception) -> HoldfastError:
        if isinstance(error, HoldfastError):
            return error
        return Unavailable(
            f"{self._link.label} ended the connection: {error}; nothing was written.",
            hint="Check that the server runs, then retry.",
        )

    def _unknown(self, planned: _Planned, error: Exception) -> UnknownOutcome:
        return UnknownOutcome(
            f"{self._link.label} was lost while a commit was sent ({error}): commit {planned.commit.id} may or may not "
            "be stored."
        )

    def _check_open(self) -> None:
        if self._closed:
            raise closed()

    def _check_writable(self) -> None:
        self._check_open()
        if self._planning:
            raise plan_wrote()
