"""File systems that store whole seconds: nobody misses a segment that appears in the second of the last listing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.store.test_files_contended import STREAM, merge_a_clone

from holdfast.core.codec import Draft, Event
from holdfast.errors import Conflict
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.store.protocol import Appended, Cursor, PreparedCommit
from holdfast.testing.crash.wrapped import Wrapped

SECOND = 1_000_000_000


class Coarse(Wrapped):
    """A file system that stores no fractions of a second, such as ext4 with inodes of 128 bytes."""

    def stat(self, path: str) -> os.stat_result:
        return self._rounded(super().stat(path))

    def stat_handle(self, fd: int) -> os.stat_result:
        return self._rounded(super().stat_handle(fd))

    @staticmethod
    def _rounded(found: os.stat_result) -> os.stat_result:
        changed, created = (time // SECOND * SECOND for time in (found.st_mtime_ns, found.st_ctime_ns))
        return os.stat_result(list(found), {"st_mtime_ns": changed, "st_ctime_ns": created})


def late_in_its_second() -> int:
    return time.time_ns() // SECOND * 1000 + 999


class Writer:
    """A store of its own, as every process has, with the cursor that it has come to."""

    def __init__(self, folder: Path) -> None:
        self.store = FilesStore(str(folder / ".state"), clock=late_in_its_second, fs=Coarse(posix))
        self.cursor: Cursor = None

    def append(self, expect: int | None = None) -> Appended:
        draft = Draft((Event("x.test", {}),), "ada", "agent")
        done = self.store.append(STREAM, lambda context: PreparedCommit(draft, {}), self.cursor, expect)
        self.cursor = done.cursor
        return done

    def version(self) -> int:
        tail = self.store.read(STREAM, self.cursor)
        self.cursor = tail.cursor
        return tail.version


@pytest.fixture
def git(tmp_path: Path) -> Callable[[], None]:
    """A git repository, and a function that moves its HEAD, which makes the next append open a segment."""
    (tmp_path / ".git").mkdir()
    heads = iter(range(10**39, 10**40))

    def move() -> None:
        (tmp_path / ".git" / "HEAD").write_text(str(next(heads)))

    move()
    return move


@pytest.mark.parametrize("reads", ["append", "read"])
def test_a_segment_of_another_process_is_seen(tmp_path: Path, git: Callable[[], None], reads: str) -> None:
    """Who listed the segments sees one that another process opens in the same second, reading and appending."""
    one, two = Writer(tmp_path), Writer(tmp_path)
    for round_ in range(1, 6):
        assert one.append().version == 2 * round_ - 1
        git()
        assert two.append().version == 2 * round_
        if reads == "read":
            assert one.version() == 2 * round_
    assert Writer(tmp_path).version() == 10
    assert one.store.check() == []


def test_an_expected_version_is_checked(tmp_path: Path, git: Callable[[], None]) -> None:
    """Who expects a version that is no longer the newest is refused, though the newest commit is in a new segment."""
    one, two = Writer(tmp_path), Writer(tmp_path)
    one.append()
    two.append()
    git()
    two.append()
    with pytest.raises(Conflict):
        one.append(expect=2)
    assert one.append(expect=3).version == 4


def test_a_reader_sees_a_segment_that_git_brings(tmp_path: Path, git: Callable[[], None]) -> None:
    """Who only reads, or writes, sees a segment that a merge brings in the second of the last listing."""
    writer, reader = Writer(tmp_path), Writer(tmp_path)
    writer.append()
    assert reader.version() == 1
    merge_a_clone(tmp_path)
    assert (reader.version(), writer.version()) == (2, 2)


def test_a_moved_head_is_seen(tmp_path: Path, git: Callable[[], None]) -> None:
    """A HEAD that moved within the second, in the same file, ends the segment."""
    writer = Writer(tmp_path)
    for number in range(1, 4):
        writer.append()
        writer.append()
        assert len(list((tmp_path / ".state" / "events" / STREAM).iterdir())) == number
        git()


@pytest.mark.parametrize("seed", range(5))
def test_handles_that_take_turns_are_linearizable(tmp_path: Path, git: Callable[[], None], seed: int) -> None:
    """Whoever reads sees every commit before, and whoever expects an old version is refused."""
    random = Random(seed)
    writers = [Writer(tmp_path) for _ in range(4)]
    version = 0
    for _ in range(80):
        writer = random.choice(writers)
        what = random.choice(["append", "append", "read", "old", "git", "archive"])
        if what == "append":
            version += 1
            assert writer.append(expect=version - 1).version == version
        elif what == "read":
            assert writer.version() == version
        elif what == "old":
            with pytest.raises(Conflict):
                writer.append(expect=version + 1)
        elif what == "archive" and version:
            writer.store.archive(STREAM)
        else:
            git()
    assert Writer(tmp_path).version() == version
