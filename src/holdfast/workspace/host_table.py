"""Copilot CLI keeps its tasks in a table and changes it with SQL: what a statement does to the tasks that we know.

The statement runs on a copy in memory that has this table only. It may read and change that table, and nothing else:
no file, no other table, no schema; and it has only so many steps.
"""

from __future__ import annotations

import sqlite3

from holdfast.typed import Any
from holdfast.workspace.host_plans import MOST, PENDING, STATUSES, HostTask

_LONGEST = 20_000
_STEPS = 200_000
_TABLE = (
    "CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT, description TEXT, status TEXT DEFAULT 'pending', "
    "created_at TEXT DEFAULT '', updated_at TEXT DEFAULT '')"
)
_ALLOWED = frozenset(
    [
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_TRANSACTION,
    ]
)


def tasks_after(state: dict[str, Any], sql: str, owner: str) -> list[HostTask]:
    """The host's tasks after a statement, those that it removed included; none if it cannot be run."""
    entries = state["tasks"]["open"].values()
    known = {
        entry["host_id"].removeprefix(owner): entry
        for entry in entries
        if entry.get("host_id", "").startswith(owner)
    }
    rows = [
        (number, entry["title"], "in_progress" if entry["started"] else "pending")
        for number, entry in known.items()
    ]
    found = _run(sql[:_LONGEST], rows)
    if found is None:
        return []
    gone = [HostTask(number, "", "gone") for number in known if number not in found]
    return [*gone, *(_task(number, title, status) for number, (title, status) in found.items())][: 2 * MOST]


def _task(number: str, title: Any, status: Any) -> HostTask:
    name = str(status or "").lower()
    return HostTask(number, title if isinstance(title, str) else "", STATUSES.get(name, PENDING))


def _run(sql: str, rows: list[tuple[str, str, str]]) -> dict[str, tuple[Any, Any]] | None:
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.execute(_TABLE)
        database.executemany("INSERT INTO todos (id, title, status) VALUES (?, ?, ?)", rows)
        database.set_authorizer(_authorize)
        database.set_progress_handler(lambda: 1, _STEPS)
        database.executescript(sql)
        database.set_progress_handler(None, 0)
        found = database.execute("SELECT id, title, status FROM todos LIMIT ?", (2 * MOST,)).fetchall()
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return None
    finally:
        database.close()
    return {number[:100]: (title, status) for number, title, status in found if isinstance(number, str)}


_FUNCTIONS = frozenset(["datetime", "date", "current_timestamp", "coalesce", "lower", "upper", "strftime"])


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_OK if (second or "").lower() in _FUNCTIONS else sqlite3.SQLITE_DENY
    writes = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
    allowed = action in _ALLOWED and (not writes or first == "todos")
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
