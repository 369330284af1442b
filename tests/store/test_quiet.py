"""Commits that only count are told as a whole; who takes the whole for the parts comes to the same state."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.test_files_crowded import STREAM, forget_the_note, merge_a_clone, segments, tear, wall_clock

import holdfast
from holdfast.core import fold
from holdfast.core.codec import Draft, Event, content_of
from holdfast.store.files.engine import FilesStore
from holdfast.store.files.journal import Habit
from holdfast.store.files.stream_quiet import StreamQuiet
from holdfast.store.protocol import Appended, Cursor, Given, Planned, Tail
from holdfast.workspace import scaffold
from holdfast.workspace.snapshot import CROWDED_EVERY

QUIET = Event("x.step", {"text": "word " * 30})
LOUD = Event("note.added", {"text": "something to remember"})


class Writer:
    """A handle of its own, as every process has, with a state that it keeps up to date in brief."""

    def __init__(self, folder: Path) -> None:
        self.store = FilesStore(str(folder / ".state"), clock=wall_clock, habit=Habit(after=1))
        self.cursor: Cursor = None
        self.state = fold.blank("session")
        self.told = 0
        """Commits that it never read."""

    def append(self, event: Event, *, unread: bool = True) -> Appended:
        draft = Draft((event,), "ada", "agent")
        planned = Planned(draft, {}, content_of(draft), quiet=event is QUIET)
        done = self.store.append(
            STREAM, Given(planned, lambda ground: self.take(ground.tail), unread), self.cursor
        )
        if done.cursor is not None:
            self.cursor = done.cursor
            fold.fold(self.state, [done.commit])
        return done

    def take(self, tail: Tail) -> None:
        if tail.restarted:
            self.state = fold.blank("session")
        if tail.quiet is None:
            fold.fold(self.state, tail.lines)
        else:
            fold.skip(self.state, *tail.quiet)
            self.told += tail.quiet.number
        self.cursor = tail.cursor

    def refresh(self, *, through_json: bool = False) -> None:
        """``through_json``: go on from a cursor that was in a snapshot, which somebody else may have kept."""
        cursor = json.loads(json.dumps(self.cursor)) if through_json else self.cursor
        self.take(self.store.read(STREAM, cursor, brief=True))

    def is_right(self) -> bool:
        return self.state == fold.fold(fold.blank("session"), self.store.read(STREAM).lines)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Writer, Writer]:
    """Two busy writers that know each other's commits; the folder's time stamp has settled."""
    one, two = Writer(tmp_path), Writer(tmp_path)
    one.append(LOUD)
    time.sleep(0.06)
    for writer in (two, one, two, one):
        writer.append(QUIET)
    return one, two


@pytest.mark.parametrize("through_json", [False, True])
def test_quiet_commits_are_told_as_a_whole(pair: tuple[Writer, Writer], through_json: bool) -> None:
    """A reader that asks in brief gets no lines, and comes to the state that all lines have."""
    one, two = pair
    for _ in range(40):
        two.append(QUIET)
        one.append(QUIET)
    one.refresh(through_json=through_json)
    before = one.told
    assert before >= 80
    assert one.is_right()
    two.append(QUIET)
    one.refresh()
    assert one.told == before + 1
    assert one.is_right()


def test_who_does_not_ask_in_brief_gets_all_lines(pair: tuple[Writer, Writer]) -> None:
    """Whoever needs the commits themselves reads them."""
    one, two = pair
    two.append(QUIET)
    tail = one.store.read(STREAM, one.cursor)
    assert tail.quiet is None
    assert list(tail.lines)[-1] == list(one.store.read(STREAM).lines)[-1]


def test_a_commit_that_is_not_quiet_is_read(pair: tuple[Writer, Writer]) -> None:
    """One commit among the others that does more than count: nothing is told as a whole until it was read."""
    one, two = pair
    for event in (QUIET, LOUD, QUIET):
        two.append(event)
    one.refresh()
    assert one.told == 0
    assert one.is_right()
    assert one.state["notes"] == fold.fold(fold.blank("session"), two.store.read(STREAM).lines)["notes"]


def die_in_a_line(folder: Path) -> None:
    """A process of this place died after its line and before its note."""
    (note,) = (folder / ".state" / "local" / "locks").iterdir()
    before = note.read_bytes()
    Writer(folder).append(LOUD)
    note.write_bytes(before)


@pytest.mark.parametrize(
    "disturb", [merge_a_clone, tear, forget_the_note, die_in_a_line], ids=["merge", "torn", "note", "death"]
)
@pytest.mark.parametrize("through_json", [False, True])
def test_all_is_read_when_something_else_happened(
    pair: tuple[Writer, Writer], tmp_path: Path, disturb: Any, through_json: bool
) -> None:
    """A merged segment, a torn tail, a lost note, a line that was never noted: the sum is not believed."""
    one, two = pair
    for writer in (two, one, two, one):
        writer.append(QUIET)
    disturb(tmp_path)
    one.refresh(through_json=through_json)
    assert one.is_right()
    for writer in (two, one, two, one):
        writer.append(QUIET)
        writer.refresh()
        assert writer.is_right()


def test_a_line_that_was_changed_by_hand_is_found(pair: tuple[Writer, Writer], tmp_path: Path) -> None:
    """The last line of those that are not read is looked at: if it is not the one that was noted, all are read."""
    one, two = pair
    two.append(QUIET)
    (segment,) = segments(tmp_path)
    data = bytearray(segment.read_bytes())
    data[-100] ^= 1
    with segment.open("r+b") as file:
        file.write(data)
    one.refresh()
    assert one.told == 0
    assert [fault.what for fault in one.store.read(STREAM, one.cursor).faults] == [
        "the checksum does not match"
    ]


steps = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["quiet", "quiet", "quiet", "read", "loud", "brief", "brief", "json", "new"]),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_whatever_is_told_as_a_whole_the_state_is_the_same(
    steps: list[tuple[int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Property: three writers that count, remember, read in brief and come anew all have the state of the log."""
    folder = tmp_path_factory.mktemp("quiet")
    writers = [Writer(folder) for _ in range(3)]
    writers[0].append(LOUD)
    os.utime(folder / ".state" / "events" / STREAM, ns=(1, 1))  # long settled
    for number, what in steps:
        writer = writers[number]
        if what == "new":
            writer.store.close()
            writers[number] = Writer(folder)
        elif what in ("brief", "json"):
            writer.refresh(through_json=what == "json")
            assert writer.is_right()
        else:
            writer.append(LOUD if what == "loud" else QUIET, unread=what != "read")
    for writer in writers:
        writer.refresh()
        assert writer.is_right()


def test_snapshots_of_a_busy_session_cost_no_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two handles record past the place where a snapshot is kept: it has everything, and no line was read for it."""
    scaffold.create(str(tmp_path / ".state"))
    skipped = []
    ask = StreamQuiet._quiet_beyond

    def asked(self: StreamQuiet, cursor: Cursor) -> Tail | None:
        tail = ask(self, cursor)
        skipped.append(tail.quiet.number if tail is not None and tail.quiet is not None else None)
        return tail

    monkeypatch.setattr(StreamQuiet, "_quiet_beyond", asked)
    with holdfast.open(tmp_path, user="ada") as workspace, holdfast.open(tmp_path, user="ada") as other:
        session = workspace.start("count")
        time.sleep(0.06)  # the folder's time stamp has settled
        twin = other.session(session.id)
        for number in range(CROWDED_EVERY // 2 + 20):
            session.record("x.step", {"number": number})
            twin.record("x.step", {"number": number})
        assert len(skipped) == 1
        assert skipped[0] is not None
        assert skipped[0] > CROWDED_EVERY - 50
        (snapshot,) = (tmp_path / ".state" / "local" / "snapshots").iterdir()
        assert json.loads(snapshot.read_bytes()[9:].splitlines()[0])["version"] >= CROWDED_EVERY
        assert session.state == fold.fold(fold.blank("session"), session.log())
    assert holdfast.open(tmp_path, user="ada").session(session.id).state["own"] == CROWDED_EVERY + 40
