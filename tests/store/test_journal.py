"""Journals: what a long-lived handle has acknowledged survives kill -9 and a power cut."""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import BLOCK, JournalPolicy, entries_in
from holdfast.testing.plans import saying, texts

sys.path.insert(0, str(Path(__file__).parent))
from journaling import (
    AFTER,
    STREAM,
    cut_off,
    entries,
    journals,
    killed,
    living,
    opened,
    said_in,
    segment,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".state"


def append(store: FilesStore, count: int, name: str = "I") -> list[str]:
    said = [f"{name} {number + 1}" for number in range(count)]
    for text in said:
        store.append(STREAM, saying(text))
    return said


# -- the life of a journal ------------------------------------------------------------------------------------------


def test_a_handle_takes_a_journal_after_some_appends(root: Path) -> None:
    """A short-lived command creates no journal; the sixteenth append to a stream does."""
    assert JournalPolicy().after == 16
    store = opened(root)
    append(store, 15)
    assert journals(root) == []
    append(store, 1)
    (journal,) = journals(root)
    assert journal.name.startswith(STREAM.replace("/", "+") + f".{os.getpid()}-")
    assert journal.stat().st_size == JournalPolicy().size
    store.read("project")
    store.append("project", saying("one"))
    assert journals(root) == [journal], "each stream is counted for itself"
    store.close()


def test_closing_leaves_everything_in_the_segment(root: Path) -> None:
    """A store that was closed or dropped leaves no journal, and its segment has every line."""
    store = opened(root, JournalPolicy(after=2))
    said = append(store, 5)
    store.close()
    assert journals(root) == []
    store = opened(root, JournalPolicy(after=2))
    said += append(store, 5)
    assert len(journals(root)) == 1
    del store
    gc.collect()
    assert journals(root) == []
    assert said_in(root) == said
    assert len(segment(root).read_bytes().splitlines()) == 10


def test_a_closed_stream_can_be_used_again(root: Path) -> None:
    """A process with many streams closes idle handles: they start to count appends again."""
    store = opened(root, JournalPolicy(after=2))
    said = append(store, 3)
    store._handles[STREAM].close()
    assert journals(root) == []
    said += append(store, 1)
    assert journals(root) == []
    said += append(store, 1)
    assert len(journals(root)) == 1
    store.close()
    assert said_in(root) == said


def test_a_full_journal_begins_again(root: Path) -> None:
    """It never grows, and holds the newest lines."""
    with living(root, size=4 * BLOCK) as process:
        said = process.append(AFTER - 1 + 4)
        assert len(entries(root)) == 4
        said = process.append(2)  # the first of them found no room, and the segment was synced
        assert len(entries(root)) == 1
        process.kill()
        (journal,) = journals(root)
        assert journal.stat().st_size == 4 * BLOCK
        cut_off(segment(root), entries(root)[0].offset)
        assert said_in(root) == said


def test_more_than_the_window_is_synced(root: Path) -> None:
    """A line that is longer than an entry may be goes to the segment alone, and all that was before it."""
    store = opened(root, JournalPolicy(after=1, size=4 * BLOCK, window=1000))
    append(store, 2)
    assert len(entries(root)) == 2
    store.append(STREAM, saying("long " * 600))
    append(store, 1)
    (entry,) = entries(root)
    assert entry.offset > 3000
    store.close()
    assert len(said_in(root)) == 4


# -- kill -9 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["read", "append", "check", "salvage"])
def test_the_next_process_replays_a_dead_ones_journal(root: Path, first: str) -> None:
    """Whatever is done first with the stream: the journal is removed, and the segment has every line once."""
    said = killed(root)
    before = segment(root).read_bytes()
    store = opened(root)
    if first == "append":
        said += append(store, 1)
    elif first == "read":
        assert texts(store.read(STREAM)) == said
    elif first == "check":
        assert store.check() == []
    else:
        assert store.salvage() == []
    assert journals(root) == []
    store.close()
    assert said_in(root) == said
    assert segment(root).read_bytes().startswith(before)


def test_the_journal_of_a_live_process_is_left_alone(root: Path) -> None:
    """Others read, write and check meanwhile; then it dies, and what was in its journal is replayed."""
    with living(root) as process:
        said = process.append(6)
        (journal,) = journals(root)
        before = segment(root).stat().st_size
        store = opened(root)
        assert texts(store.read(STREAM)) == said
        append(store, 2, "other")
        assert store.check(fix=True) == []
        store.close()
        assert journals(root) == [journal]
        process.append(2)
        assert journals(root) == [journal]
        assert entries(root)[-1].offset > before
        process.kill()
    assert said_in(root) == [*said, "other 1", "other 2", "ada 7", "ada 8"]
    assert journals(root) == []


@pytest.mark.parametrize("lost", [False, True], ids=["killed", "cut"])
def test_one_of_two_processes_with_journals_is_killed(root: Path, lost: bool) -> None:
    """The other continues; then the power fails: the acknowledged commits of both are present, in order."""
    with living(root, name="one") as one, living(root, name="two") as two:
        for _ in range(4):
            one.append(1)
            two.append(2)
        assert len(journals(root)) == 2
        one.kill()
        two.append(3)
        assert len(journals(root)) == 2, "who has looked once does not look again"
        if not lost:
            store = opened(root)
            assert len(texts(store.read(STREAM))) == 15
            store.close()
            assert len(journals(root)) == 1
            two.append(1)
        two.kill()
    expected = ["one 1", "two 1", "two 2"]
    for number in range(2, 5):
        expected += [f"one {number}", f"two {2 * number - 1}", f"two {2 * number}"]
    expected += [f"two {number}" for number in range(9, 12 if lost else 13)]
    whole = segment(root).read_bytes()
    if lost:
        offset = min(entry.offset for path in journals(root) for entry in entries_in(path.read_bytes()))
        cut_off(segment(root), offset + 10)
    assert said_in(root) == expected
    assert segment(root).read_bytes() == whole
    assert journals(root) == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_nothing_to_its_parents_journal(root: Path) -> None:
    """The child appends with its own journal and closes the store; the parent keeps its journal."""
    store = opened(root, JournalPolicy(after=2))
    said = append(store, 3)
    (journal,) = journals(root)
    held = journal.read_bytes()
    child = os.fork()
    if child == 0:
        try:
            append(store, 4, "child")
            others = [path for path in journals(root) if path != journal]
            store.close()
            os._exit(0 if len(others) == 1 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert journals(root) == [journal]
    assert journal.read_bytes() == held
    said += [f"child {number + 1}" for number in range(4)] + append(store, 2, "parent")
    assert journal.read_bytes() != held
    store.close()
    assert journals(root) == []
    assert said_in(root) == said


@pytest.mark.parametrize("user", ["ada.l", "a.1-2.3", "v1.0"])
def test_dots_in_a_users_name(root: Path, user: str) -> None:
    """The journal's name ends after its last dot: users whose names share a prefix are not mixed up."""
    streams = [
        f"sessions/{user}/2026-01-21-a1b2c3d4",
        f"sessions/{user.partition('.')[0]}/2026-01-21-a1b2c3d4",
    ]
    said = {stream: killed(root, stream=stream, name=stream) for stream in streams}
    assert len(journals(root)) == 2
    for left, stream in zip((1, 0), streams, strict=True):
        store = opened(root)
        cut_off(segment(root, stream), segment(root, stream).stat().st_size - 200)
        assert texts(store.read(stream)) == said[stream]
        store.close()
        assert len(journals(root)) == left


# -- a power cut ----------------------------------------------------------------------------------------------------


def garbage(count: int) -> bytes:
    return random.Random(count).randbytes(count)


DAMAGE: dict[str, Callable[[bytes, int], bytes]] = {
    "all lost": lambda data, safe: data[:safe],
    "half a line": lambda data, safe: data[: safe + 60],
    "lines lost": lambda data, safe: data[: data.index(b"\n", safe) + 1],
    "zeros": lambda data, safe: data[:safe] + bytes(len(data) - safe),
    "zeros from within": lambda data, safe: data[: safe + 300] + bytes(len(data) - safe - 300),
    "more zeros": lambda data, safe: data[:safe] + bytes(BLOCK),
    "garbage": lambda data, safe: data[:safe] + garbage(len(data) - safe),
    "a line of garbage": lambda data, safe: data[:safe] + garbage(90) + b"\n" + data[safe + 91 :],
    "a hole": lambda data, safe: data[: safe + 9] + bytes(400) + data[safe + 409 :],
    "old lines": lambda data, safe: data[:safe] + data[: len(data) - safe],
}


@pytest.mark.parametrize("first", ["read", "append"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_lines_lost_in_a_power_cut_are_replayed(root: Path, damage: str, first: str) -> None:
    """What the segment lost after its synced bytes is restored byte for byte."""
    said = killed(root, 8)
    path = segment(root)
    whole, safe = path.read_bytes(), entries(root)[0].offset
    assert safe == len(b"".join(whole.splitlines(keepends=True)[: AFTER - 1]))
    after = DAMAGE[damage](whole, safe)
    path.write_bytes(after)
    if first == "append":
        store = opened(root)
        said += append(store, 1)
        store.close()
    assert said_in(root) == said
    assert path.read_bytes().startswith(whole)
    assert path.read_bytes().count(b"\n") == len(said)
    assert journals(root) == []
    aside = b"".join(kept.read_bytes() for kept in (root / "local").glob("quarantine/*.bin"))
    sound = next(at for at in range(safe, len(whole) + 1) if after[:at] != whole[:at] or at > len(after)) - 1
    assert aside == after[whole.rindex(b"\n", 0, sound) + 1 :], "what was cut off is kept"
