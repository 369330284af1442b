"""Views that a crash truncated heal; a view that shows more than the log has is never lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.views import seal

VIEWS = ("STATE.md", "state.json")


def begin(project: Path) -> Path:
    """A session with some of everything; returns the folder of its views."""
    with holdfast.open() as workspace:
        session = workspace.start("Grüße an alle: ship the parser")
        session.decide("Take the red one", because="it is cheaper", action="order it")
        session.add_task("Write the tests")
        session.add_loop("Who pays?")
        session.note("sealed: not a seal")
    return project / ".state" / session.stream


def look() -> list[holdfast.store.protocol.Fault]:
    """Have the next command check the views; returns what it prints."""
    with holdfast.open() as workspace:
        workspace.touch(workspace.session())
        return workspace.publish()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_truncated_at_any_byte_heals(project: Path, name: str) -> None:
    """Whatever a power cut left of a view, the next command regenerates it and reports no edit."""
    path = begin(project) / name
    whole = path.read_bytes()
    with holdfast.open() as workspace:
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            workspace.touch(workspace.session())
            assert workspace.publish() == [], size
            assert path.read_bytes() == whole, size


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_was_truncated_some_commits_ago_heals(project: Path, name: str) -> None:
    """Commits came since the truncated version was written: it heals anyway, also with doctor."""
    path = begin(project) / name
    old = path.read_bytes()
    with holdfast.open() as workspace:
        workspace.session().note("more")
        workspace.session().set_goal("another goal")
    new = path.read_bytes()
    for size in (1, 10, 40, 80, 100, 200, len(old) // 2, len(old) - 1):
        path.write_bytes(old[:size])
        with holdfast.open() as workspace:
            assert [fault for fault in workspace.doctor() if not fault.harmless] == []
        assert look() == []
        assert path.read_bytes() == new, size


@pytest.mark.parametrize("name", VIEWS)
def test_line_endings_are_no_edit(project: Path, name: str) -> None:
    """A view that git converted to CRLF is intact; if stale, it is regenerated."""
    path = begin(project) / name
    converted = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(converted)
    assert look() == []
    with holdfast.open() as workspace:
        assert workspace.doctor() == []
    assert path.read_bytes() == converted
    assert main(["note", "more"]) == 0
    assert b"\r\n" not in path.read_bytes()
    assert seal.condition(path.read_bytes()) == "intact"


@pytest.mark.parametrize("name", VIEWS)
def test_an_edit_with_other_line_endings_is_an_edit(project: Path, name: str) -> None:
    """An edit in an editor that saves CRLF is left alone and reported."""
    path = begin(project) / name
    edited = path.read_bytes().replace(b"red", b"blue").replace(b"\n", b"\r\n")
    path.write_bytes(edited)
    (fault,) = look()
    assert "edited by hand" in fault.what
    assert path.read_bytes() == edited


def test_a_truncated_view_with_an_edit_is_an_edit(project: Path) -> None:
    """Only an exact prefix of what was written may be regenerated."""
    path = begin(project) / "STATE.md"
    edited = path.read_bytes()[:400].replace(b"red", b"blue")
    assert b"blue" in edited
    path.write_bytes(edited)
    (fault,) = look()
    assert "edited by hand" in fault.what
    assert path.read_bytes() == edited


def cut_last_commit(project: Path, folder: Path) -> None:
    """Cut the last commit from the log in place, and remove every cache that could still have it."""
    events = project / ".state" / "events" / folder.relative_to(project / ".state")
    (segment,) = events.glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:-1]))
    shutil.rmtree(project / ".state" / "local" / "snapshots")
    for copy in (project / ".state" / "local" / "copies").rglob("*.jsonl"):
        copy.unlink()  # nothing but the views knows of it


def test_a_view_ahead_of_the_log_is_never_overwritten(project: Path, capsys) -> None:
    """A commit was cut from the log: commands report the loss and leave the views that show it."""
    folder = begin(project)
    with holdfast.open() as workspace:
        lost = workspace.session().note("the last one").commit
    before = {name: (folder / name).read_bytes() for name in VIEWS}
    cut_last_commit(project, folder)
    for command in (["status"], ["note", "after the loss"], ["status"]):
        capsys.readouterr()
        assert main(command) == 0
        assert lost in capsys.readouterr().err, command
        assert {name: (folder / name).read_bytes() for name in VIEWS} == before
    assert main(["doctor"]) == 5
    assert lost in capsys.readouterr().out


@pytest.mark.parametrize("command", [["heal"], ["doctor", "--fix"]])
def test_heal_saves_a_view_ahead_of_the_log(project: Path, capsys, command: list[str]) -> None:
    """Heal saves the view byte for byte, says where, regenerates it, and doctor keeps reporting the saved one."""
    folder = begin(project)
    with holdfast.open() as workspace:
        lost = workspace.session().note("the last one").commit
    before = {name: (folder / name).read_bytes() for name in VIEWS}
    cut_last_commit(project, folder)
    capsys.readouterr()
    main(command)
    assert lost in capsys.readouterr().out
    for name in VIEWS:
        (kept,) = (project / ".state" / "local").glob(f"lost-{name.lower()}/*")
        assert kept.read_bytes() == before[name]
        assert b"the last one" not in (folder / name).read_bytes()
        assert seal.condition((folder / name).read_bytes()) == "intact"
    assert main(["doctor"]) == 0
    assert lost in capsys.readouterr().out
    assert look() == []


def test_saved_views_are_removed_with_the_session(project: Path, capsys) -> None:
    """Removing a session removes its saved views too."""
    folder = begin(project)
    with holdfast.open() as workspace:
        workspace.session().note("the last one")
    cut_last_commit(project, folder)
    main(["heal"])
    with holdfast.open() as workspace:
        workspace.store.forget(workspace.session().stream)
    local = project / ".state" / "local"
    assert [
        path for path in local.rglob("*") if path.is_file() and b"the last one" in path.read_bytes()
    ] == []


def test_a_view_of_two_seals_is_a_merge(project: Path) -> None:
    """Lines of two versions with both seals are what git's union merge leaves: regenerated, and saved once."""
    path = begin(project) / "STATE.md"
    old = path.read_text()
    assert main(["note", "more"]) == 0
    new = path.read_text()
    merged = "\n".join(dict.fromkeys([*new.split("\n"), *old.split("\n"), "a line of a person"]))
    path.write_text(merged)
    (fault,) = look()
    assert fault.harmless
    assert path.read_text() == new
    (kept,) = (project / ".state" / "local").glob("merged-state.md/*")
    assert kept.read_text() == merged
