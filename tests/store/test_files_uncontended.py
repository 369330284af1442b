"""One handle that appends after its own last commit: it writes the same bytes as any other, and detects changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.test_files_contended import (
    STREAM,
    Writer,
    forget_the_note,
    merge_a_clone,
    move_head,
    segments,
    tear,
)
from tests.store.unchanged import watch

from holdfast.core.codec import Draft, Event, content_of, id_of
from holdfast.errors import Conflict
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import BLOCK, JournalPolicy
from holdfast.store.files.lockfile import decode_header
from holdfast.store.files.segments import FULL
from holdfast.store.protocol import Appended, Cursor, PrebuiltCommit, PreparedCommit


@pytest.fixture
def unchanged(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each append, whether nothing had changed since its cursor."""
    return watch(monkeypatch)


@pytest.fixture
def writer(tmp_path: Path, unchanged: list[bool]) -> Writer:
    """A writer in a git repository that has been undisturbed for a while."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("1" * 40)
    writer = Writer(tmp_path, busy=True)
    writer.append()
    time.sleep(0.06)  # the folder's time stamp has settled
    for _ in range(12):
        writer.append()
    assert unchanged[-8:] == [True] * 8
    return writer


BEFORE = 1 + 12


class Twin:
    """A store with a given clock and random source, so that two of them write the same bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = time.time_ns() // 1_000_000 + 3_600_000  # the folder's time stamp is long settled
        self.store = FilesStore(
            str(folder / ".state"),
            clock=lambda: self.now,
            bits=Random(7).getrandbits,
            journal_policy=JournalPolicy(after=1, size=8 * BLOCK, window=3000),
        )
        self.cursor: Cursor = None

    def append(self, length: int, later: int, *, known: bool) -> Appended:
        self.now += later
        draft = Draft((Event("x.test", {"text": "w" * length}),), "ada", "agent")
        prepared = PreparedCommit(draft, {}, content_of(draft))
        plan = PrebuiltCommit(prepared, lambda context: None) if known else lambda context: prepared
        done = self.store.append(STREAM, plan, self.cursor)
        if done.cursor is not None:  # otherwise there are unread commits before it
            self.cursor = done.cursor
        # The time of the file is the one thing in a cursor that two stores cannot share.
        marks = {name: mark._replace(changed=0) for name, mark in done.cursor.marks.items()}
        return done._replace(cursor=done.cursor._replace(marks=marks))

    def noted(self) -> list[Any]:
        """The header, without the inode of its file."""
        (lock,) = (self.folder / ".state" / "local" / "locks").iterdir()
        memory = decode_header(lock.read_bytes())
        assert memory is not None
        return [
            getattr(memory, name) for name in memory.__slots__ if name not in ("node", "fixed", "fixed_crc")
        ]


STEPS = st.lists(
    st.tuples(st.sampled_from([0, 30, 200, 2500, 3800]), st.sampled_from([0, 1, 100])),
    min_size=5,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_a_prebuilt_commit_leaves_what_a_rule_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    """Segment, header, cursor and answer are the same, byte for byte."""
    short, long = (Twin(tmp_path_factory.mktemp(name)) for name in ("short", "long"))
    long.now = short.now
    gone: list[bool] = []
    for length, later in steps:
        with pytest.MonkeyPatch.context() as patch:
            tried = watch(patch)
            one = short.append(length, later, known=True)
        gone += tried
        two = long.append(length, later, known=False)
        assert one == two
        assert short.noted() == long.noted()
    # The first append creates the folder, the second finds that it has changed.
    assert gone == [False, False] + [True] * (len(steps) - 2)
    (one_segment,), (two_segment,) = segments(short.folder), segments(long.folder)
    assert one_segment.name == two_segment.name
    assert one_segment.read_bytes() == two_segment.read_bytes()
    for twin in (short, long):
        twin.store.close()
    assert short.noted() == long.noted()


@pytest.mark.parametrize(
    ("disturb", "version"),
    [(merge_a_clone, 2), (move_head, 1), (tear, 1), (forget_the_note, 1)],
    ids=["merge", "head", "torn", "note"],
)
def test_changes_are_detected(
    writer: Writer,
    tmp_path: Path,
    unchanged: list[bool],
    disturb: Callable[[Path], None],
    version: int,
) -> None:
    """The next append detects a merged segment, a moved HEAD, a torn tail or a lost header."""
    disturb(tmp_path)
    done = writer.append()
    assert unchanged[-1] is False
    assert done.version == BEFORE + version
    fresh = Writer(tmp_path).store
    assert fresh.read(STREAM).version == BEFORE + version
    assert [fault for fault in fresh.check() if not fault.harmless] == []


def test_commits_of_others_are_seen(writer: Writer, tmp_path: Path, unchanged: list[bool]) -> None:
    """A commit of another process comes before the next one, and is found after the cursor."""
    other = Writer(tmp_path, busy=True)
    theirs = other.append().commit.id
    cursor = writer.cursor
    done = writer.append()
    assert unchanged[-1] is False
    assert [id_of(line) for line in writer.store.read(STREAM, cursor).lines] == [theirs, done.commit.id]
    assert (done.version, done.commit.id > theirs) == (BEFORE + 2, True)


def test_a_replaced_segment_is_not_appended_to(writer: Writer, tmp_path: Path) -> None:
    """If a program replaced the segment's file, nothing is written to the old one."""
    (segment,) = segments(tmp_path)
    copy = tmp_path / "copy"
    copy.write_bytes(segment.read_bytes())
    copy.rename(segment)
    writer.append()
    assert Writer(tmp_path).store.read(STREAM).version == BEFORE + 1


def test_an_expected_version_is_checked(writer: Writer, unchanged: list[bool]) -> None:
    """A wrong expected version is refused, nothing is written, and the next append is unaffected."""
    with pytest.raises(Conflict):
        writer.append(expect=BEFORE - 1)
    assert writer.append(expect=BEFORE).version == BEFORE + 1
    assert unchanged[-1]
    assert writer.store.check() == []


def test_a_full_segment_is_not_appended_to(writer: Writer, tmp_path: Path) -> None:
    """In git, a full segment is not appended to, on any path."""
    text = "word " * 780  # a longer one would not be in the line
    for _ in range(FULL // len(text) + 2):
        draft = Draft((Event("x.test", {"text": text}),), "ada", "agent")
        plan = PrebuiltCommit(PreparedCommit(draft, {}, content_of(draft)), lambda context: None)
        writer.cursor = writer.store.append(STREAM, plan, writer.cursor).cursor
    first, *others = segments(tmp_path)
    assert others
    assert first.stat().st_size < FULL + 4 * len(text)
