"""SQL on the index: read-only, bounded, documented."""

from __future__ import annotations

import csv
import io
import json
import os
import runpy
import sqlite3
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import Refused, Unavailable
from holdfast.index import database, read_only


@pytest.fixture
def worked(project: Path) -> Path:
    """A workspace with a session."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Ship it")
        session.decide("Use SQLite", because="one, file", action="migrate")
        session.note('say "hello"\nand more')
        session.record("x.build", {"ok": True})
    return project


def test_a_select_gives_a_table_csv_or_json(worked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same rows in three forms."""
    ask = "select id, because, action, outcome from decisions"
    assert main(["sql", ask]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "because", "action"]
    assert row.split("  ")[0] == "D-1"
    assert main(["sql", ask, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [["id", "because", "action", "outcome"], ["D-1", "one, file", "migrate", ""]]
    assert main(["sql", ask, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == [{"id": "D-1", "because": "one, file", "action": "migrate", "outcome": None}]


def test_odd_values_have_a_form(worked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blobs, infinities, columns of one name, and no rows at all."""
    assert main(["sql", "select x'00ff' as a, 9e999 as b, 1 as a, null as c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"a": "00ff", "b": "inf", "a:2": 1, "c": None}]
    assert main(["sql", "select * from plans"]) == 0
    assert capsys.readouterr().out == "No rows.\n"


@pytest.mark.parametrize(
    "statement",
    [
        "delete from notes",
        "insert into notes default values",
        "update decisions set text = ''",
        "drop table notes",
        "create table t (a)",
        "create temp table t (a)",
        "create temp trigger t after insert on notes begin select 1; end",
        "attach 'other.db' as other",
        "attach ':memory:' as other",
        "detach main",
        "vacuum",
        "vacuum into 'copy.db'",
        "reindex",
        "analyze",
        "begin immediate",
        "savepoint a",
        "pragma journal_mode=delete",
        "pragma query_only=off",
        "pragma writable_schema=on",
        "pragma wal_checkpoint(truncate)",
        "pragma mmap_size=1",
        "update sqlite_master set sql = ''",
        "insert into search (search) values ('delete-all')",
        "select load_extension('evil')",
        "select fts3_tokenizer('simple', x'0000000000000000')",
        "select 1; delete from notes",
        "create virtual table v using fts5 (a)",
    ],
)
def test_nothing_but_select_is_allowed(worked: Path, statement: str) -> None:
    """Whatever would write, attach or load is refused, and the index is unchanged."""
    with holdfast.open(worked) as workspace:
        before = workspace.index.read(lambda db, _: db.execute("select * from notes").fetchall())
        with pytest.raises(Refused):
            workspace.index.read(lambda db, _: read_only.run(db, statement))
        assert workspace.index.read(lambda db, _: db.execute("select * from notes").fetchall()) == before
    assert not list(worked.rglob("*copy.db"))
    assert not list(worked.rglob("other.db"))


@pytest.mark.parametrize(
    "statement", ["", "select", "select * from nowhere", "nonsense", "select ?", "a\0b", "-- x"]
)
def test_what_is_no_statement_is_a_clear_error(
    worked: Path, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """SQLite's own words, without a traceback."""
    assert main(["sql", statement]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_no_statement_runs_for_ever(worked: Path) -> None:
    """A statement without an end is ended."""
    endless = "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n"
    with holdfast.open(worked) as workspace, pytest.raises(Unavailable, match="longer than"):
        workspace.index.read(lambda db, _: read_only.run(db, endless, seconds=0.2))


def test_a_value_cannot_fill_the_memory(worked: Path) -> None:
    """A huge value is refused."""
    with holdfast.open(worked) as workspace, pytest.raises(Refused):
        workspace.index.read(lambda db, _: read_only.run(db, "select zeroblob(900000000)"))


def test_a_limit_says_that_there_is_more(worked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows beyond the limit are announced."""
    assert main(["sql", "select id from commits", "--limit", "2"]) == 0
    assert "more rows" in capsys.readouterr().out


def test_a_program_gets_a_connection(worked: Path) -> None:
    """``holdfast.connect`` is caught up, read-only, and stays usable while others write."""
    db = holdfast.connect()
    assert db.execute("select goal, status, commits from sessions").fetchall() == [("Ship it", "working", 4)]
    assert db.execute("select type, json_extract(data, '$.ok') from own_events").fetchall() == [
        ("x.build", 1)
    ]
    with pytest.raises(sqlite3.DatabaseError):
        db.execute("delete from notes")
    with holdfast.open() as workspace:
        workspace.session().note("more")
        workspace.index.catch_up()
    assert db.execute("select count(*) from notes").fetchone() == (2,)
    db.close()


def test_the_full_text_can_be_asked_with_sql(worked: Path) -> None:
    """The full-text table joins the texts by number."""
    db = holdfast.connect()
    ask = "select kind, id from search join texts on number = search.rowid where search match 'sqlite'"
    assert db.execute(ask).fetchall() == [("decision", "D-1")]
    db.close()


def test_other_programs_open_the_file_as_it_is(worked: Path) -> None:
    """References are right, statuses are checked, and times, types, actors and statuses are indexed."""
    with holdfast.open(worked) as workspace:
        workspace.index.catch_up()
        path = workspace.index.path
    db = sqlite3.connect(path)
    assert db.execute("pragma foreign_key_check").fetchall() == []
    db.execute("pragma foreign_keys=on")
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        db.execute("update sessions set status = 'unheard-of'")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN"):
        db.execute("update decisions set stream = 99")
    columns = {
        row[0] for row in db.execute("select sql from sqlite_master where type = 'index' and sql is not null")
    }
    for wanted in ("commits (at)", "commits (by)", "events (type)", "decisions (status", "sessions (status)"):
        assert any(wanted in sql for sql in columns), wanted
    db.close()


def test_every_table_and_column_is_documented() -> None:
    """docs/reference/index.md has every table of the schema with its columns."""
    page = (Path(__file__).parents[2] / "docs/reference/index.md").read_text()
    db = database.connect("")
    for name, kind in db.execute("select name, type from sqlite_master where type in ('table', 'view')"):
        if name.startswith(("search_", "sqlite_", "meta")):
            continue
        assert f"## {name}" in page, (name, kind)
        for column in db.execute(f"pragma table_info({name})"):
            assert f"| `{column[1]}` |" in page.partition(f"## {name}\n")[2].partition("\n## ")[0], column


def test_the_reference_page_is_current() -> None:
    """`python tools/index_reference.py` writes the page."""
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "index_reference.py"))
    assert tool["page"]() == tool["PAGE"].read_text()


def test_the_examples_of_the_reference_run(worked: Path) -> None:
    """Every statement on the page is accepted."""
    page = (Path(__file__).parents[2] / "docs/reference/index.md").read_text()
    statements = page.partition("```sql\n")[2].partition("```")[0].split(";\n")
    db = holdfast.connect()
    for statement in filter(str.strip, statements):
        db.execute(statement).fetchall()
    db.close()
    assert len(statements) > 3


def test_the_index_command_shows_rebuilds_and_deletes(
    worked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status says how far behind it is; rebuilding and deleting lose nothing."""
    assert main(["index"]) == 0
    assert "changed since" in capsys.readouterr().out
    for folder, _, _ in os.walk(worked / ".state" / "events"):
        os.utime(folder, (1e9, 1e9))  # long unchanged: a folder that has just changed counts as behind
    assert main(["index", "rebuild"]) == 0
    assert "Rebuilt the index.\n4 commits of 1 session (0 archived)" in capsys.readouterr().out
    assert main(["index", "status", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["behind"], said["commits"], said["unreadable"]) == (0, 4, [])
    assert main(["index", "delete"]) == 0
    assert not (worked / ".state/local/index.db").exists()
    capsys.readouterr()
    assert main(["search", "SQLite"]) == 0
    assert "[SQLite]" in capsys.readouterr().out
