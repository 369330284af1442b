"""The limits of the machine, and two common hand-written stores."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Collection

from bench.contender import RAW, RAW_SQLITE, Appender, Contender, Racer, Step, record

LOG = "log.jsonl"
DATABASE = "log.db"
WHOLE = "state.json"
_encode = json.JSONEncoder(separators=(",", ":")).encode


def line(number: int, worker: int = 0) -> bytes:
    return _encode(record(number, worker)).encode() + b"\n"


class RawFile(Contender):
    name = RAW
    about = "one os.write to an open file, one fdatasync, the line made beforehand"
    has_target = True

    def fill(self, folder: str, count: int) -> None:
        with open(os.path.join(folder, LOG), "wb") as log:
            log.writelines(line(number) for number in range(count))
            log.flush()
            os.fsync(log.fileno())

    def appender(self, folder: str) -> Appender:
        return _RawAppender(os.path.join(folder, LOG))

    def load(self, folder: str) -> int:
        with open(os.path.join(folder, LOG), "rb") as log:
            lines = log.read().splitlines()
        return len(json.loads(b"[" + b",".join(lines) + b"]"))


class _RawAppender(Appender):
    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.line = line(1)

    def append(self) -> None:
        os.write(self.fd, self.line)
        os.fdatasync(self.fd)

    def close(self) -> None:
        os.close(self.fd)


def connect(folder: str) -> sqlite3.Connection:
    """Autocommit mode: the benchmark runs BEGIN and COMMIT itself."""
    connection = sqlite3.connect(os.path.join(folder, DATABASE), isolation_level=None, timeout=5.0)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT")
    return connection


def settle(connection: sqlite3.Connection) -> None:
    """Checkpoint a bulk load, so that no later commit pays for it."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class RawSqlite(Contender):
    name = RAW_SQLITE
    about = "sqlite3, WAL, synchronous FULL: BEGIN IMMEDIATE, one INSERT, COMMIT"
    limit = RAW_SQLITE
    has_target = True

    def fill(self, folder: str, count: int) -> None:
        connection = connect(folder)
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO log (line) VALUES (?)", ((_encode(record(number)),) for number in range(count))
        )
        connection.execute("COMMIT")
        settle(connection)
        connection.close()

    def appender(self, folder: str) -> Appender:
        return _SqliteAppender(folder)

    def load(self, folder: str) -> int:
        connection = connect(folder)
        rows = connection.execute("SELECT line FROM log ORDER BY n").fetchall()
        connection.close()
        return len(json.loads("[" + ",".join(row[0] for row in rows) + "]"))


class RawSqliteInUse(RawSqlite):
    """A write-ahead log that SQLite has restarted is overwritten and no longer grows: its syncs write no length."""

    name = "raw sqlite, log in use"
    about = "the same after 1,200 commits of the same connection"
    append_reach = 0
    opens = False

    def appender(self, folder: str) -> Appender:
        appender = super().appender(folder)
        for _ in range(1_200):
            appender.append()
        return appender


class _SqliteAppender(Appender):
    def __init__(self, folder: str) -> None:
        self.connection = connect(folder)
        self.line = _encode(record(1))

    def append(self) -> None:
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO log (line) VALUES (?)", (self.line,))
        execute("COMMIT")

    def close(self) -> None:
        self.connection.close()


class WholeFile(Contender):
    name = "json rewrite"
    about = "the whole history as one JSON file: temp file, fsync, rename, fsync of the folder"
    append_reach = 100_000

    def fill(self, folder: str, count: int) -> None:
        rewrite(folder, [record(number) for number in range(count)])

    def appender(self, folder: str) -> Appender:
        return _WholeFileAppender(folder)

    def load(self, folder: str) -> int:
        with open(os.path.join(folder, WHOLE), "rb") as whole:
            return len(json.load(whole))


def rewrite(folder: str, history: list[dict[str, object]]) -> None:
    path = os.path.join(folder, WHOLE)
    with open(path + ".tmp", "wb") as temp:
        temp.write(_encode(history).encode())
        temp.flush()
        os.fsync(temp.fileno())
    os.rename(path + ".tmp", path)
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


class _WholeFileAppender(Appender):
    """Keeps the history in memory and only rewrites it: faster than the usual load, change, dump."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, WHOLE), "rb") as whole:
            self.history = json.load(whole)

    def append(self) -> None:
        self.history.append(record(len(self.history)))
        rewrite(self.folder, self.history)


class LockedFile(Racer):
    """The baseline for several processes: no rule, no chain, no read, only the lock, the write and the sync."""

    name = "raw lock, sync outside"
    about = "flock, one write, unlock, fdatasync"

    def prepare(self, folder: str) -> None:
        os.close(os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT, 0o644))

    def worker(self, folder: str, index: int) -> Step:
        fd = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_APPEND)
        lock = os.open(os.path.join(folder, LOG), os.O_RDONLY)

        def step(number: int) -> None:
            data = line(number, index)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(fd, data)
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.fdatasync(fd)

        return step

    def survivors(self, folder: str) -> Collection[tuple[int, int]]:
        with open(os.path.join(folder, LOG), "rb") as log:
            return {(item["worker"], item["n"]) for item in map(json.loads, log)}


class LockedFileSyncInside(LockedFile):
    name = "raw lock, sync inside"
    about = "flock, one write, fdatasync, unlock"

    def worker(self, folder: str, index: int) -> Step:
        fd = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_APPEND)
        lock = os.open(os.path.join(folder, LOG), os.O_RDONLY)

        def step(number: int) -> None:
            data = line(number, index)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(fd, data)
            os.fdatasync(fd)
            fcntl.flock(lock, fcntl.LOCK_UN)

        return step


class SqliteRacer(Racer):
    name = RAW_SQLITE
    about = "sqlite3, WAL, synchronous FULL, BEGIN IMMEDIATE, busy timeout 5 s"

    def prepare(self, folder: str) -> None:
        connect(folder).close()

    def worker(self, folder: str, index: int) -> Step:
        execute = connect(folder).execute

        def step(number: int) -> None:
            data = _encode(record(number, index))
            execute("BEGIN IMMEDIATE")
            execute("INSERT INTO log (line) VALUES (?)", (data,))
            execute("COMMIT")

        return step

    def survivors(self, folder: str) -> Collection[tuple[int, int]]:
        connection = connect(folder)
        rows = connection.execute("SELECT line FROM log").fetchall()
        connection.close()
        return {(item["worker"], item["n"]) for item in (json.loads(row[0]) for row in rows)}
