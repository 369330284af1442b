"""One store that appends after its own last commit in SQLite, and a preallocated write-ahead log."""

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


class Writer:
    """A store with a given clock and random source, with its cursor."""

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
def test_a_prebuilt_commit_leaves_what_a_rule_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    """Rows, cursors and answers are the same."""
    prebuilt, judged = (Writer(tmp_path_factory.mktemp(name)) for name in ("prebuilt", "judged"))
    for length, later in steps:
        assert prebuilt.append(length, later=later) == judged.append(length, later=later, known=False)
    assert prebuilt.rows() == judged.rows()
    for writer in (prebuilt, judged):
        assert writer.store.check() == []
        writer.store.close()


def test_commits_of_others_are_seen(tmp_path: Path) -> None:
    """The plan sees another store's commit before the next one is written."""
    writer, other = Writer(tmp_path), Writer(tmp_path)
    for _ in range(6):
        writer.append()
    theirs = other.append(known=False)
    done = writer.append()
    assert len(writer.seen) == 1
    assert done.version == theirs.version + 1 == 8
    assert done.commit.id > theirs.commit.id
    assert writer.store.check() == []


def test_a_removed_stream_is_detected(tmp_path: Path) -> None:
    """A stream that another store has removed starts again, whatever this one has cached."""
    writer, other = Writer(tmp_path), Writer(tmp_path)
    for _ in range(6):
        writer.append()
    other.store.forget(STREAM)
    assert writer.append().version == 1


def test_another_commit_at_the_same_position_is_detected(tmp_path: Path) -> None:
    """A stream that was removed and has grown to the same length again is a different one."""
    writer, other = Writer(tmp_path), Writer(tmp_path)
    for _ in range(6):
        writer.append()
    other.store.forget(STREAM)
    other.now += 5
    for _ in range(6):
        other.append(known=False)
    assert writer.append().version == 7
    assert len(writer.seen) == 6
    assert writer.store.check() == []


def test_an_expected_version_is_checked(tmp_path: Path) -> None:
    """A wrong expected version is refused, and nothing is written."""
    writer = Writer(tmp_path)
    for _ in range(6):
        writer.append()
    with pytest.raises(Conflict):
        writer.append(expect=5)
    assert writer.append(expect=6).version == 7


def test_a_database_locked_by_another_program_is_unchanged(tmp_path: Path) -> None:
    """A transaction that never began has no unknown outcome: nothing was written, and the error says so."""
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


def test_a_repeated_operation_is_found(tmp_path: Path) -> None:
    """An operation id is looked up before its commit is written."""
    writer = Writer(tmp_path)
    for _ in range(6):
        writer.append()
    plan = PrebuiltCommit(
        PreparedCommit(Draft((Event("x.test", {}),), "ada", "agent", "op1"), {}), lambda context: None
    )
    assert not writer.store.append(STREAM, plan, writer.cursor, op="op1").repeated
    assert writer.store.append(STREAM, plan, writer.cursor, op="op1").repeated
    assert len(writer.rows()) == 7


def test_frequent_appends_preallocate_the_wal(tmp_path: Path) -> None:
    """The write-ahead log is preallocated, no longer grows, and holds every commit."""
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
    """Without space for preallocation the commit is stored anyway, and the remaining space is left to others. A full
    disk may report an error or a short write."""

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
    """Removing a stream truncates the write-ahead log, including the preallocated part."""
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
