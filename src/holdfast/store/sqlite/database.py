"""The file of the SQLite engine: recognising, creating, opening and migrating it.

A database is created atomically: it is built under another name and renamed, so that a file at the real name
is either a complete holdfast database or not ours at all. That is decided from its first bytes, or from the copy
in its write-ahead log, before SQLite touches the file.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from _thread import allocate_lock
from collections.abc import Callable, Iterator
from contextlib import suppress

from holdfast.core import ids
from holdfast.errors import Damaged, Forbidden, HoldfastError, Newer, Refused, Unavailable, UnknownOutcome
from holdfast.fs.port import SEEK_END, FileSystem

APPLICATION = 0x686F6C64  # "hold"
MIGRATIONS: tuple[str, ...] = ()
"""SQL scripts, each leading from one version of the schema to the next; ``schema.sql`` is version 1."""

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG_HEADER = 32
_LOG_FRAME = 24
_ROOM = _LOG_HEADER + 1000 * (_LOG_FRAME + 4096)
"""Length of a log at which SQLite restarts it: it is not extended beyond that."""
_MADE = b"made\n"
"""In the lock file once there is a database: an empty file beside it is none that never was one."""
_BUSY_SECONDS = 30.0
_DAMAGED = frozenset([sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT])
_FORBIDDEN = frozenset([sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH])
_NOT_BEGUN = _FORBIDDEN | {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
"""Errors raised before anything is written, so a statement that would have committed has not."""
_PRAGMAS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA secure_delete=ON",  # removed data must not remain in free pages
    "PRAGMA trusted_schema=OFF",
    "PRAGMA fullfsync=ON",  # macOS: plain fsync leaves data in the drive's cache
    "PRAGMA checkpoint_fullfsync=ON",
)

LOOKING = allocate_lock()
"""Held while a database file is opened for inspection, and while a connection is made."""
_in_use: dict[tuple[int, int], int] = {}
"""Connections of this process, by device and inode. Closing any handle on a file releases all POSIX locks that
the process has on it, and SQLite relies on its locks: never open and close a file that is in use."""


def is_ours(fs: FileSystem, path: str) -> bool:
    """Whether a holdfast database is at ``path``; False if nothing is. Anything else is refused untouched."""
    with LOOKING:
        return _is_ours(fs, path)


def register(fs: FileSystem, path: str) -> tuple[int, int]:
    """Register a connection that is about to be opened; returns the argument for ``leave``."""
    with LOOKING:
        found = fs.stat(path)
        file = found.st_dev, found.st_ino
        _in_use[file] = _in_use.get(file, 0) + 1
        return file


def unregister(file: tuple[int, int]) -> None:
    """Unregister a closed connection."""
    with LOOKING:
        _in_use[file] -= 1
        if not _in_use[file]:
            del _in_use[file]


def _is_ours(fs: FileSystem, path: str) -> bool:
    try:
        found = fs.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise Forbidden(f"{path} is not a plain file.")
        if found.st_size == 0:
            if _was_made(fs, path):
                raise Damaged(
                    f"{path} is empty, but holdfast made a database there; nothing was changed.",
                    hint=f"Restore it from a backup. To begin again, remove it and {path}-lock.",
                )
            return False
        if (found.st_dev, found.st_ino) in _in_use:
            return True  # inspected before
        fd = fs.open(path, os.O_RDONLY)
        try:
            header = fs.read(fd, _HEADER, 0)
        finally:
            fs.close(fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unavailable(path, error) from error
    if not _is_compatible(header):
        header = _header_in_log(fs, path) or header
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        raise Damaged(f"{path} is not a SQLite database; nothing was changed.")
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise Refused(
            f"{path} is the database of another program; nothing was changed.",
            hint="Name a file that does not exist yet, or one that holdfast made.",
        )
    _check_version(path, int.from_bytes(header[60:64], "big"))
    return True


def _was_made(fs: FileSystem, path: str) -> bool:
    """Whether the lock file beside a database says that it was made."""
    try:
        return fs.stat(path + "-lock").st_size > 0
    except FileNotFoundError:
        return False


def _is_compatible(header: bytes) -> bool:
    """Whether these are the first bytes of a database that this release can open."""
    ours = header[68:72] == APPLICATION.to_bytes(4, "big")
    return header.startswith(_MAGIC) and ours and int.from_bytes(header[60:64], "big") <= newest()


def _header_in_log(fs: FileSystem, path: str) -> bytes:
    """The first bytes of a database according to the last transaction in its write-ahead log; empty if none has them.

    A power cut during a checkpoint can tear the first page; SQLite then takes it from the log. The log tells just
    as well whose database it is.
    """
    try:
        fd = fs.open(path + "-wal", os.O_RDONLY)
    except FileNotFoundError:
        return b""
    try:
        start = fs.read(fd, _LOG_HEADER, 0)
        page = int.from_bytes(start[8:12], "big")
        if len(start) < _LOG_HEADER or start[:4] not in _LOG_MAGIC or not 512 <= page <= 65536:
            return b""
        header, newest, offset = b"", b"", _LOG_HEADER
        while len(frame := fs.read(fd, _LOG_FRAME + _HEADER, offset)) == _LOG_FRAME + _HEADER:
            if frame[8:16] != start[16:24]:
                break  # left over from an earlier round of the log
            if frame[:4] == b"\0\0\0\1":
                newest = frame[_LOG_FRAME:]
            if any(frame[4:8]):  # the end of a transaction
                header = newest
            offset += _LOG_FRAME + page
        return header
    finally:
        fs.close(fd)


def create(fs: FileSystem, path: str, random: Callable[[int], bytes], lock: int) -> None:
    """Make a new database at ``path``. The caller holds the ``lock`` and has seen that there is none."""
    temp = path + "-new"
    for leftover in (temp, temp + "-wal", temp + "-shm", temp + "-journal"):
        with suppress(FileNotFoundError):
            fs.unlink(leftover)  # of a process that died while creating it
    db = connect(temp, "rwc")
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA application_id={APPLICATION}")
        db.execute("BEGIN IMMEDIATE")
        _run(db, _schema(), 1)
        for version, script in enumerate(MIGRATIONS, start=2):
            _run(db, script, version)
        writer = ids.random_text(int.from_bytes(random(8), "big"), ids.WRITER_LENGTH)
        db.execute("INSERT INTO meta (key, value) VALUES ('writer', ?)", (writer,))
        db.execute("COMMIT")
    finally:
        db.close()
    fd = fs.open(temp, os.O_RDONLY)
    try:
        fs.sync(fd)
    finally:
        fs.close(fd)
    fs.rename(temp, path)
    fs.sync_folder(os.path.dirname(path))
    with suppress(OSError):
        fs.write_at(lock, _MADE, 0)


def connect(path: str, mode: str = "rw") -> sqlite3.Connection:
    """A connection with every durability setting on; never creates a file unless ``mode`` is ``rwc``."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(
        f"file://{quoted}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for pragma in _PRAGMAS:
            db.execute(pragma)
    except BaseException:
        db.close()
        raise
    return db


class Preallocation:
    """Decides when to preallocate the write-ahead log: after some appends, since it costs as much as a few syncs."""

    __slots__ = ("_after", "_left")

    def __init__(self, after: int) -> None:
        self._after = self._left = after

    def count(self) -> bool:
        """Count an append; True if the log is to be preallocated with it."""
        if not self._left:
            return False
        self._left -= 1
        return not self._left

    def reset(self) -> None:
        """The log was removed or truncated: count again."""
        self._left = self._after


def preallocate_wal(fs: FileSystem, path: str) -> None:
    """Preallocate the write-ahead log with zeros, which SQLite reads as no frames and overwrites: then a sync has no
    new length to write (docs/decisions/0021-append-paths.md). The caller is in a write transaction, so nobody else
    appends to the log. If there is no space, the log stays as it was."""
    try:
        fd = fs.open(path + "-wal", os.O_RDWR)
        try:
            size = fs.seek(fd, 0, SEEK_END)
            if size < _ROOM:
                done = 0
                try:
                    done = fs.write_at(fd, bytes(_ROOM - size), size)  # on the disk with the next commit
                finally:
                    if done < _ROOM - size:
                        fs.truncate(fd, size)  # the remaining space is for commits
        finally:
            fs.close(fd)
    except OSError:
        pass  # only an optimisation


def newest() -> int:
    """The version of the schema that this release makes."""
    return 1 + len(MIGRATIONS)


def version_of(path: str, db: sqlite3.Connection) -> int:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    _check_version(path, version)
    return version


def migrate(path: str, db: sqlite3.Connection) -> None:
    """Migrate an older database, one transaction for each step. The caller holds the lock."""
    for version, script in enumerate(MIGRATIONS, start=2):
        db.execute("BEGIN IMMEDIATE")
        try:
            if version_of(path, db) < version:
                _run(db, script, version)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def _run(db: sqlite3.Connection, script: str, version: int) -> None:
    for statement in _statements(script):
        db.execute(statement)
    db.execute(f"PRAGMA user_version={version}")


def _schema() -> str:
    import pkgutil  # only for a new database

    script = pkgutil.get_data("holdfast.store.sqlite", "schema.sql")
    assert script is not None
    return script.decode()


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert not statement.strip(), "the script ends within a statement"


def _check_version(path: str, version: int) -> None:
    if version > newest():
        raise Newer(
            f"{path} has schema {version}; this release of holdfast knows {newest()}. Nothing was changed."
        )


ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What the driver raises: the second if a text of the database or of its schema is not UTF-8."""
_UNREADABLE = ("no such table", "no such column", "Could not decode to UTF-8", "malformed")


def _is_damage(error: Exception) -> bool:
    if isinstance(error, UnicodeDecodeError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
        return True
    return str(error).startswith(_UNREADABLE)  # our own statements are right, so the schema is not


def translated(error: Exception, path: str, *, outcome_unknown: bool) -> HoldfastError:
    """The holdfast error for a driver error; ``outcome_unknown`` while committing."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if _is_damage(error):
        what = "a text in it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        return Damaged(f"{path} is damaged: {what}.")
    if outcome_unknown and code not in _NOT_BEGUN:
        return UnknownOutcome(
            f"Writing to {path} failed half-way ({error}): the commit may or may not be stored."
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return Damaged(f"{path} holds rows that contradict each other: {error}; nothing was written.")
    return unavailable(path, error)


def unavailable(path: str, error: Exception) -> HoldfastError:
    """The error for a failure that left the database unchanged: unavailable, or forbidden."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    forbidden = (
        error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        if isinstance(error, OSError)
        else getattr(error, "sqlite_errorcode", 0) & 0xFF in _FORBIDDEN
    )
    kind = Forbidden if forbidden else Unavailable
    return kind(f"{path} cannot be used: {reason}; nothing was written.")
