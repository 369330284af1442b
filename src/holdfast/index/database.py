"""The file of the index: made, opened, recognised, and made again if it cannot be used.

Everything in it follows from the log. So an index of another release, or one that SQLite finds damaged, is deleted.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable

from holdfast.core import fold
from holdfast.errors import Unavailable
from holdfast.fs import durable, posix
from holdfast.fs.port import LOCK_EX, LOCK_UN
from holdfast.typed import TYPE_CHECKING
from holdfast.version import __version__

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

APPLICATION = 0x68666978  # "hfix"
SCHEMA = 5
"""Increased whenever the same log gives different rows."""
BUSY_SECONDS = 5.0
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA cache_size=-65536",
    "PRAGMA wal_autocheckpoint=8000",
    "PRAGMA temp_store=MEMORY",
)
_WITHOUT_JOURNAL = (
    "PRAGMA journal_mode=OFF",
    "PRAGMA synchronous=OFF",
    "PRAGMA locking_mode=EXCLUSIVE",
    "PRAGMA cache_size=-65536",
    "PRAGMA temp_store=MEMORY",
)
_FILES = ("-wal", "-shm", "-journal", "")
NEW = "-new"
"""The end of the name of an index that is being built (see ``building``)."""


def release() -> str:
    """What the rows depend on besides the log."""
    return f"{SCHEMA} {fold.RELEASE} {__version__}"


def connect(path: str) -> sqlite3.Connection:
    """The index at ``path``, empty if there is none that can be used; without a path, or where no file can be written,
    one in memory."""
    if not path:
        return _made(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
    try:
        return locked(path, _connect)
    except (OSError, sqlite3.OperationalError):
        return connect("")  # a read-only folder, or no space: slower, but it answers


def _connect(path: str) -> sqlite3.Connection:
    if any(_is_link(path + suffix) for suffix in _FILES):
        delete_files(path)  # SQLite would follow it, out of the workspace
    try:
        return _opened(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        delete_files(path)
        return _opened(path)


def _opened(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        for pragma in _PRAGMAS:
            db.execute(pragma)
        if _release_of(db) == release():
            return db
        empty = not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        if empty:
            return _made(db)
        raise sqlite3.DatabaseError("made by another release")
    except BaseException:
        db.close()
        raise


def create_without_journal(path: str) -> sqlite3.Connection:
    """A new index at ``path`` that is of no use unless it is closed without an error."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in _WITHOUT_JOURNAL:
            db.execute(pragma)
        return _made(db)
    except BaseException:
        db.close()
        raise


def _made(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute("BEGIN IMMEDIATE")
    for statement in _statements("schema.sql"):
        db.execute(statement)
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
    db.execute("INSERT INTO meta VALUES ('release', ?)", (release(),))
    db.execute(f"PRAGMA application_id={APPLICATION}")
    db.execute("COMMIT")
    return db


def _release_of(db: sqlite3.Connection) -> str:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        return ""
    found = db.execute("SELECT value FROM meta WHERE key = 'release'").fetchone()
    return str(found[0]) if found else ""


def add_indexes(db: sqlite3.Connection) -> None:
    """Create the indexes on tables: after the first build, which is faster without them."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'commits_by_id'").fetchone():
        return
    for statement in _statements("indexes.sql"):
        db.execute(statement)


def delete(path: str) -> None:
    """Delete the index. Nothing is lost: the next search builds it again."""
    if path and any(posix.exists(path + suffix) for suffix in (*_FILES, NEW)):
        try:
            locked(path, _delete)
        except OSError as error:
            raise Unavailable(f"The index {path} cannot be deleted: {error.strerror}.") from error


def _delete(path: str) -> None:
    delete_files(path + NEW)
    delete_files(path)


def delete_files(path: str) -> None:
    """Delete the files of a database. The caller has locked the index, or nobody else opens it."""
    # The file itself last: a new one must never meet the write-ahead log of the old.
    for suffix in _FILES:
        try:
            posix.unlink(path + suffix)
        except FileNotFoundError:
            pass


def locked(path: str, act: Callable[[str], T]) -> T:
    """Run ``act`` while no other process opens or deletes the index."""
    try:
        fd = posix.open(path + "-lock", os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        durable.make_folders(posix, os.path.dirname(path))
        fd = posix.open(path + "-lock", os.O_RDWR | os.O_CREAT)
    try:
        posix.lock(fd, LOCK_EX)
        return act(path)
    finally:
        posix.lock(fd, LOCK_UN)
        posix.close(fd)


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(posix.stat(path).st_mode)
    except FileNotFoundError:
        return False


def file_of(db: sqlite3.Connection) -> str:
    """The file of a connection; empty if it is in memory."""
    return str(db.execute("PRAGMA database_list").fetchone()[2] or "")


def node_of(path: str) -> int:
    """The inode of the index; 0 if there is none."""
    try:
        return posix.stat(path).st_ino if path else 0
    except OSError:
        return 0


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else is writing."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def script(name: str) -> str:
    """The text of one of the SQL scripts of this package."""
    import pkgutil

    found = pkgutil.get_data("holdfast.index", name)
    assert found is not None
    return found.decode()


def _statements(name: str) -> list[str]:
    statements, statement = [], ""
    for line in script(name).splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements
