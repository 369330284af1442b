"""Catching up: what is new in the streams becomes rows.

Each stream has a cursor and a stamp. A stream whose stamp is the same as last time is not read. If its cursor is no
longer valid, because a merge brought earlier commits or history was rewritten, its rows are deleted and made again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from holdfast.core import fold, ids
from holdfast.core.stream import last_part
from holdfast.errors import HoldfastError
from holdfast.index.database import add_indexes, is_busy
from holdfast.index.rows import Rows
from holdfast.index.writer import Writer, delete_rows
from holdfast.store.protocol import Store, changes_of
from holdfast.typed import Any, Record

Progress = Callable[[int, int], None]
"""Called with how many streams are done, and how many are to do."""
_CHUNK = 20_000
"""Commits of one stream in memory at a time."""
_BATCH = 4_000
"""Commits per transaction: readers see what is done so far, and a process that is killed loses no more."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Coverage(Record):
    """What the index holds, and what it lacks."""

    sessions: int
    archived: int
    commits: int
    behind: int
    """Streams that have changed and are not read yet, because another process is writing."""
    unreadable: tuple[tuple[str, str], ...]
    """Streams that could not be read, and why."""


def catch_up(
    db: sqlite3.Connection, store: Store, progress: Progress | None = None, most: int | None = None
) -> int:
    """Read everything that is new, or the newest sessions until ``most`` commits are read; returns how many streams
    were left, also because another process is writing."""
    known = _stamps(db)
    changed, gone = _changes(store, known)
    if not changed and not gone:
        return 0
    if most is not None:
        changed = dict(sorted(changed.items(), key=lambda item: last_part(item[0]), reverse=True))
    try:
        left = _Catching(db, store, progress).run(changed, gone, most)
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
        return sum(_stamps(db).get(name) != stamp for name, stamp in changed.items())
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    return left


def behind(db: sqlite3.Connection, store: Store) -> int:
    """How many streams have changed since they were read."""
    changed, gone = _changes(store, _stamps(db))
    return len(changed) + len(gone)


def coverage(db: sqlite3.Connection, behind: int = 0) -> Coverage:
    """What the index holds now."""
    sessions, archived = db.execute("SELECT count(*), coalesce(sum(archived), 0) FROM sessions").fetchone()
    commits = db.execute("SELECT coalesce(sum(commits), 0) FROM streams").fetchone()[0]
    unreadable = db.execute("SELECT name, problem FROM streams WHERE problem IS NOT NULL").fetchall()
    return Coverage(sessions, archived, commits, behind, tuple(unreadable))


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
        self._progress = progress

    def run(self, changed: dict[str, str], gone: list[str], most: int | None) -> int:
        """Returns how many streams are left."""
        db, left = self._db, 0
        first = not db.execute("SELECT 1 FROM streams LIMIT 1").fetchone()
        db.execute("BEGIN IMMEDIATE")
        if first:
            # Few, large parts: merging them as usual would cost more than all the rest.
            db.execute("INSERT INTO search (search, rank) VALUES ('hashsize', 16777216)")
        writer = Writer(db)
        known = _stamps(db)  # another process may have done some of it
        self._remove([name for name in gone if name in known])
        for done, (name, stamp) in enumerate(changed.items()):
            if most is not None and most <= 0:
                left = len(changed) - done
                break
            before = writer.commits
            if not stamp or known.get(name) != stamp:
                self._read(writer, name, stamp)
            if most is not None:
                most -= writer.commits - before
            if self._progress is not None:
                self._progress(done, len(changed))
            if writer.commits >= _BATCH:
                writer.flush()
                db.execute("COMMIT")
                db.execute("BEGIN IMMEDIATE")
                writer = Writer(db)
        writer.flush()
        add_indexes(db)
        db.execute("COMMIT")
        if self._progress is not None:
            self._progress(len(changed), len(changed))
        return left

    def _remove(self, names: list[str]) -> None:
        for name in names:
            (number,) = self._db.execute("SELECT stream FROM streams WHERE name = ?", (name,)).fetchone()
            delete_rows(self._db, number)
            self._db.execute("DELETE FROM streams WHERE stream = ?", (number,))

    def _read(self, writer: Writer, name: str, stamp: str) -> None:
        db = self._db
        found = db.execute(
            "SELECT stream, cursor, state, problem FROM streams WHERE name = ?", (name,)
        ).fetchone()
        number, cursor, state, problem = found or (None, "null", "", None)
        try:
            tail = self._store.read(name, json.loads(cursor))
            restarted = tail.restarted or not state
            if not restarted and not tail.lines and number is not None and problem is None:
                place = stamp, _encode(tail.cursor), number
                db.execute("UPDATE streams SET stamp = ?, cursor = ? WHERE stream = ?", place)
                return
            kind = "session" if name.startswith("sessions/") else name.split("/")[0].rstrip("s")
            if number is None:
                number = _reserve(db, name, kind)
            elif restarted:
                delete_rows(db, number)
            folded = fold.blank(kind) if restarted else json.loads(state)
            for chunk, last in _chunks(tail.lines):
                rows = Rows(number, folded)
                rows.take(chunk)
                end = (tail.version, tail.head, stamp, _encode(tail.cursor), _encode(folded), None)
                writer.add(rows, (number, name, kind, *end), name, fresh=restarted)
                restarted = False
                if not last:
                    writer.flush()
        except HoldfastError as error:
            self._cannot_read(name, number, error)

    def _cannot_read(self, name: str, number: int | None, error: HoldfastError) -> None:
        """Keep what is there of a stream, and say why it is not complete. The next run tries again."""
        kind = "session" if name.startswith("sessions/") else name.split("/")[0].rstrip("s")
        if number is None:
            number = _reserve(self._db, name, kind)
        self._db.execute(
            "UPDATE streams SET problem = ?, stamp = '' WHERE stream = ?", (error.message, number)
        )


def _reserve(db: sqlite3.Connection, name: str, kind: str) -> int:
    """The number of a new stream."""
    added = db.execute(
        "INSERT INTO streams (name, kind, commits, head, stamp, cursor, state) VALUES (?, ?, 0, ?, '', 'null', '')",
        (name, kind, ids.ZERO),
    )
    assert added.lastrowid is not None
    return added.lastrowid


def _chunks(lines: Iterable[bytes]) -> Iterator[tuple[list[bytes], bool]]:
    """The lines in parts, each with whether it is the last; at least one part."""
    left = iter(lines)
    chunk = list(islice(left, _CHUNK))
    while True:
        following: list[Any] = list(islice(left, _CHUNK))
        yield chunk, not following
        if not following:
            return
        chunk = following
