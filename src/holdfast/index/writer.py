"""Writing rows into the index: of several streams at once, within one transaction."""

from __future__ import annotations

import sqlite3

from holdfast.index.rows import Row, Rows, first_number, session_row
from holdfast.index.tables import TABLES, replace_sql, update_sql
from holdfast.index.words import segmented

_BY_STREAM = (
    *(table.name for table in TABLES.values()),
    "notes",
    "messages",
    "checkpoints",
    "texts",
    "commits",
    "sessions",
)
"""Tables with rows of one stream, those that others refer to last."""
_STREAM = """
INSERT INTO streams (stream, name, kind, commits, head, stamp, cursor, state, problem)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET commits = excluded.commits, head = excluded.head, stamp = excluded.stamp,
    cursor = excluded.cursor, state = excluded.state, problem = excluded.problem
"""
_SUPERSEDED = """
UPDATE decisions SET superseded_by = (
    SELECT group_concat(id, ', ') FROM (
        SELECT id FROM decisions AS newer WHERE newer.stream = decisions.stream
            AND newer.supersedes = decisions.id ORDER BY newer.commit_id, newer.id
    )
) WHERE stream = ? AND id = ?
"""


def delete_rows(db: sqlite3.Connection, stream: int) -> None:
    """Delete all rows of a stream, except the one in ``streams``."""
    found = db.execute("SELECT number, text FROM texts WHERE stream = ?", (stream,)).fetchall()
    _unindex(db, found)
    db.execute(
        "DELETE FROM events WHERE commit_number IN (SELECT number FROM commits WHERE stream = ?)", (stream,)
    )
    for table in _BY_STREAM:
        db.execute(f"DELETE FROM {table} WHERE stream = ?", (stream,))  # noqa: S608 - a constant


def _unindex(db: sqlite3.Connection, texts: list[tuple[int, str]]) -> None:
    """Remove texts from the full-text table, which must be told what it was fed with."""
    db.executemany(
        "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)",
        [(number, segmented(text)) for number, text in texts],
    )


Statements = dict[str, list[Row]]
"""Rows by the statement that writes them."""


def collect(rows: Rows, stream: Row, name: str) -> Statements:
    """Everything that some commits of a stream write, except for texts."""
    found: Statements = {_STREAM: [stream]}

    def put(table: str, values: list[Row]) -> None:
        if values:
            found[_insert(table, len(values[0]))] = values

    put("commits", rows.commits)
    put("events", rows.events)
    for table, values in rows.line_rows.items():
        put(table, values)
    if name.startswith("sessions/"):
        put("sessions", [session_row(rows.number, name, rows.state)])
    new, changed = rows.entry_rows()
    for noun, values in new.items():
        found[replace_sql(TABLES[noun])] = values
    for noun, values in changed.items():
        found[update_sql(TABLES[noun])] = values
    if rows.superseded:
        found[_SUPERSEDED] = [(rows.number, older) for older in sorted(rows.superseded)]
    return found


def collect_texts(rows: Rows) -> Statements:
    """The texts of a stream of which the index has none yet."""
    statuses = rows.statuses()
    texts: list[Row] = []
    search: list[Row] = []
    for number, (key, (at, by, origin, found)) in enumerate(
        rows.texts.items(), first_number(rows.number) + 1
    ):
        text = "\n".join(found)
        texts.append((number, rows.number, *key, statuses.get(key), at, by, origin, text))
        search.append((number, segmented(text)))
    return {_TEXT: texts, _SEARCH: search}


def _insert(table: str, columns: int) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608 - a constant


_TEXT = _insert("texts", 9)
_SEARCH = "INSERT INTO search (rowid, text) VALUES (?, ?)"


class Writer:
    """Collects rows of streams and writes them together."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.commits = 0
        """Commits that are collected and not yet written."""
        self._collected: Statements = {}

    def add(self, found: Statements, commits: int) -> None:
        """Collect rows."""
        self.commits += commits
        for statement, values in found.items():
            self._collected.setdefault(statement, []).extend(values)

    def add_texts(self, rows: Rows) -> None:
        """Collect the texts of a stream of which the index may have some already."""
        db = self.db
        statuses = rows.statuses()
        last = self._last_text(rows.number)
        for key, (at, by, origin, found) in rows.texts.items():
            text = "\n".join(found)
            old = db.execute(
                "SELECT number, text FROM texts WHERE stream = ? AND kind = ? AND id = ?", (rows.number, *key)
            ).fetchone()
            if old is None:
                number = last = last + 1
                row = (number, rows.number, *key, statuses.get(key), at, by, origin, text)
                self.add({_TEXT: [row]}, 0)
            else:
                number, before = old
                _unindex(db, [(number, before)])
                text = f"{before}\n{text}"
                db.execute("UPDATE texts SET text = ? WHERE number = ?", (text, number))
            self.add({_SEARCH: [(number, segmented(text))]}, 0)
        db.executemany(
            "UPDATE texts SET status = ? WHERE stream = ? AND kind = ? AND id = ?",
            [(status, rows.number, *key) for key, status in statuses.items()],
        )

    def _last_text(self, stream: int) -> int:
        """The number of a stream's last text."""
        (last,) = self.db.execute(
            "SELECT max(number) FROM texts WHERE number < ?", (first_number(stream + 1),)
        ).fetchone()
        return max(last or 0, first_number(stream))

    def flush(self) -> None:
        """Write what was collected: first what is added, then what changes it."""
        collected, self._collected, self.commits = self._collected, {}, 0
        for statement in sorted(collected, key=lambda text: text.lstrip().startswith("UPDATE")):
            self.db.executemany(statement, collected[statement])
