"""The SQLite engine: one file, write-ahead log, every commit synced before it is acknowledged.

URL ``sqlite:///relative/path`` or ``sqlite:////absolute/path``. Commits are rows that hold their exact lines,
chained within the stream. Writers queue on a kernel lock on ``<file>-lock`` before they begin a transaction:
SQLite's own busy handler sleeps and retries, so busy writers starve the others.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import RLock

from holdfast.core import ids
from holdfast.core.codec import GENESIS, decode, encode, fault_of, sum_of
from holdfast.core.stream import checked_note, checked_stream, flat
from holdfast.core.timestamps import iso
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.fs import durable, posix
from holdfast.fs.port import LOCK_EX, LOCK_UN, FileSystem
from holdfast.store.numbered import check_expected, check_op, check_unchanged, closed, place_of, plan_wrote
from holdfast.store.protocol import (
    CHANGES,
    AppendContext,
    Appended,
    Capabilities,
    Cursor,
    Fault,
    Plan,
    Tail,
)
from holdfast.store.rows import Before, checked, fits, head_of, is_text, row, tail_of, typed
from holdfast.store.sqlite import database, fork, read_only, statements
from holdfast.typed import Any

_PAGE = 256
_MOST_ENDS = 1000
_NO_END = (1 << 63) - 1


class SqliteStore:
    """Streams in one SQLite file. Threads may share a store: they take turns."""

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], int],
        fs: FileSystem = posix,
        random: Callable[[int], bytes] = os.urandom,
        room_after: int = 16,
    ) -> None:
        # Two names of one file must use one lock, so symlinks are resolved first.
        self._path = os.path.realpath(path)
        self.capabilities = Capabilities(
            "sqlite",
            survives_exit=True,
            survives_power_cut=True,
            shared=True,
            url=f"sqlite:///{self._path}",
            extensions=frozenset([CHANGES]),
        )
        self._clock = clock
        self._fs = fs
        self._random = random
        self._lock = RLock()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._queue: int | None = None
        self._frozen: read_only.Frozen | None = None
        self._writer = ""
        self._ends: dict[str, tuple[int, str, str]] = {}  # of streams whose last commit this store wrote
        self._data_version = -1
        self._preallocation = database.Preallocation(room_after)
        self._closed = False
        with self._lock:
            self._connected()
        fork.watch(self)

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        with self._lock:
            try:
                checked_stream(stream)
                return self._append_in_turn(stream, plan, cursor, expect, op)
            except HoldfastError:
                raise
            except BaseException:
                self._disconnect()  # interrupted: a closed connection holds no lock
                raise

    def _append_in_turn(
        self, stream: str, plan: Plan, cursor: Cursor, expect: int | None, op: str | None
    ) -> Appended:
        self._begin()
        try:
            done = self._append(stream, plan, cursor, expect, op)
            if self._preallocation.count():
                database.preallocate_wal(self._fs, self._path)
            if not done.repeated:
                self._ends.pop(stream, None)  # until the new end is known
                self._run("COMMIT", outcome_unknown=True)
                self._ends[stream] = (*done.cursor, done.commit.id)
            return done
        finally:
            self._end()

    def _append(
        self, stream: str, plan: Plan, cursor: Cursor, expect: int | None, op: str | None
    ) -> Appended:
        if op is not None and is_text(op) and (found := self._rows(statements.BY_OP, (stream, op))):
            return self._repeated(stream, *found[0])
        tail, previous = self._fresh_tail(stream, cursor)
        check_expected(stream, expect, tail.version)
        prepared = plan(AppendContext(tail, self._writer, {}))
        if self._db is None or not self._db.in_transaction:
            raise Unavailable(f"{self._path} failed while the plan was reading; nothing was written.")
        check_op(prepared.draft.op, op)
        now = self._clock()
        seq = tail.version + 1
        line, commit = encode(
            prepared.draft, ids.next_id(tail.head, now, self._writer), iso(now), previous, prepared.content
        )
        if seq == 1:
            self._run("INSERT INTO streams (name) VALUES (?) ON CONFLICT DO NOTHING", (stream,))
        self._run(statements.ADD, (stream, seq, commit.id, op, line[:-1]))
        return Appended(commit, [seq, commit.sum], seq, repeated=False)

    def _fresh_tail(self, stream: str, cursor: Cursor) -> tuple[Tail, str]:
        """Like ``_tail``, but without a query if only this store has written since its last commit."""
        ((data_version,),) = self._rows("PRAGMA data_version")
        if data_version != self._data_version or len(self._ends) > _MOST_ENDS:
            self._ends.clear()
            self._data_version = data_version
        count, last_sum, head = self._ends.get(stream, (0, "", ""))
        if count and cursor == [count, last_sum]:
            return Tail([], cursor, count, head, False, ()), last_sum
        return self._tail(stream, cursor)

    def _repeated(self, stream: str, seq: Any, line: Any) -> Appended:
        if type(seq) is not int or type(line) is not bytes:
            raise Damaged(f"The commit of this operation cannot be read: {row(stream, seq)}.")
        if what := fault_of(line, None):
            raise Damaged(f"The commit of this operation cannot be read: {row(stream, seq)}: {what}.")
        commit = decode(line)
        return Appended(commit, [seq, commit.sum], seq, repeated=True)

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        checked_stream(stream)
        with self._lock:
            if not newest_first:
                return self._tail(stream, cursor)[0]
            last = typed(self._rows(statements.BACK, (stream, _NO_END, 1)))
            version = last[0][0] if last else 0
            head = head_of(last, self._before(stream))
            at = [version, sum_of(last[0][2]) if last else GENESIS]
            return Tail(self._backwards(stream, at), at, version, head, restarted=True, faults=())

    def _tail(self, stream: str, cursor: Cursor) -> tuple[Tail, str]:
        """The commits after the cursor, and the checksum that the next line is chained to."""
        place = place_of(cursor) or (0, "")
        rows = typed(self._rows(statements.FROM, (stream, place[0])))
        if fits(rows, *place):
            return tail_of(stream, rows, place, self._before(stream))
        if place[0]:
            rows = typed(self._rows(statements.FROM, (stream, 1)))
        return tail_of(stream, rows, None, self._before(stream))

    def _before(self, stream: str) -> Before:
        return lambda seq: typed(self._rows(statements.BACK, (stream, seq, _PAGE)))[::-1]

    def _backwards(self, stream: str, at: Cursor) -> Iterator[bytes]:
        """The readable lines up to the cursor ``at``, newest first, a page at a time."""
        seq, last_sum = at
        while seq > 0:
            with self._lock:
                # One row more than the page: it proves the row after it, and the next page starts from it.
                rows = typed(self._rows(statements.BACK, (stream, seq, _PAGE + 1)))
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
            found = self._rows("SELECT name FROM streams ORDER BY name")
        return [name for (name,) in found if type(name) is str and name.startswith(prefix)]

    @property
    def index_path(self) -> str:
        """Beside the database: an index inside it would make every append wait for the index's transactions."""
        return f"{self._path}-index"

    def changes(self, known: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The streams whose stamp is not the known one, with their new stamps, and the known streams that are gone."""
        with self._lock:
            found = {
                name: f"{seq} {commit_id}" for name, seq, commit_id in self._rows(statements.LAST_COMMITS)
            }
        changed = {name: stamp for name, stamp in found.items() if known.get(name) != stamp}
        return changed, [name for name in known if name not in found]

    def put(self, name: str, data: bytes | None) -> None:
        checked_note(name)
        with self._lock:
            self._begin(durable=False)
            try:
                if data is None:
                    self._run("DELETE FROM notes WHERE name = ?", (name,))
                else:
                    self._run(statements.PUT, (name, data))
                self._run("COMMIT", outcome_unknown=True)
            finally:
                self._end(durable=False)

    def get(self, name: str) -> bytes | None:
        checked_note(name)
        with self._lock:
            found = self._rows("SELECT data FROM notes WHERE name = ?", (name,))
        return found[0][0] if found and type(found[0][0]) is bytes else None

    def forget(self, stream: str, expect: int | None = None) -> None:
        checked_stream(stream)
        with self._lock:
            self._begin()
            try:
                if expect is not None:
                    check_unchanged(stream, expect, self._tail(stream, None)[0].version)
                self._ends.pop(stream, None)
                self._run("DELETE FROM streams WHERE name = ?", (stream,))
                self._run(statements.FORGET_NOTES, (stream + "/", stream + "0", "local/*/" + flat(stream)))
                self._run("COMMIT", outcome_unknown=True)
                # The write-ahead log still has the old pages; a removed stream must be gone from every file.
                if self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
                    raise Unavailable(
                        f"{stream} is removed, but a reader of {self._path} holds on to its old pages.",
                        hint="End that reader, then forget the stream once more.",
                    )
                self._preallocation.reset()
            finally:
                self._end()

    def check(self, *, fix: bool = False) -> list[Fault]:
        from holdfast.store.faults import WRONG_COLUMNS
        from holdfast.store.sqlite.check import faults_of, repaired

        with self._lock:
            found = faults_of(self._rows)
            if not fix or not any(fault.kind == WRONG_COLUMNS for fault in found):
                return found
            self._begin()
            try:
                found = repaired(self._rows, found)
                self._run("COMMIT", outcome_unknown=True)
                return found
            finally:
                self._end()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._disconnect()

    def before_fork(self) -> None:
        """Close the connection before a fork, and block all threads until ``after_fork``."""
        self._lock.acquire()
        if self._db is None or not self._db.in_transaction:
            self._disconnect()

    def after_fork(self) -> None:
        """Resume after a fork, in the parent or the child."""
        self._lock.release()

    def _begin(self, *, durable: bool = True) -> None:
        """Queue, then begin a write transaction; ``_end`` must follow."""
        db = self._connected()
        if db.in_transaction:
            raise plan_wrote()
        try:
            self._take_turn()
            if not durable:
                self._run("PRAGMA synchronous=NORMAL")
            self._run("BEGIN IMMEDIATE")
        except BaseException:
            self._end(durable=durable)
            raise

    def _end(self, *, durable: bool = True) -> None:
        try:
            if self._db is not None:
                if self._db.in_transaction:
                    self._run("ROLLBACK")
                if not durable:
                    self._run("PRAGMA synchronous=FULL")
        finally:
            if self._queue is not None:
                self._fs.lock(self._queue, LOCK_UN)

    def _take_turn(self) -> None:
        try:
            if self._queue is None:
                self._queue = durable.open_lock(self._fs, self._path + "-lock")
            self._fs.lock(self._queue, LOCK_EX)
        except OSError as error:
            raise database.unavailable(self._path + "-lock", error) from error

    def _run(self, sql: str, values: tuple[Any, ...] = (), *, outcome_unknown: bool = False) -> None:
        try:
            (self._db or self._connected()).execute(sql, values)
        except database.ERRORS as error:
            raise self._failed(error, outcome_unknown=outcome_unknown) from error

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        for _ in range(read_only.TRIES):
            try:
                found = (self._db or self._connected()).execute(sql, values).fetchall()
            except database.ERRORS as error:
                raise self._failed(error) from error
            if self._frozen is None or self._frozen.is_current():
                return found
            self._disconnect()  # its owner has written meanwhile
        raise Unavailable(f"{self._path} changes faster than it can be read.", hint="Retry.")

    def _failed(self, error: Exception, *, outcome_unknown: bool = False) -> HoldfastError:
        # After a failed write or sync a connection no longer knows what is on the disk: reconnect.
        self._disconnect()
        return database.translated(error, self._path, outcome_unknown=outcome_unknown)

    def _connected(self) -> sqlite3.Connection:
        if self._db is None:
            if self._closed:
                raise closed()
            try:
                self._connect()
            except database.ERRORS as error:
                raise self._failed(error) from error
            except OSError as error:
                self._disconnect()
                raise database.unavailable(self._path, error) from error
            except BaseException:
                self._disconnect()
                raise
        assert self._db is not None
        return self._db

    def _connect(self) -> None:
        if not database.is_ours(self._fs, self._path):
            self._take_turn()
            try:
                if not database.is_ours(self._fs, self._path):
                    assert self._queue is not None
                    database.create(self._fs, self._path, self._random, self._queue)
            finally:
                self._fs.lock(self._queue, LOCK_UN)  # type: ignore[arg-type]
        self._file = database.register(self._fs, self._path)
        db = self._opened()
        if database.version_of(self._path, db) < database.newest():
            self._take_turn()
            try:
                database.migrate(self._path, db)
            finally:
                self._fs.lock(self._queue, LOCK_UN)  # type: ignore[arg-type]
        writer = db.execute("SELECT value FROM meta WHERE key = 'writer'").fetchone()
        if writer is None or type(writer[0]) is not str or not ids.is_writer(writer[0]):
            raise Damaged(f"{self._path} has lost its writer identity: table meta, row writer.")
        self._writer = writer[0]

    def _opened(self) -> sqlite3.Connection:
        """A connection through which the database can be read."""
        try:
            self._db = database.connect(self._path)
            self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            if not read_only.is_needed(error, self._path):
                raise
            if self._db is not None:
                self._db.close()
            self._frozen = read_only.Frozen(self._fs, self._path)
            self._db = self._frozen.db
        return self._db

    def _disconnect(self) -> None:
        self._ends.clear()
        self._preallocation.reset()  # the last connection to close removes the write-ahead log
        db, self._db = self._db, None
        file, self._file = self._file, None
        frozen, self._frozen = self._frozen, None
        queue, self._queue = self._queue, None
        if db is not None:
            with suppress(sqlite3.Error):  # the cause was already reported
                db.close()
        if frozen is not None:
            frozen.close()
        if file is not None:
            database.unregister(file)
        if queue is not None:
            self._fs.close(queue)
