"""The index of a workspace: caught up before every question, made again whenever it cannot be used."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from threading import RLock

from holdfast.errors import HoldfastError, Unavailable
from holdfast.index import database, read_only, search
from holdfast.index.catch_up import Coverage, Progress, behind, catch_up, coverage
from holdfast.index.search import Answer, Query
from holdfast.store.protocol import Store, changes_of
from holdfast.typed import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


class SearchAnswer(Record):
    """What a search found, and where it looked."""

    answer: Answer
    coverage: Coverage


class Index:
    """The index of one store. Threads may share it: they take turns."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        feed = changes_of(store)
        self.path = feed.index_path if feed is not None else ""
        """The file; empty if the index is in memory only."""
        self.progress: Progress | None = None
        """Called while the index catches up."""
        self.embedding_progress: Progress | None = None
        """Called while vectors are made."""
        self._store = store
        self._clock = clock
        self._lock = RLock()
        self._db: sqlite3.Connection | None = None
        self._node = 0
        self._process = 0

    def catch_up(self) -> Coverage:
        """Read everything that is new in the log; returns what the index holds then."""
        return self._ask(coverage)

    def status(self) -> Coverage:
        """What the index holds, and how many streams have changed since."""
        with self._lock:
            try:
                db = self._connected()
                return coverage(db, behind(db, self._store))
            except sqlite3.Error as error:
                raise _could_not(error) from error

    def search(self, query: Query, semantic: bool | None = False) -> SearchAnswer:
        """The best matches over all streams, live and archived.

        They are ranked by words; if ``semantic``, also by meaning. None ranks by meaning if no text has all words and
        the extra is installed.
        """

        def ask(db: sqlite3.Connection, behind: int) -> SearchAnswer:
            return SearchAnswer(self._search(db, query, semantic), coverage(db, behind))

        return self._ask(ask)

    def _search(self, db: sqlite3.Connection, query: Query, semantic: bool | None) -> Answer:
        now = self._clock()
        if not semantic:
            answer = _at_once(db, lambda: search.search(db, query, now))
            if semantic is False or (answer.found and not answer.some) or not search.has_words(query):
                return answer
        from holdfast.index import embedding

        if semantic is None and not embedding.is_installed():
            return answer
        from holdfast.index import hybrid, vectors

        model = embedding.load()
        without = vectors.update(db, model, self.embedding_progress)
        return _at_once(db, lambda: hybrid.search_hybrid(db, query, now, model, without))

    def read(self, act: Callable[[sqlite3.Connection, Coverage], T]) -> T:
        """Run ``act`` on a read-only connection to the index."""

        def ask(db: sqlite3.Connection, behind: int) -> T:
            reader = self._reader(db)
            try:
                return act(reader, coverage(db, behind))
            finally:
                reader.close()

        return self._ask(ask)

    def glance(self, act: Callable[[sqlite3.Connection], T], *, most: int) -> T:
        """Run ``act`` on the index after reading at most about ``most`` new commits: for answers that may lack the
        newest, and must not take long."""
        return self._ask(lambda db, _: act(db), most)

    def streams_with(self, table: str, status: str) -> list[str] | None:
        """The live streams that have an entry with this status; None if the index is not complete."""

        def ask(db: sqlite3.Connection, behind: int) -> list[str] | None:
            held = coverage(db, behind)
            if held.behind or held.unreadable:
                return None
            found = db.execute(
                f"SELECT DISTINCT name FROM {table} JOIN streams USING (stream) LEFT JOIN sessions USING (stream) "  # noqa: S608
                f"WHERE {table}.status = ? AND coalesce(archived, 0) = 0 ORDER BY name",
                (status,),
            )
            return [name for (name,) in found]

        return self._ask(ask)

    def connect(self) -> sqlite3.Connection:
        """A read-only connection to the index, caught up; the caller closes it."""
        return self._ask(lambda db, _: self._reader(db))

    def _reader(self, db: sqlite3.Connection) -> sqlite3.Connection:
        return read_only.connect(self.path) if self._node else read_only.copy_of(db)

    def rebuild(self) -> Coverage:
        """Delete the index and build it again."""
        with self._lock:
            self.delete()
            return self.catch_up()

    def delete(self) -> None:
        """Delete the index. Nothing is lost: the next question builds it again."""
        with self._lock:
            self.close()
            database.delete(self.path)

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            db, self._db = self._db, None
            if db is not None and self._process == os.getpid():
                try:
                    db.close()
                except sqlite3.Error:
                    pass

    def _ask(self, question: Callable[[sqlite3.Connection, int], T], most: int | None = None) -> T:
        """Catch up and answer. A damaged index is made again, once."""
        with self._lock:
            try:
                return self._answer(question, most)
            except HoldfastError:
                raise
            except sqlite3.Error as error:
                if database.is_busy(error):
                    raise _could_not(error) from error
                self.delete()
            try:
                return self._answer(question, most)
            except sqlite3.Error as error:
                raise _could_not(error) from error

    def _answer(self, question: Callable[[sqlite3.Connection, int], T], most: int | None) -> T:
        db = None
        while db is not (db := self._connected()):  # a build, of this or another process, replaces the file
            try:
                left = catch_up(db, self._store, self.progress, most)
            except BaseException:
                self.close()  # it may be in the middle of a transaction
                raise
        return question(db, left)

    def _connected(self) -> sqlite3.Connection:
        if self._db is not None and self._process == os.getpid():
            if not self._node or database.node_of(self.path) == self._node:
                return self._db
            self.close()  # somebody has deleted or replaced the file
        self._db, self._process = database.connect(self.path), os.getpid()
        self._node = database.node_of(database.file_of(self._db))
        return self._db


def _at_once(db: sqlite3.Connection, read: Callable[[], T]) -> T:
    """Read while nothing seems to change: what one statement finds is still there for the next."""
    db.execute("BEGIN")
    try:
        return read()
    finally:
        db.execute("ROLLBACK")


def _could_not(error: sqlite3.Error) -> Unavailable:
    return Unavailable(f"The index could not be read: {error}. Nothing was looked up.", hint="Try again.")
