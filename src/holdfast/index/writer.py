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


class Writer:
    """Collects rows of streams and writes them together."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.commits = 0
        """Commits that are collected and not yet written."""
        self._rows: dict[str, list[Row]] = {}
        self._new: dict[str, list[Row]] = {}
        self._changed: dict[str, list[Row]] = {}
        self._streams: list[Row] = []
        self._superseded: list[Row] = []

    def add(self, rows: Rows, stream: Row, name: str, *, fresh: bool) -> None:
        """Collect the rows of a stream; ``fresh`` if the index has no others of it."""
        self.commits += len(rows.commits)
        self._put("commits", rows.commits)
        self._put("events", rows.events)
        for table, found in rows.line_rows.items():
            self._put(table, found)
        new, changed = rows.entry_rows()
        for noun, found in new.items():
            self._new.setdefault(noun, []).extend(found)
        for noun, found in changed.items():
            self._changed.setdefault(noun, []).extend(found)
        self._superseded += [(rows.number, older) for older in sorted(rows.superseded)]
        self._streams.append(stream)
        self._add_texts(rows, fresh=fresh)
        if name.startswith("sessions/"):
            self._put("sessions", [session_row(rows.number, name, rows.state)])

    def _put(self, table: str, rows: list[Row]) -> None:
        if rows:
            self._rows.setdefault(table, []).extend(rows)

    def _add_texts(self, rows: Rows, *, fresh: bool) -> None:
        statuses = rows.statuses()
        last = first_number(rows.number) if fresh else self._last_text(rows.number)
        texts, search = self._rows.setdefault("texts", []), self._rows.setdefault("search", [])
        for key, (at, by, origin, found) in rows.texts.items():
            kind, entry_id = key
            text = "\n".join(found)
            number = None
            if not fresh and (old := self._old(rows.number, kind, entry_id)) is not None:
                number, before = old
                _unindex(self.db, [(number, before)])
                text = f"{before}\n{text}"
                self.db.execute("UPDATE texts SET text = ? WHERE number = ?", (text, number))
            else:
                number = last = last + 1
                status = statuses.pop(key, None)
                texts.append((number, rows.number, kind, entry_id, status, at, by, origin, text))
            search.append((number, segmented(text)))
        if not fresh:
            self.db.executemany(
                "UPDATE texts SET status = ? WHERE stream = ? AND kind = ? AND id = ?",
                [(status, rows.number, *key) for key, status in statuses.items()],
            )

    def _last_text(self, stream: int) -> int:
        """The number of a stream's last text."""
        (last,) = self.db.execute(
            "SELECT max(number) FROM texts WHERE number < ?", (first_number(stream + 1),)
        ).fetchone()
        return max(last or 0, first_number(stream))

    def _old(self, stream: int, kind: str, entry_id: str) -> tuple[int, str] | None:
        found: tuple[int, str] | None = self.db.execute(
            "SELECT number, text FROM texts WHERE stream = ? AND kind = ? AND id = ?",
            (stream, kind, entry_id),
        ).fetchone()
        return found

    def flush(self) -> None:
        """Write what was collected."""
        db = self.db
        db.executemany(_STREAM, self._streams)
        for table, rows in self._rows.items():
            if rows and table != "search":
                db.executemany(
                    f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(rows[0]))})",  # noqa: S608
                    rows,
                )
        db.executemany("INSERT INTO search (rowid, text) VALUES (?, ?)", self._rows.get("search", []))
        for noun, rows in self._new.items():
            db.executemany(replace_sql(TABLES[noun]), rows)
        for noun, rows in self._changed.items():
            db.executemany(update_sql(TABLES[noun]), rows)
        db.executemany(_SUPERSEDED, self._superseded)
        self._rows, self._new, self._changed = {}, {}, {}
        self._streams, self._superseded, self.commits = [], [], 0
