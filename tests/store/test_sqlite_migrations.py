"""Every older schema becomes the present one, and nothing is lost on the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.core.codec import Draft, Event, encode
from holdfast.errors import Refused, Unavailable
from holdfast.store.sqlite.engine import SqliteStore, database
from holdfast.testing.crash.migration import TRIAL, schema
from holdfast.testing.plans import saying, texts, wall_clock

OLDER = [1]


@pytest.fixture(autouse=True)
def _trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release has a migration from version 1 to version 2."""
    monkeypatch.setattr(database, "MIGRATIONS", (TRIAL,))


def old_database(path: str, version: int) -> None:
    """A database as the release with this schema version left it, with one commit in it."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA application_id={database.APPLICATION}")
    for script in (database._schema(), *database.MIGRATIONS)[:version]:
        db.executescript(script)
    db.execute(f"PRAGMA user_version={version}")
    db.execute("INSERT INTO meta VALUES ('writer', 'abcdefgh')")
    db.execute("INSERT INTO streams VALUES (1, 'project')")
    draft = Draft((Event("note.added", {"text": "old"}),), "ann", "agent", "o")
    commit_id = "0123456789abcdef-abcdefgh"
    line, _ = encode(draft, commit_id, "2026-01-21T14:30:00.123Z", "0" * 32)
    db.execute("INSERT INTO commits VALUES (1, 1, ?, 'o', ?)", (commit_id, line[:-1]))
    db.close()


def test_the_version_counts_the_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema of the first release is version 1, and every migration leads to the next one."""
    assert database.newest() == 2
    monkeypatch.undo()
    assert database.newest() == 1
    assert database.MIGRATIONS == ()


@pytest.mark.parametrize("version", OLDER)
def test_replayed_history_equals_fresh_schema(tmp_path: Path, version: int) -> None:
    """An older database, opened, has exactly the schema of a new one, and still has its commits."""
    old, new = str(tmp_path / "old.db"), str(tmp_path / "new.db")
    old_database(old, version)
    assert schema(old)[-1] == (version,)
    store = SqliteStore(old, clock=wall_clock)
    assert texts(store.read("project")) == ["old"]
    assert store.append("project", saying("x", op="o"), op="o").repeated is True
    store.append("project", saying("new"))
    store.put("local/note", b"x")
    assert store.check() == []
    store.close()
    SqliteStore(new, clock=wall_clock).close()
    assert schema(old) == schema(new)


@pytest.mark.parametrize("version", OLDER)
def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """A step that fails half-way leaves the schema unchanged, and the next opening completes it."""
    path = str(tmp_path / "old.db")
    old_database(path, version)
    before = schema(path)
    right = database._statements

    def failing(script: str) -> Iterator[str]:
        yield from right(script)
        yield "CREATE TABLE meta (x)"

    monkeypatch.setattr(database, "_statements", failing)
    with pytest.raises(Unavailable, match="already exists"):
        SqliteStore(path, clock=wall_clock)
    assert schema(path) == before
    monkeypatch.setattr(database, "_statements", right)
    store = SqliteStore(path, clock=wall_clock)
    assert texts(store.read("project")) == ["old"]
    store.close()


def test_two_open_an_older_database_at_once(tmp_path: Path) -> None:
    """The second one finds the migration done."""
    path = str(tmp_path / "old.db")
    old_database(path, 1)
    stores = [SqliteStore(path, clock=wall_clock) for _ in range(2)]
    for store in stores:
        database.migrate(path, store._connected())
        store.append("project", saying("x"))
        store.close()
    SqliteStore(str(tmp_path / "new.db"), clock=wall_clock).close()
    assert schema(path) == schema(str(tmp_path / "new.db"))


@pytest.mark.parametrize("torn", [range(100), range(23, 100), range(60, 64)], ids=["all", "rest", "version"])
def test_a_torn_first_page_is_read_from_the_wal(tmp_path: Path, torn: range) -> None:
    """A power cut during a checkpoint loses nothing: the log still has the page."""
    made, path = tmp_path / "made.db", tmp_path / "state.db"
    old_database(str(made), 1)
    db = sqlite3.connect(made, isolation_level=None)
    db.execute(f"PRAGMA application_id={database.APPLICATION}")
    page = bytearray(made.read_bytes())
    for place in torn:
        page[place] ^= 0xFF
    path.write_bytes(page)
    Path(f"{path}-wal").write_bytes(Path(f"{made}-wal").read_bytes())
    db.close()
    store = SqliteStore(str(path), clock=wall_clock)
    assert texts(store.read("project")) == ["old"]
    assert store.check() == []
    store.close()


def test_the_log_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """A torn database that is not ours is refused, and its log is unchanged byte for byte."""
    made, path = tmp_path / "made.db", tmp_path / "state.db"
    db = sqlite3.connect(made, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (x)")
    log = Path(f"{path}-wal")
    log.write_bytes(Path(f"{made}-wal").read_bytes())
    path.write_bytes(b"\0" * made.stat().st_size)
    db.close()
    before = path.read_bytes(), log.read_bytes()
    with pytest.raises(Refused, match="another program"):
        SqliteStore(str(path), clock=wall_clock)
    assert (path.read_bytes(), log.read_bytes()) == before
