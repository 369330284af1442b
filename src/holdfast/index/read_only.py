"""Read-only access with SQL: a connection that can do nothing but SELECT."""

from __future__ import annotations

import sqlite3
from time import monotonic

from holdfast.errors import Refused, Unavailable
from holdfast.index.database import BUSY_SECONDS
from holdfast.typed import Any, Record

SECONDS = 30.0
"""The longest that a statement may run."""
_LARGEST_VALUE = 64 << 20
_ALLOWED = frozenset([sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE])
_PRAGMAS = frozenset(
    [
        "data_version",  # the full-text table asks for it
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "function_list",
        "user_version",
        "application_id",
        "encoding",
        "page_count",
        "page_size",
        "schema_version",
        "compile_options",
    ]
)
"""What a client that shows a database asks for; none with a value."""
_FORBIDDEN = frozenset(["load_extension", "fts3_tokenizer", "edit", "readfile", "writefile"])


def connect(path: str) -> sqlite3.Connection:
    """A read-only connection to the index at ``path``."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(
        f"file:{quoted}?mode=ro",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    return _restricted(db)


def copy_of(source: sqlite3.Connection) -> sqlite3.Connection:
    """A read-only copy of an index that is in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    source.backup(db)
    return _restricted(db)


def _restricted(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute("PRAGMA query_only=ON")
    db.execute("PRAGMA trusted_schema=OFF")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    db.set_authorizer(_authorize)
    return db


def _authorize(action: int, one: str | None, two: str | None, *_: object) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() not in _FORBIDDEN:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and one in _PRAGMAS and (two is None or "_" in one):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and one == "sqlite_master":
        return sqlite3.SQLITE_OK  # SQLite says so while it opens the full-text table; it writes nothing
    return sqlite3.SQLITE_DENY


class Result(Record):
    """The rows of a statement."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool
    """There are more rows than the limit."""


def run(db: sqlite3.Connection, statement: str, limit: int = 0, seconds: float = SECONDS) -> Result:
    """Run one statement; ``limit`` 0 returns all rows."""
    end = monotonic() + seconds
    db.set_progress_handler(lambda: int(monotonic() > end), 10_000)
    try:
        cursor = db.execute(statement)
        rows = cursor.fetchmany(limit + 1) if limit else cursor.fetchall()
        columns = tuple(column[0] for column in cursor.description or ())
        return Result(columns, rows[:limit] if limit else rows, bool(limit) and len(rows) > limit)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        raise _refused(error, seconds) from error
    finally:
        db.set_progress_handler(None, 0)


def _refused(error: Exception, seconds: float) -> Refused | Unavailable:
    code = getattr(error, "sqlite_errorcode", 0) or 0
    if code == sqlite3.SQLITE_INTERRUPT:
        return Unavailable(
            f"The statement ran longer than {seconds:g} seconds and was ended.", hint="Ask for less."
        )
    if code == sqlite3.SQLITE_AUTH or code & 0xFF == sqlite3.SQLITE_READONLY:
        return Refused(
            f"Only SELECT is allowed here ({error}). Nothing was changed.",
            hint="The index follows from the log: write with the commands of holdfast.",
        )
    return Refused(f"SQLite refuses the statement: {error}.")
