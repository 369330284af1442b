"""Git moves no segment to another session, although their views are similar; other moves are undone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.store.files.engine import segments
from holdfast.workspace import upkeep


def work(texts: list[str]) -> str:
    with holdfast.open() as workspace:
        session = workspace.start("Ship the parser")
        for text in texts:
            session.note(text)
        return session.id


def go_on(session_id: str, text: str) -> None:
    with holdfast.open() as workspace:
        workspace.session(session_id).note(text)


def notes(session_id: str) -> list[str]:
    with holdfast.open() as workspace:
        return [
            event.data["text"]
            for commit in workspace.session(session_id).log()
            for event in commit.events
            if event.type == "note.added"
        ]


def split(repository: Path, git, *, archived: bool) -> tuple[str, str]:
    """Branch ``one`` reverts a session and starts another, ``two`` continues the first one and adds a file."""
    first = work(["a"])
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "-b", "one")
    git("revert", "--no-edit", "HEAD")
    second = work(["b"])
    git("add", "-A")
    git("commit", "-q", "-m", "another session")
    git("checkout", "-q", "-b", "two", "main")
    if archived:
        with holdfast.open() as workspace:
            upkeep.archive(workspace, first)
            upkeep.restore(workspace, first)
    go_on(first, "c")
    (repository / ".state" / "sessions" / "alice" / first / "extra.txt").write_text("anything\n")
    git("add", "-A")
    git("commit", "-q", "-m", "more")
    return first, second


def blobs(git, rev: str) -> dict[str, str]:
    """The segments of a commit: name and blob id."""
    rows = [line.split() for line in git("ls-tree", "-r", rev).splitlines()]
    return {Path(row[3]).name: row[2] for row in rows if row[3].endswith(".jsonl")}


@pytest.mark.usefixtures("tracked_views")
@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("renames", ["conflict", "true"])
@pytest.mark.parametrize("strategy", ["ort", "recursive"])
@pytest.mark.parametrize("onto", ["one", "two"])
def test_git_moves_no_segment(
    repository: Path, git, onto: str, strategy: str, renames: str, archived: bool
) -> None:
    """Git detects the folder of a reverted session as renamed, but no segment is in it: with today's merges and those
    before git 2.34 each session keeps its own commits, and no segment conflicts."""
    first, second = split(repository, git, archived=archived)
    known = {**blobs(git, "one"), **blobs(git, "two")}
    git("checkout", "-q", onto)
    other = "two" if onto == "one" else "one"
    how = ("-c", f"merge.directoryRenames={renames}")
    said = git(*how, "merge", "-s", strategy, "--no-edit", other, ok=False)
    assert "extra.txt" in said, "git no longer takes the folder for renamed"
    assert not [line for line in said.splitlines() if "CONFLICT" in line and ".jsonl" in line]
    assert ".jsonl" not in git("diff", "--name-only", "--diff-filter=U")
    assert notes(first) == (["a", "c"] if archived else ["c"])
    with holdfast.open() as workspace:
        workspace.heal()
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []
    assert notes(first) == (["a", "c"] if archived else ["c"])
    assert notes(second) == ["b"]
    git("add", "-A")
    git("commit", "-q", "-m", "merged")
    merged = blobs(git, "HEAD")
    assert merged.items() <= known.items()


def test_an_unknown_segment_is_reported_and_not_read(repository: Path, git) -> None:
    """A segment of an unknown session stays in place, unread, and doctor reports it."""
    session_id = work(["a"])
    events = repository / ".state" / "events" / "sessions" / "alice" / session_id
    (own,) = events.iterdir()
    stranger = segments.name_of("sessions/bob/2026-01-21-zzzzzzzz", "zzzzzzzz", 1)
    shutil.copy(own, events / stranger)
    with holdfast.open() as workspace:
        (fault,) = [fault for fault in workspace.doctor(fix=True) if not fault.harmless]
    assert (Path(fault.where).name, fault.what) == (stranger, "a segment of another session")
    assert notes(session_id) == ["a"]
    assert (events / stranger).exists()


def test_both_copies_are_joined(repository: Path, git) -> None:
    """If the segment is also where it belongs, nothing of either is lost."""
    first, second = work(["a", "b"]), work(["c"])
    sessions = repository / ".state" / "events" / "sessions" / "alice"
    (own,) = (sessions / first).iterdir()
    shutil.copy(own, sessions / second / own.name)
    own.write_bytes(b"".join(own.read_bytes().splitlines(keepends=True)[:2]))
    with holdfast.open() as workspace:
        workspace.doctor(fix=True)
    assert notes(first) == ["a", "b"]
    assert notes(second) == ["c"]


def test_a_misplaced_segment_is_not_removed_with_the_folders_session(repository: Path, git) -> None:
    """Removing a session removes only its own commits."""
    first, second = work(["a"]), work(["b"])
    sessions = repository / ".state" / "events" / "sessions" / "alice"
    (own,) = (sessions / first).iterdir()
    own.rename(sessions / second / own.name)
    with holdfast.open() as workspace:
        workspace.store.forget(f"sessions/alice/{second}")
    assert notes(first) == ["a"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("k7f3q2xw-1.jsonl", False),
        ("k7f3q2xw-12.abc123.jsonl", True),
        ("k7f3q2xw-12.abc12.jsonl", False),
        ("k7f3q2xw-12.abc1234.jsonl", False),
        ("k7f3q2xw-12.ABC123.jsonl", False),
        ("k7f3q2xw-12..jsonl", False),
        ("k7f3q2xw-.abc123.jsonl", False),
        ("k7f3q2xw-1.abc123.json", False),
        ("k7f3q2xw-1.abc.123.jsonl", False),
        (".k7f3q2xw-1.abc123.jsonl.tmp-1", False),
    ],
)
def test_what_a_segment_is_called(name: str, expected: bool) -> None:
    """Writer, number, tag and suffix: anything else is not a segment."""
    assert segments.is_segment(name) == expected
