"""One store that appends behind its own last commit in SQLite: one statement, and room in the write-ahead log."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.codec import Draft, Event, content_of
from holdfast.errors import Conflict, Unavailable
from holdfast.fs import posix
from holdfast.store.protocol import AppendContext, Appended, Cursor, PrebuiltCommit, PreparedCommit
from holdfast.store.sqlite.engine import SqliteStore
from holdfast.testing.crash.wrapped import Wrapped

STREAM = "sessions/ada/2026-01-21-a1b2c3d4"
ROOM = 4_000_000


def watch(patch: pytest.MonkeyPatch) -> list[bool]:
    """For each append that tries the short way, as long as the patch lasts, whether it could be gone."""
    gone: list[bool] = []
    tried = SqliteStore._append_alone

    def watched(self: SqliteStore, *given: Any) -> Appended | None:
        appended = tried(self, *given)
        gone.append(appended is not None)
        return appended

    patch.setattr(SqliteStore, "_append_alone", watched)
    return gone


@pytest.fixture
def short_ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each append that tried the short way, whether it could be gone."""
    return watch(monkeypatch)


class Writer:
    """A store whose clock and dice are given, with the cursor that it has come to."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.path = str(folder / "state.db")
        self.now = 1_800_000_000_000
        dice = Random(7)
        self.store = SqliteStore(self.path, clock=lambda: self.now, random=dice.randbytes, **options)
        self.cursor: Cursor = None
        self.seen: list[bytes] = []

    def append(
        self, length: int = 20, *, known: bool = True, expect: int | None = None, later: int = 0
    ) -> Appended:
        self.now += later
        draft = Draft((Event("x.test", {"text": "w" * length}),), "ada", "agent")
        prepared = PreparedCommit(draft, {}, content_of(draft))

        def look(context: AppendContext) -> PreparedCommit:
            self.seen = list(context.tail.lines)
            return prepared

        plan = PrebuiltCommit(prepared, look) if known else look
        done = self.store.append(STREAM, plan, self.cursor, expect)
        self.cursor = done.cursor
        return done

    def rows(self) -> list[Any]:
        other = sqlite3.connect(self.path)
        try:
            return other.execute("SELECT stream, seq, id, op, line FROM commits ORDER BY seq").fetchall()
        finally:
            other.close()

    def log(self) -> int:
        """The length of the write-ahead log."""
        return os.path.getsize(self.path + "-wal")


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([0, 30, 200, 9000]), st.sampled_from([0, 1, 50])), min_size=5, max_size=40
    )
)
def test_the_short_way_leaves_what_the_long_way_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    """Whatever is written when: rows, cursors and answers are the same on both ways."""
    short, long = (Writer(tmp_path_factory.mktemp(name)) for name in ("short", "long"))
    gone: list[bool] = []
    for length, later in steps:
        with pytest.MonkeyPatch.context() as patch:
            tried = watch(patch)
            one = short.append(length, later=later)
        gone += tried
        assert one == long.append(length, later=later, known=False)
    assert sum(gone) >= len(steps) - 4  # three find out that they are alone, one makes room in the log
    assert short.rows() == long.rows()
    for writer in (short, long):
        assert writer.store.check() == []
        writer.store.close()


def test_the_short_way_sees_others(tmp_path: Path, short_ways: list[bool]) -> None:
    """A commit of another store is seen by the plan before the next one is written behind it."""
    writer, other = Writer(tmp_path), Writer(tmp_path)
    for _ in range(6):
        writer.append()
    assert short_ways[-1]
    theirs = other.append(known=False)
    done = writer.append()
    assert short_ways[-1] is False
    assert len(writer.seen) == 1
    assert done.version == theirs.version + 1 == 8
    assert done.commit.id > theirs.commit.id
    assert writer.store.check() == []


def test_the_short_way_does_not_follow_what_was_forgotten(tmp_path: Path, short_ways: list[bool]) -> None:
    """A stream that another store has forgotten begins anew, whatever this one remembers of it."""
    writer, other = Writer(tmp_path), Writer(tmp_path)
    for _ in range(6):
        writer.append()
    other.store.forget(STREAM)
    assert writer.append().version == 1
    assert short_ways[-1] is False


def test_the_short_way_does_not_follow_another_commit_in_the_same_place(
    tmp_path: Path, short_ways: list[bool]
) -> None:
    """A stream that was forgotten and has grown to the same length again is another one."""
    writer, other = Writer(tmp_path), Writer(tmp_path)
    for _ in range(6):
        writer.append()
    other.store.forget(STREAM)
    other.now += 5
    for _ in range(6):
        other.append(known=False)
    assert writer.append().version == 7
    assert short_ways[-1] is False
    assert len(writer.seen) == 6
    assert writer.store.check() == []


def test_an_expected_version_is_checked_on_the_short_way(tmp_path: Path, short_ways: list[bool]) -> None:
    """Who expects another version is refused, and nothing is written."""
    writer = Writer(tmp_path)
    for _ in range(6):
        writer.append()
    with pytest.raises(Conflict):
        writer.append(expect=5)
    assert writer.append(expect=6).version == 7
    assert short_ways[-1]


def test_a_database_that_another_program_holds_is_left_as_it_is(tmp_path: Path) -> None:
    """One statement that never began is no unknown outcome: nothing was written, and it is said so."""
    writer = Writer(tmp_path)
    for _ in range(6):
        writer.append()
    assert writer.store._db is not None
    writer.store._db.execute("PRAGMA busy_timeout=50")
    other = sqlite3.connect(writer.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="nothing was written"):
        writer.append()
    other.execute("ROLLBACK")
    other.close()
    assert writer.append().version == 7
    assert len(writer.rows()) == 7


def test_an_operation_goes_the_long_way(tmp_path: Path, short_ways: list[bool]) -> None:
    """A commit that can be repeated is looked for before it is written."""
    writer = Writer(tmp_path)
    for _ in range(6):
        writer.append()
    tried = len(short_ways)
    plan = PrebuiltCommit(
        PreparedCommit(Draft((Event("x.test", {}),), "ada", "agent", "op1"), {}), lambda context: None
    )
    assert not writer.store.append(STREAM, plan, writer.cursor, op="op1").repeated
    assert writer.store.append(STREAM, plan, writer.cursor, op="op1").repeated
    assert len(short_ways) == tried
    assert len(writer.rows()) == 7


def test_a_store_that_appends_much_makes_room_in_the_log(tmp_path: Path) -> None:
    """The write-ahead log is long before it is used, does not grow any more, and every commit is found in it."""
    writer = Writer(tmp_path)
    for _ in range(15):
        writer.append()
    before = writer.log()
    writer.append()
    after = writer.log()
    assert before < 500_000 < ROOM < after
    for _ in range(50):
        writer.append()
    assert writer.log() == after
    copy = tmp_path / "copy"  # what a process that died here would have left
    copy.mkdir()
    for name in ("state.db", "state.db-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    found = Writer(copy)
    assert found.store.read(STREAM).version == 66
    assert found.store.check() == []


@pytest.mark.parametrize("says_so", [True, False])
def test_without_space_the_log_stays_as_it_was(tmp_path: Path, says_so: bool) -> None:
    """If there is no space for a longer log, the commit that was to make room is stored all the same, and the last
    space is left to others. A disk with little space may say so, or write less than it was given."""

    class Full(Wrapped):
        def write_at(self, fd: int, data: bytes | memoryview, offset: int) -> int:
            done = self.inner.write_at(fd, bytes(data[:100_000]), offset)
            if says_so:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return done

    writer = Writer(tmp_path, fs=Full(posix))
    for _ in range(15):
        writer.append()
    before = writer.log()
    for _ in range(5):
        writer.append()
    assert before < writer.log() < before + 100_000
    assert writer.store.read(STREAM).version == 20
    assert writer.store.check() == []


def test_a_log_that_was_emptied_gets_room_again(tmp_path: Path) -> None:
    """Forgetting empties the write-ahead log of old pages, also of those that it had room for."""
    writer = Writer(tmp_path, room_after=4)
    for _ in range(6):
        writer.append()
    assert writer.log() > ROOM
    writer.store.forget("sessions/ada/2026-01-21-ffffffff")
    assert writer.log() < ROOM
    for _ in range(6):
        writer.append()
    assert writer.log() > ROOM
    assert len(writer.rows()) == 12
