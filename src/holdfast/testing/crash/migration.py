"""SQLite databases of an older schema, and what must be true of one after whatever happened to its migration.

There is only one version of the schema yet, so the harness brings a migration of its own.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from typing import Any

from holdfast.core import codec, ids
from holdfast.core.timestamps import iso
from holdfast.store.sqlite import database
from holdfast.store.sqlite.engine import SqliteStore
from holdfast.testing.crash.workload import Acknowledged, Violation, append, events_of, verify
from holdfast.testing.plans import wall_clock

STREAMS = ("project", "sessions/kim/2026-01-15-00000001")
NAME = "state.db"
_WRITER = "abcdefgh"

TRIAL = """
CREATE TABLE trial (
    name TEXT NOT NULL PRIMARY KEY,
    data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX commits_by_id ON commits (stream, id);
"""
"""A migration from version 1 to version 2: a table, and an index over what is there."""

MIGRATE = """
import os, sys
from holdfast.errors import HoldfastError
from holdfast.store.sqlite.engine import SqliteStore
from holdfast.testing.plans import wall_clock
from holdfast.testing.crash.migration import use_trial
from holdfast.testing.crash.workload import append, report
use_trial()
said = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
try:
    store = SqliteStore(sys.argv[1], clock=wall_clock)
    report(said, append(store, "project", "migrated"))
    store.close()
except HoldfastError as error:
    print(type(error).__name__, error, file=sys.stderr)
    sys.exit(9)
"""


def command(folder: str, said: str) -> list[str]:
    """A process that opens the database of a folder, and so migrates it, commits and says so in a file."""
    return [sys.executable, "-c", MIGRATE, os.path.join(folder, NAME), said]


def use_trial() -> None:
    """Have this process take the trial migration for part of the release."""
    database.MIGRATIONS = (TRIAL,)


def old_database(folder: str, version: int, commits: int = 12) -> list[Acknowledged]:
    """A database as a release with this schema version left it when it was killed: half of it in the log of SQLite."""
    path = os.path.join(folder, NAME)
    made = path + "-made"
    known: list[Acknowledged] = []
    db = sqlite3.connect(made, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA application_id={database.APPLICATION}")
        for script in (database._schema(), *database.MIGRATIONS)[:version]:
            db.executescript(script)
        db.execute(f"PRAGMA user_version={version}")
        db.execute("INSERT INTO meta VALUES ('writer', ?)", (_WRITER,))
        for number, stream in enumerate(STREAMS, 1):
            db.execute("INSERT INTO streams VALUES (?, ?)", (number, stream))
        for turn in range(commits):
            if turn == commits // 2:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            known.append(_add(db, turn % len(STREAMS), known))
        for suffix in ("", "-wal"):
            shutil.copyfile(made + suffix, path + suffix)
    finally:
        db.close()
        os.unlink(made)
    return known


def _add(db: sqlite3.Connection, place: int, known: list[Acknowledged]) -> Acknowledged:
    stream = STREAMS[place]
    before = [promise for promise in known if promise.stream == stream]
    head, previous = (before[-1].id, before[-1].sum) if before else (ids.ZERO, codec.GENESIS)
    op = f"old.{len(known)}"
    now = 1_768_487_400_000 + len(known)
    draft = codec.Draft(events_of(op), "harness", "tool", op)
    line, commit = codec.encode(draft, ids.next_id(head, now, _WRITER), iso(now), previous)
    values = (place + 1, len(before) + 1, commit.id, op, line[:-1])
    db.execute("INSERT INTO commits VALUES (?, ?, ?, ?, ?)", values)
    return Acknowledged(stream, op, commit.id, commit.sum)


def schema(path: str) -> list[Any]:
    """Tables, indexes and the version of a database."""
    db = sqlite3.connect(path)
    try:
        found = db.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        ).fetchall()
        return [*found, db.execute("PRAGMA user_version").fetchone()]
    finally:
        db.close()


def check_migrated(folder: str, known: list[Acknowledged], fresh: list[Any], where: str) -> bool:
    """Open a database as the next process does: it has the schema of a fresh one and every commit, and works.

    Returns whether the commit that was made after the migration is there, acknowledged or not.
    """
    path = os.path.join(folder, NAME)
    further = False
    store = SqliteStore(path, clock=wall_clock)
    try:
        if (found := schema(path)) != fresh:
            raise Violation(f"{where}: the schema is not that of a new database: {found}")
        for stream in STREAMS:
            ops = verify(store, stream, known, where)
            old = [promise.op for promise in known if promise.stream == stream]
            if not set(ops) <= {*old, "migrated"} or ops[: len(old)] != old:
                raise Violation(f"{where}: {stream} holds {ops}")
            further = further or "migrated" in ops
            mine = append(store, stream, "successor")
            verify(store, stream, [*known, mine], where)
        store.put("local/note", b"x")
        if faults := store.check():
            raise Violation(f"{where}: needs a human: {faults}")
        return further
    finally:
        store.close()
