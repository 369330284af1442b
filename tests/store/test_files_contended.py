"""Several handles on one stream of the files engine: each sees what the others wrote."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

import holdfast
from holdfast.core import fold as folding
from holdfast.core.codec import GENESIS, Commit, Draft, Event, content_of, encode, id_of
from holdfast.core.fold import blank, fold
from holdfast.core.ids import ZERO, next_id
from holdfast.errors import Conflict
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.files.lockfile import decode_header
from holdfast.store.files.segments import name_of
from holdfast.store.protocol import AppendContext, Appended, Cursor, PrebuiltCommit, PreparedCommit
from holdfast.workspace import scaffold

STREAM = "sessions/ada/2026-01-21-a1b2c3d4"
FOREIGN = "00000000"


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


class Writer:
    """A separate store, as every process has, with its cursor."""

    def __init__(self, folder: Path, *, busy: bool = False) -> None:
        self.store = FilesStore(
            str(folder / ".state"), clock=wall_clock, journal_policy=JournalPolicy(after=1 if busy else 1000)
        )
        self.cursor: Cursor = None
        self.seen: list[bytes] = []
        self.lengths = count()

    def append(self, *, expect: int | None = None, numbers: dict[str, int] | None = None) -> Appended:
        def look(context: AppendContext) -> None:
            self.seen = list(context.tail.lines)

        self.seen = []
        draft = Draft((Event("x.test", {"text": "word " * (next(self.lengths) % 90)}),), "ada", "agent")
        prepared = PreparedCommit(draft, numbers or {}, content_of(draft))
        done = self.store.append(STREAM, PrebuiltCommit(prepared, look), cursor=self.cursor, expect=expect)
        if done.cursor is not None:  # otherwise there are unread commits before it
            self.cursor = done.cursor
        return done


@pytest.fixture(params=[False, True], ids=["few", "busy"])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Writer, Writer]:
    """Two writers that know each other's commits; the folder's timestamp has settled. Busy ones have a journal each."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("1" * 40)
    one, two = Writer(tmp_path, busy=request.param), Writer(tmp_path, busy=request.param)
    one.append()
    time.sleep(0.06)
    two.append()
    one.append()
    two.append()
    one.append()
    return one, two


def segments(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / ".state" / "events" / STREAM).glob("*.jsonl"))


def merge_a_clone(tmp_path: Path, stream: str = STREAM, count: int = 1) -> None:
    """Add a segment of another clone, as git would."""
    last_id, last_sum, lines = ZERO, GENESIS, []
    for _ in range(count):
        last_id = next_id(last_id, wall_clock(), FOREIGN)
        draft = Draft((Event("x.elsewhere", {}),), "bob", "agent")
        line, commit = encode(draft, last_id, "2026-01-21T00:00:00.000Z", last_sum)
        last_sum = commit.sum
        lines.append(line)
    (tmp_path / ".state" / "events" / stream / name_of(stream, FOREIGN, 1)).write_bytes(b"".join(lines))


def move_head(tmp_path: Path) -> None:
    time.sleep(0.02)
    (tmp_path / ".git" / "HEAD").write_text("2" * 40)


def tear(tmp_path: Path) -> None:
    """A process died during its write."""
    with segments(tmp_path)[-1].open("ab") as segment:
        segment.write(b'{"v":1,"id":"')


def forget_the_note(tmp_path: Path) -> None:
    (lock,) = (tmp_path / ".state" / "local" / "locks").iterdir()
    lock.write_bytes(b"")


def test_each_writer_sees_what_the_other_wrote(pair: tuple[Writer, Writer]) -> None:
    """Two writers that take turns write one unbroken chain, and each finds every commit after its own cursor."""
    one, two = pair
    ids = []
    for turn in range(50):
        for number, writer in enumerate((two, one)):
            done = writer.append()
            assert done.version == 5 + 2 * turn + number + 1
            ids.append(done.commit.id)
    assert ids == sorted(set(ids))
    for writer in (one, two):
        tail = writer.store.read(STREAM, writer.cursor)
        assert not tail.restarted
        assert [id_of(line) for line in tail.lines][-100:] == ids[-len(tail.lines) :]
        assert tail.version == 5 + 100
    assert Writer(Path(one.store.root).parent).store.read(STREAM).version == 5 + 100
    assert one.store.check() == []


def test_a_rule_sees_what_the_other_wrote(pair: tuple[Writer, Writer]) -> None:
    """A rule sees every commit before its own, also after appends that left some unread."""
    one, two = pair
    for writer in (two, one, two, one, two):
        writer.append()
    seen: list[bytes] = []

    def plan(context: AppendContext) -> PreparedCommit:
        seen.extend(context.tail.lines)
        return PreparedCommit(Draft((Event("x.test", {}),), "ada", "agent"), {})

    before = one.store.read(STREAM, one.cursor).version
    unread = one.store.read(STREAM, one.cursor).lines
    done = one.store.append(STREAM, plan, cursor=one.cursor)
    assert (done.version, list(unread)) == (before + 1, seen)
    assert done.cursor is not None
    assert one.store.check() == []


def test_an_expected_version_is_checked(pair: tuple[Writer, Writer]) -> None:
    """Of two busy writers that expect the same version, one is refused and writes nothing."""
    one, two = pair
    for writer in (two, one, two):
        writer.append()
    with pytest.raises(Conflict):
        one.append(expect=7)
    assert one.append(expect=8).version == 9
    assert one.store.check() == []


def test_a_number_used_under_contention_is_stored(pair: tuple[Writer, Writer], tmp_path: Path) -> None:
    """A short number is stored whichever path its commit took, and later writers do not reuse it."""
    one, two = pair
    for writer in (two, one, two):
        writer.append()
    one.append(numbers={"D": 7})
    for writer in (two, one, two):
        writer.append()
    (lock,) = (tmp_path / ".state" / "local" / "locks").iterdir()
    memory = decode_header(lock.read_bytes())
    assert memory is not None
    assert memory.numbers == {"D": 7}


@pytest.mark.parametrize(
    ("disturb", "version"),
    [(merge_a_clone, 7), (move_head, 6), (tear, 6), (forget_the_note, 6)],
    ids=["merge", "head", "torn", "note"],
)
def test_the_fast_path_is_not_taken_after_other_changes(
    pair: tuple[Writer, Writer],
    tmp_path: Path,
    disturb: Callable[[Path], None],
    version: int,
) -> None:
    """The next append detects a merged segment, a moved HEAD, a torn tail or a lost header."""
    one, two = pair
    before = [writer.append() for _ in range(3) for writer in (two, one)]
    disturb(tmp_path)
    done = one.append()
    assert done.version == version + len(before)
    assert done.cursor is not None
    fresh = Writer(tmp_path).store
    assert fresh.read(STREAM).version == version + len(before)
    assert [fault for fault in fresh.check() if not fault.harmless] == []


def test_a_moved_head_opens_a_new_segment(pair: tuple[Writer, Writer], tmp_path: Path) -> None:
    """A writer on the fast path never appends to a segment that git may have."""
    one, two = pair
    two.append()
    move_head(tmp_path)
    one.append()
    assert len(segments(tmp_path)) == 2


def test_concurrent_processes_end_in_one_state(tmp_path: Path) -> None:
    """Four processes record 150 events each: all are present, and every handle has the same state as the fold."""
    scaffold.create(str(tmp_path / ".state"))
    workspace = holdfast.open(tmp_path, user="ada")
    session = workspace.start("race")
    children = []
    for worker in range(4):
        pid = os.fork()
        if pid == 0:
            try:
                for number in range(150):
                    session.record("x.step", {"worker": worker, "number": number})
                seen = session.state["own"]
                os._exit(0 if seen >= 150 else 1)
            except BaseException:
                os._exit(2)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
    commits = list(session.stored_commits())
    steps = {(e.data["worker"], e.data["number"]) for c in commits for e in c.events if e.type == "x.step"}
    assert steps == {(worker, number) for worker in range(4) for number in range(150)}
    assert session.state == fold(blank("session"), commits)
    assert holdfast.open(tmp_path, user="ada").session(session.id).state == session.state
    workspace.close()


def test_views_show_what_others_wrote(tmp_path: Path) -> None:
    """A handle whose stream others write to shows their commits in its views without being closed."""
    scaffold.create(str(tmp_path / ".state"))
    with holdfast.open(tmp_path, user="ada") as workspace, holdfast.open(tmp_path, user="ada") as other:
        session = workspace.start("race")
        theirs = other.session(session.id)
        for number in range(20):
            session.record("x.step", {"number": number})
            theirs.record("x.step", {"number": number})
        time.sleep(1.1)  # views are made at most once a second
        session.record("x.last", {})
        view = json.loads((tmp_path / ".state" / session.stream / "state.json").read_bytes())
        assert view["commits"] == session.version == 42


def test_a_long_tail_is_folded_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reader after a merge of many commits saves a snapshot, so that the next one folds none of them."""
    scaffold.create(str(tmp_path / ".state"))
    with holdfast.open(tmp_path, user="ada") as workspace:
        session = workspace.start("merge")
    time.sleep(0.002)  # the merged commits are later than the first
    merge_a_clone(tmp_path, session.stream, count=500)
    decoded = 0
    decode = folding.codec.decode

    def counting(line: bytes) -> Commit:
        nonlocal decoded
        decoded += 1
        return decode(line)

    monkeypatch.setattr(folding.codec, "decode", counting)
    counts = []
    for _ in range(2):
        decoded = 0
        with holdfast.open(tmp_path, user="ada") as workspace:
            assert workspace.session().state["own"] == 500
        counts.append(decoded)
    assert counts == [500, 0]


def test_writers_go_on_when_modes_change(pair: tuple[Writer, Writer], tmp_path: Path) -> None:
    """Whoever changes the modes of all files, which looks like a copied folder, stops nobody who is writing."""
    for round_ in range(1, 9):
        for mode in (0o600, 0o644):
            (tmp_path / ".state" / "local" / "anchor").chmod(mode)
            if mode == 0o600:
                Writer(tmp_path).append()
        for number, writer in enumerate(pair, start=1):
            assert writer.append().version == 5 + 3 * (round_ - 1) + 1 + number
    fresh = Writer(tmp_path).store
    assert fresh.read(STREAM).version == 5 + 3 * 8
    assert [fault for fault in fresh.check() if not fault.harmless] == []
