"""What an index holds, in a form that does not depend on how it came about; and what the log says it must hold."""

from __future__ import annotations

import sqlite3
from typing import Any

from holdfast.core import concepts
from holdfast.index import database
from holdfast.index.catch_up import catch_up
from holdfast.index.tables import PARTS, TABLES
from holdfast.store.protocol import Store, archive_of
from holdfast.workspace import decision_list
from holdfast.workspace.decision_list import Wanted
from holdfast.workspace.handle import Handle
from holdfast.workspace.workspace import Workspace

Contents = dict[str, list[tuple[Any, ...]]]


def contents(db: sqlite3.Connection) -> Contents:
    """The rows of every table, with names instead of numbers, and every word of the full text with its place."""
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found: Contents = {
        "streams": db.execute("SELECT name, kind, commits, head, problem FROM streams").fetchall(),
        "commits": db.execute(
            "SELECT name, id, at, by, origin, op FROM commits JOIN streams USING (stream)"
        ).fetchall(),
        "events": db.execute(
            "SELECT name, id, place, type, version, data FROM events JOIN commits ON number = commit_number "
            "JOIN streams USING (stream)"
        ).fetchall(),
        "texts": db.execute(
            "SELECT name, texts.kind, id, status, at, by, origin, text FROM texts JOIN streams USING (stream)"
        ).fetchall(),
    }
    for table in ("sessions", *(table.name for table in TABLES.values())):
        found[table] = db.execute(
            f"SELECT name, {table}.* FROM {table} JOIN streams USING (stream)"
        ).fetchall()
        found[table] = [(row[0], *row[2:]) for row in found[table]]
    for table in ("notes", "messages", "checkpoints"):
        rows = db.execute(
            f"SELECT name, id, {table}.* FROM {table} JOIN commits ON number = commit_number "
            "JOIN streams ON streams.stream = commits.stream"
        ).fetchall()
        found[table] = [(*row[:2], row[3], *row[5:]) for row in rows]
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, search, instance)")
    found["words"] = db.execute(
        "SELECT name, texts.kind, id, term, offset FROM vocabulary JOIN texts ON number = doc "
        "JOIN streams USING (stream)"
    ).fetchall()
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


def from_scratch(store: Store) -> Contents:
    """What an index holds that is built at once."""
    db = database.connect("")
    catch_up(db, store)
    return contents(db)


def check(workspace: Workspace) -> None:
    """The kept index holds the same as a new one, and both agree with the fold."""
    assert not workspace.index.catch_up().behind
    db = sqlite3.connect(workspace.index.path)
    try:
        kept = contents(db)
    finally:
        db.close()
    new = from_scratch(workspace.store)
    for table, rows in new.items():
        assert kept[table] == rows, table
    check_fold(workspace, new)
    check_decisions(workspace)


def check_decisions(workspace: Workspace) -> None:
    """The list of decisions is the same from the index and from the logs, whatever is asked for."""
    everything = decision_list._from_logs(workspace, Wanted(), 0).entries
    middle = everything[len(everything) // 2]["at"] if everything else None
    wanted = [Wanted(), Wanted(by="human"), Wanted(since=middle), Wanted(until=middle), Wanted(text="a")]
    wanted += [Wanted(status=status) for status in ("unsettled", "settled", "failed", "choice")]
    wanted += [Wanted(stream=entry["stream"]) for entry in everything[:3]]
    wanted += [Wanted(once=entry["once"]) for entry in everything if entry["once"]][:3]
    for one in wanted:
        for limit in (0, 2):
            kept = decision_list.decisions(workspace, one, limit)
            logged = decision_list._from_logs(workspace, one, limit)
            assert sorted(map(_comparable, kept.entries)) == sorted(map(_comparable, logged.entries)), one
            assert (kept.counts, kept.looked_at) == (logged.counts, logged.looked_at), one


def _comparable(entry: dict[str, Any]) -> str:
    # Of an outcome that another clone recorded too, the state keeps the beginning, for the last decisions.
    return repr(sorted((key, value) for key, value in entry.items() if key != "rivals"))


def check_fold(workspace: Workspace, found: Contents) -> None:
    """What the state of every stream holds is in the tables, and nothing else is open."""
    store = workspace.store
    archive = archive_of(store)
    names = sorted({*store.streams(), *(archive.archived() if archive is not None else [])})
    assert [row[0] for row in found["streams"]] == names
    for name in names:
        state = Handle(workspace, name).peek().state
        assert (name, state["commits"]) == next(
            (row[0], row[2]) for row in found["streams"] if row[0] == name
        )
        for noun, part in PARTS.items():
            if part not in state or noun not in TABLES:
                continue
            table = TABLES[noun]
            rows = {row[1]: row for row in found[table.name] if row[0] == name}
            open_ids = {key for key, row in rows.items() if row[2] in _OPEN[noun]}
            assert open_ids == set(state[part]["open"]), (name, noun)
            for entry in state[part]["closed"]:
                assert rows[entry["id"]][2] not in _OPEN[noun] or entry["id"] in open_ids
        if state["kind"] == "user":
            kept = {row[1] for row in found["preferences"] if row[0] == name and row[2] == "open"}
            assert kept == set(concepts.preference.all_of(state))
        if state["kind"] == "session":
            kept = {row[1] for row in found["refs"] if row[0] == name and row[2] == "open"}
            assert kept == set(state["references"]["open"])
            assert sum(row[0] == name for row in found["notes"]) == state["notes"]["count"]
            assert sum(row[0] == name for row in found["messages"]) == state["messages"]["count"]


_OPEN = {
    "decision": ("open",),
    "task": ("pending", "working", "blocked"),
    "plan": ("proposed",),
    "loop": ("open", "clarifying"),
    "capture": ("open",),
    "backlog": ("todo", "doing", "blocked"),
    **dict.fromkeys(("risk", "blocker", "error", "next", "fact", "order", "batch"), ("open",)),
}
