"""Lint rules for the memory itself: what is stored twice, what changes all the time, what nobody reads."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.checks.finding import Rule, collector
from holdfast.checks.tree import Tree
from holdfast.core.text import one_line
from holdfast.core.timestamps import iso
from holdfast.errors import HoldfastError
from holdfast.workspace import reads
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.discovery import FOLDER
from holdfast.workspace.workspace import Workspace, open_workspace

Places = Iterator[tuple[str, int, str]]
CHECKS: list[tuple[Rule, Callable[[Tree], Places]]] = []
rule = collector(CHECKS)
MANY = 30
"""Changes of one value in a session, or of one reference, that are too many."""
_SHOWN = 20
_UNREAD_MS = 14 * 86_400_000
"""Reads must have been counted this long before "never read" means anything."""
_TWICE = """
    SELECT {kind!r}, min(text), count(*), group_concat(name || ' ' || id, ', ') FROM {table} JOIN streams USING (stream)
    WHERE status NOT IN ('dropped', 'lifted') AND text IS NOT NULL
    GROUP BY lower(trim(text)) HAVING count(*) > 1 ORDER BY 3 DESC LIMIT {shown}
"""
_CHANGES = """
    SELECT name, replace(type, '.set', ''), count(*) FROM events
    JOIN commits ON commits.number = commit_number JOIN streams USING (stream)
    WHERE type IN ('goal.set', 'focus.set', 'preference.set') GROUP BY stream, type HAVING count(*) > :many
    UNION ALL
    SELECT name, json_extract(data, '$.path'), count(*) FROM events
    JOIN commits ON commits.number = commit_number JOIN streams USING (stream)
    WHERE type = 'reference.added' GROUP BY stream, 2 HAVING count(*) > :many
    ORDER BY 3 DESC LIMIT :shown
"""
_OPEN = """
    SELECT name, id, text FROM facts JOIN streams USING (stream) WHERE status = 'open' AND at < :before
    UNION ALL
    SELECT name, id, text FROM decisions JOIN streams USING (stream)
    WHERE streams.kind = 'project' AND superseded_by IS NULL AND at < :before
    UNION ALL
    SELECT name, id, id FROM refs JOIN streams USING (stream) JOIN sessions USING (stream)
    WHERE refs.status = 'open' AND archived = 0 AND at < :before
"""


def _ask(tree: Tree, question: Callable[[Workspace, sqlite3.Connection], list[Any]]) -> list[Any]:
    """The rows of a question to the index of the project's workspace; none if it has no workspace."""
    where = os.path.join(tree.root, FOLDER)
    if not os.path.isdir(os.path.join(where, "events")):  # another tool's folder
        return []
    try:
        with open_workspace(where) as workspace:
            return workspace.index.read(lambda db, _: question(workspace, db))
    except HoldfastError:
        return []  # doctor reports what cannot be read


@rule("HF501", "note", "the same text in several records", "Keep one, and drop or supersede the others.")
def _duplicates(tree: Tree) -> Places:
    def ask(_: Workspace, db: sqlite3.Connection) -> list[Any]:
        found = []
        for kind, table in (("fact", "facts"), ("order", "orders"), ("decision", "decisions")):
            found += db.execute(_TWICE.format(kind=kind, table=table, shown=_SHOWN)).fetchall()
        return found

    for kind, text, count, where in _ask(tree, ask):
        yield (
            FOLDER,
            0,
            f"{count} records have the same {kind} {one_line(text, 60)!r}: {one_line(where, 160)}.",
        )


@rule(
    "HF502", "note", "a value that changes all the time", "Keep it in a note or in a file, not in the state."
)
def _churn(tree: Tree) -> Places:
    for stream, what, count in _ask(
        tree, lambda _, db: db.execute(_CHANGES, {"many": MANY, "shown": _SHOWN}).fetchall()
    ):
        yield FOLDER, 0, f"{one_line(str(what), 80)} of {stream} was changed {count:,} times."


@rule("HF503", "note", "a record that nobody reads", "Drop it, if it no longer helps.")
def _unread(tree: Tree) -> Places:
    def ask(workspace: Workspace, db: sqlite3.Connection) -> list[Any]:
        counted = reads.counts(workspace)
        if counted is None or not reads.is_counting(workspace):
            return []
        before = iso(int(counted["since"]))
        # Since the first count: what is older had its chance to be read.
        if wall_clock() - int(counted["since"]) < _UNREAD_MS:
            return []
        rows = db.execute(_OPEN, {"before": before}).fetchall()
        return [row for row in rows if f"{row[0]} {row[1]}" not in counted["reads"]][:_SHOWN]

    for stream, short_id, text in _ask(tree, ask):
        yield (
            FOLDER,
            0,
            f"{short_id} of {stream} was not read since reads are counted: {one_line(text, 60)!r}.",
        )
