"""Catching up: what is new in the streams becomes rows.

Each stream has a cursor and a stamp. A stream whose stamp is the same as last time is not read. If its cursor is no
longer valid, because a merge brought earlier commits or history was rewritten, its rows are deleted and made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.core import ids
from holdfast.core.stream import kind_of, last_part
from holdfast.errors import HoldfastError
from holdfast.index.building import build
from holdfast.index.database import add_indexes, file_of, is_busy
from holdfast.index.reading import Job, parts, shared
from holdfast.index.writer import Writer, collect_texts, delete_rows
from holdfast.store import forked
from holdfast.store.protocol import Store, changes_of
from holdfast.typed import Record

Progress = Callable[[int, int], None]
"""Called with how many streams are done, and how many are to do."""
_BATCH = 4_000
"""Commits whose rows are written together."""
_TRANSACTION = 40_000
"""Commits per transaction: readers see what is done so far, and a process that is killed loses no more."""


class Coverage(Record):
    """What the index holds, and what it lacks."""

    sessions: int
    archived: int
    projects: int
    """1 if the project has commits of its own."""
    commits: int
    behind: int
    """Streams that have changed and are not read yet, because another process is writing."""
    unreadable: tuple[tuple[str, str], ...]
    """Streams that could not be read, and why."""


def catch_up(
    db: sqlite3.Connection, store: Store, progress: Progress | None = None, most: int | None = None
) -> int:
    """Read everything that is new, or the newest sessions until ``most`` commits are read; returns how many streams
    were left, also because another process is writing.

    An index that has few of the streams is rebuilt in another file, which takes its place: the caller connects to
    that one and catches up again.
    """
    known = _stamps(db)
    changed, gone = _changes(store, known)
    if not changed and not gone:
        return 0
    path = file_of(db)
    if most is None and path and _is_mostly_new(changed, known):
        everything = changed if not known else _changes(store, {})[0]
        build(path, lambda new: _Catching(new, store, progress).run(everything, [], None))
        return len(changed) + len(gone)  # in this file
    try:
        return _Catching(db, store, progress).run(changed, gone, most)
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
        known = _stamps(db)
        return sum(not stamp or known.get(name) != stamp for name, stamp in changed.items())
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _is_mostly_new(changed: dict[str, str], known: dict[str, str]) -> bool:
    """Whether rebuilding the index is faster than adding what it lacks."""
    new = sum(name not in known for name in changed)
    return new >= forked.FEWEST and new > len(known)


def behind(db: sqlite3.Connection, store: Store) -> int:
    """How many streams have changed since they were read."""
    changed, gone = _changes(store, _stamps(db))
    return len(changed) + len(gone)


def coverage(db: sqlite3.Connection, behind: int = 0) -> Coverage:
    """What the index holds now."""
    sessions, archived = db.execute("SELECT count(*), coalesce(sum(archived), 0) FROM sessions").fetchone()
    commits = db.execute("SELECT coalesce(sum(commits), 0) FROM streams").fetchone()[0]
    projects = db.execute("SELECT count(*) FROM streams WHERE name = 'project'").fetchone()[0]
    unreadable = db.execute("SELECT name, problem FROM streams WHERE problem IS NOT NULL").fetchall()
    return Coverage(sessions, archived, projects, commits, behind, tuple(unreadable))


def _stamps(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT name, stamp FROM streams"))


def _changes(store: Store, known: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The streams to read, with their new stamps, and those that are gone."""
    feed = changes_of(store)
    if feed is not None:
        return feed.changes(known)
    names = store.streams()
    return dict.fromkeys(names, ""), [name for name in known if name not in set(names)]


class _Catching:
    """One run."""

    def __init__(self, db: sqlite3.Connection, store: Store, progress: Progress | None) -> None:
        self._db = db
        self._store = store
        self._progress = progress or (lambda done, total: None)
        self._writer = Writer(db)
        self._written = 0
        """Commits that are written in this transaction."""

    def run(self, changed: dict[str, str], gone: list[str], most: int | None) -> int:
        """Returns how many streams are left."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        known = _stamps(db)  # another process may have done some of it
        self._remove([name for name in gone if name in known])
        if not known:
            # Few, large parts: merging them as usual would cost more than all the rest.
            db.execute("INSERT INTO search (search, rank) VALUES ('hashsize', 16777216)")
        built = (
            self._read_new({n: s for n, s in changed.items() if n not in known}) if most is None else set()
        )
        names = sorted(changed, key=last_part, reverse=True) if most is not None else list(changed)
        read = left = 0
        for done, name in enumerate(names):
            if most is not None and read >= most:
                left = len(names) - done
                break
            stamp = changed[name]
            if name not in built and (not stamp or known.get(name) != stamp):
                self._progress(done, len(names))
                read += self._read(name, stamp)
                self._commit()
        self._writer.flush()
        add_indexes(db)
        db.execute("COMMIT")
        self._progress(len(names), len(names))
        return left

    def _read_new(self, new: dict[str, str]) -> set[str]:
        """Read new streams in several processes, if that is worth it; returns those that are done."""
        if not forked.can_fork(len(new)):
            return set()
        jobs = [Job(name, stamp or _UNSETTLED, _reserve(self._db, name)) for name, stamp in new.items()]
        read = 0
        for count, found, commits in shared(self._store, jobs):
            self._writer.add(found, commits)
            self._commit()
            read += count
            self._progress(read, len(new))
        self._writer.flush()
        return {name for name, stamp in _stamps(self._db).items() if stamp and name in new}

    def _commit(self) -> None:
        """Write and commit from time to time."""
        if self._writer.commits >= _BATCH:
            self._written += self._writer.commits
            self._writer.flush()
        if self._written >= _TRANSACTION:
            self._written = 0
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")

    def _remove(self, names: list[str]) -> None:
        for name in names:
            (number,) = self._db.execute("SELECT stream FROM streams WHERE name = ?", (name,)).fetchone()
            delete_rows(self._db, number)
            self._db.execute("DELETE FROM streams WHERE stream = ?", (number,))

    def _read(self, name: str, stamp: str) -> int:
        """Returns how many commits were read."""
        db, writer, read = self._db, self._writer, 0
        found = db.execute("SELECT stream, cursor, state FROM streams WHERE name = ?", (name,)).fetchone()
        number, cursor, state = found or (_reserve(db, name), "null", "")
        try:
            for part in parts(self._store, Job(name, stamp, number, cursor, state)):
                if part.fresh:
                    delete_rows(db, number)
                    writer.add(collect_texts(part.rows), 0)
                elif part.rows.texts or part.rows.entries:
                    writer.add_texts(part.rows)
                writer.add(part.found, len(part.rows.commits))
                read += len(part.rows.commits)
                if not part.last:
                    writer.flush()
        except HoldfastError as error:
            writer.flush()
            delete_rows(db, number)
            db.execute(_UNREADABLE, (error.message, number))
        return read


_UNSETTLED = "?"
"""A stamp that is never right, of a stream that was read nevertheless."""
_UNREADABLE = """
UPDATE streams SET problem = ?, commits = 0, stamp = '', cursor = 'null', state = '' WHERE stream = ?
"""
"""A stream that cannot be read is not in the index. The next run tries again."""


def _reserve(db: sqlite3.Connection, name: str) -> int:
    """The number of a new stream."""
    added = db.execute(
        "INSERT INTO streams (name, kind, commits, head, stamp, cursor, state) VALUES (?, ?, 0, ?, '', 'null', '')",
        (name, kind_of(name), ids.ZERO),
    )
    assert added.lastrowid is not None
    return added.lastrowid
