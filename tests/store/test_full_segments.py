"""Full segments, and what is synced before the next one is created."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

import holdfast
from holdfast.core.codec import GENESIS, MAX_LINE, Draft, Event, encode
from holdfast.errors import HoldfastError
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files import segments
from holdfast.store.protocol import AppendContext, Cursor, PreparedCommit
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.workspace import upkeep
from holdfast.workspace.setup import init

T = TypeVar("T")
STREAM = "sessions/ada/2026-01-21-a1b2c3d4"


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


class Recorded(Wrapped):
    """Records which files were written and synced; the sync of chosen files fails."""

    def __init__(self) -> None:
        super().__init__(posix)
        self.calls: list[tuple[str, str]] = []
        self.failing = ""

    def around(self, call: str, path: str, perform: Callable[[], T]) -> T:
        name = os.path.basename(path)
        if call in ("write", "sync") and segments.is_segment(name):
            self.calls.append((call, name))
            if call == "sync" and name == self.failing:
                raise OSError(5, "Input/output error")
        return perform()


def in_git(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


def append(store: FilesStore, pages: list[str] | None = None, cursor: Cursor = None) -> None:
    def plan(context: AppendContext) -> PreparedCommit:
        return PreparedCommit(Draft((Event("x.test", {"pages": pages}),), "ada", "agent"), {})

    store.append(STREAM, plan, cursor=cursor)


def names(folder: Path) -> list[str]:
    found = [path.name for path in folder.rglob("events/**/*.jsonl")]
    return sorted(found, key=segments.number_of)


def texts(seed: int, count: int) -> list[list[str]]:
    """Many pages, each short enough to stay in its line."""
    drawn = [random.Random(f"{seed} {number}").randbytes(200_000).hex() for number in range(count)]
    return [[text[at : at + 4000] for at in range(0, len(text), 4000)] for text in drawn]


def test_without_git_a_segment_is_never_full(tmp_path: Path) -> None:
    """Without git there is one segment, which is the fastest to open."""
    store = FilesStore(str(tmp_path / ".state"), clock=wall_clock)
    for text in texts(1, 6):
        append(store, text)
    assert len(names(tmp_path)) == 1
    store.close()


@pytest.mark.parametrize("kept_open", [True, False])
def test_a_full_segment_gets_no_more_lines(tmp_path: Path, kept_open: bool) -> None:
    """No segment exceeds the limit by more than one line, and all commits are read."""
    in_git(tmp_path)
    store = FilesStore(str(tmp_path / ".state"), clock=wall_clock)
    for text in texts(1, 12):
        append(store, text)
        if not kept_open:
            store.close()
            store = FilesStore(str(tmp_path / ".state"), clock=wall_clock)
    sizes = [path.stat().st_size for path in tmp_path.rglob(".state/events/**/*.jsonl")]
    assert len(sizes) == 4
    assert max(sizes) < segments.FULL + 500_000
    tail = store.read(STREAM)
    assert (tail.version, len(list(tail.lines)), tail.faults) == (12, 12, ())
    store.close()


def test_a_handle_with_a_cursor_begins_a_new_segment_too(tmp_path: Path) -> None:
    """The fast path of an uncontended session respects the limit."""
    in_git(tmp_path)
    init(str(tmp_path))
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("Much to write")
        time.sleep(0.06)
        for text in texts(2, 8):
            session.record("x.pages", {"pages": text})
        assert session.project(lambda count, event: count + ("pages" in event.data), 0) == 8
    assert len(names(tmp_path)) == 3


def test_large_archives_are_joined_piece_by_piece(tmp_path: Path) -> None:
    """The joined segments of a large session hold every commit once, and none is larger than the limit."""
    init(str(tmp_path))
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("Much to write")
        for text in texts(3, 9):
            session.record("x.pages", {"pages": text})
        ids = [commit.id for commit in session.log()]
        upkeep.archive(workspace, f"{session.user}/{session.id}")
        archived = workspace.session(f"{session.user}/{session.id}")
        assert [commit.id for commit in archived.log()][:-1] == ids
        assert archived.peek().faults == ()
    joined = list((tmp_path / ".state" / "events" / "history").rglob("*.jsonl"))
    assert len(joined) == 4
    assert max(path.stat().st_size for path in joined) < segments.FULL + 500_000


def test_git_measures_the_largest_segments_right(tmp_path: Path) -> None:
    """Git does not match two segments of the largest size with nothing in common; without a limit it would."""

    def largest(writer: str) -> bytes:
        """A segment that is just not full, and gets the longest possible line."""
        name = segments.name_of(STREAM, writer, 1)
        draft = Draft((Event("x.test", {"text": letters(writer, MAX_LINE - 500)}),), "ada", "agent")
        line, _ = encode(draft, f"019bbef300000000-{writer}", "2026-01-21T14:30:03.000Z", GENESIS)
        return letters(f"{writer}, short lines", segments.FULL).encode() + segments.in_column(
            STREAM, name, line
        )

    def letters(seed: str, size: int) -> str:
        return random.Random(seed).randbytes(size // 2).hex()

    def renamed(case: str, before: bytes, after: bytes) -> bool:
        for name, data in (("before", before), ("after", after)):
            folder = tmp_path / case / name
            folder.mkdir(parents=True)
            (folder / f"{name}.jsonl").write_bytes(data)
        command = ["git", "diff", "--no-index", "-M50%", "--name-status", "before", "after"]
        done = subprocess.run(command, cwd=tmp_path / case, capture_output=True, text=True)
        return done.stdout.startswith("R")

    assert not renamed("full", largest("k7f3q2xw"), largest("qcx4n43w"))
    assert renamed("endless", letters("one", 10 << 20).encode(), letters("other", 10 << 20).encode())


def _move_head(folder: Path, letter: str) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "HEAD").write_text(letter * 40)


def _second_writer(folder: Path) -> tuple[FilesStore, Recorded, Cursor]:
    """A store that has read all but the last commit, whose segment git has closed since."""
    _move_head(folder, "1")
    recorded = Recorded()
    first = FilesStore(str(folder / ".state"), clock=wall_clock)
    second = FilesStore(str(folder / ".state"), clock=wall_clock, fs=recorded)
    append(first)
    cursor = second.read(STREAM).cursor
    append(first)
    first.close()
    _move_head(folder, "2")
    recorded.calls.clear()
    return second, recorded, cursor


def test_the_segment_before_is_synced_first(tmp_path: Path) -> None:
    """Its last line may still wait for its sync: after a power cut no commit of the next segment exists without it."""
    store, recorded, cursor = _second_writer(tmp_path)
    append(store, cursor=cursor)
    old, new = names(tmp_path / ".state")
    assert recorded.calls.index(("sync", old)) < recorded.calls.index(("write", new))
    store.close()


def test_a_sync_of_the_segment_before_that_fails_is_not_forgotten(tmp_path: Path) -> None:
    """What is only in that segment is rewritten before the next append."""
    store, recorded, cursor = _second_writer(tmp_path)
    (old,) = names(tmp_path / ".state")
    node = next((tmp_path / ".state").rglob(f"events/**/{old}")).stat().st_ino
    recorded.failing = old
    with pytest.raises(HoldfastError):
        append(store, cursor=cursor)
    assert names(tmp_path / ".state") == [old]
    recorded.failing = ""
    append(store, cursor=cursor)
    assert next((tmp_path / ".state").rglob(f"events/**/{old}")).stat().st_ino != node
    assert store.read(STREAM).version == 3
    store.close()
