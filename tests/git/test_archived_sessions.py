"""Archived sessions and git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.store.faults import RECOVERED
from holdfast.workspace import upkeep

VIEWS = {"STATE.md", "state.json"}


def count(repository: Path, place: str) -> int:
    with holdfast.open(repository) as workspace:
        return int(workspace.session(place).state["notes"]["count"])


def work() -> str:
    with holdfast.open() as workspace:
        session = workspace.start("Work")
        for number in range(3):
            session.note(f"note {number}")
        return f"{session.user}/{session.id}"


def test_git_removes_an_uncommitted_archive(repository: Path, git) -> None:
    """A reset and a clean that remove the archive lose no commit."""
    place = work()
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    assert count(repository, place) == 3
    git("reset", "-q", "--hard")
    git("clean", "-fdq")
    with holdfast.open() as workspace:
        workspace.doctor(fix=True)
    assert count(repository, place) == 3
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    git("add", "-A")
    git("commit", "-q", "-m", "archived")
    assert count(repository, place) == 3
    assert list((repository / ".state" / "events" / "sessions").rglob("*.jsonl")) == []


def test_a_restored_archive_is_listed(repository: Path, git) -> None:
    """Git never had an archived session; what a clean removes is restored, and listed as archived."""
    place = work()
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    git("clean", "-fdq", ".state/history", ".state/sessions", ".state/events")
    assert list((repository / ".state" / "events" / "history").rglob("*.jsonl")) == []
    with holdfast.open() as workspace:
        workspace.doctor(fix=True)
        assert [f"{session.user}/{session.id}" for session in upkeep.archived(workspace)] == [place]
    assert count(repository, place) == 3


def test_one_branch_archives_while_another_continues(repository: Path, git) -> None:
    """After the merge there is one session with all commits, and archiving again archives all of it."""
    place = work()
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "-b", "other")
    with holdfast.open() as workspace:
        workspace.session(place).note("on the other branch")
    git("add", "-A")
    git("commit", "-q", "-m", "more")
    git("checkout", "-q", "-")
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    git("add", "-A")
    git("commit", "-q", "-m", "archived")
    git("merge", "-q", "--no-edit", "other", ok=False)
    assert {Path(p).name for p in git("diff", "--name-only", "--diff-filter=U").split()} <= VIEWS
    with holdfast.open() as workspace:
        workspace.heal()
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    assert count(repository, place) == 4
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    assert count(repository, place) == 4
    joined = list((repository / ".state" / "events" / "history").rglob("*.jsonl"))
    assert sum(segment.read_bytes().count(b"note.added") for segment in joined) == 4
    assert list((repository / ".state" / "events" / "sessions").rglob("*.jsonl")) == []


def test_two_branches_archive_the_same_session(repository: Path, git) -> None:
    """Git detects no rename: only views can conflict, and all commits are present."""
    place = work()
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        with holdfast.open() as workspace:
            workspace.session(place).note(f"on branch {branch}")
            upkeep.archive(workspace, place)
        git("add", "-A")
        git("commit", "-q", "-m", branch)
    git("merge", "-q", "--no-edit", "one", ok=False)
    assert {Path(p).name for p in git("diff", "--name-only", "--diff-filter=U").split()} <= VIEWS
    with holdfast.open() as workspace:
        workspace.heal()
        assert [session.id for session in upkeep.archived(workspace)] == [place.split("/")[1]]
        assert workspace.sessions() == []
        assert workspace.page(None, 10) == ([], 0)
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    assert count(repository, place) == 5


def test_nothing_is_restored_during_a_rebase(repository: Path, git) -> None:
    """What is missing may come with the next step: restored before, it would block git."""
    place = work()
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "--detach")
    git("reset", "-q", "--hard", "HEAD~1")
    (repository / ".git" / "rebase-merge").mkdir()
    with holdfast.open() as workspace:
        assert not [fault for fault in workspace.heal() if fault.done == RECOVERED]
    (repository / ".git" / "rebase-merge").rmdir()
    git("branch", "-q", "-D", "main")
    git("reflog", "expire", "--expire=now", "--all")
    with holdfast.open() as workspace:
        workspace.heal()
    assert count(repository, place) == 3


@pytest.mark.usefixtures("tracked_views")
@pytest.mark.parametrize("onto", ["one", "two"])
def test_a_stub_that_git_moves_to_another_session_is_settled(repository: Path, git, onto: str) -> None:
    """One branch archives a session, the other reverts it and starts another with similar views: git detects a folder
    rename. No segment conflicts, heal settles the rest, and both sessions are unchanged."""
    place = work()
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "-b", "one")
    git("revert", "--no-edit", "HEAD")
    other = work()
    git("add", "-A")
    git("commit", "-q", "-m", "another session")
    git("checkout", "-q", "-b", "two", "main")
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    git("add", "-A")
    git("commit", "-q", "-m", "archived")
    git("checkout", "-q", onto)
    said = git("merge", "--no-edit", "two" if onto == "one" else "one", ok=False)
    assert "file location" in said
    conflicts = {Path(path).name for path in git("diff", "--name-only", "--diff-filter=U").split()}
    assert conflicts <= {*VIEWS, "archived"}
    assert "archived" in conflicts
    with holdfast.open() as workspace:
        faults = workspace.heal()
        assert [fault for fault in faults if not fault.harmless] == []
        assert [session.id for session in upkeep.archived(workspace)] == [place.split("/")[1]]
        assert workspace.sessions() == [other]
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    assert count(repository, place) == count(repository, other) == 3
    assert not list((repository / ".state" / "sessions" / other).rglob("archived"))


def test_a_stub_that_git_put_into_an_archive_is_settled(repository: Path, git) -> None:
    """A merge left the stub of one session in conflict in another's archive: heal removes it from there."""
    place = work()
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    git("add", "-A")
    git("commit", "-q", "-m", "archived")
    session_id = place.split("/")[1]
    stub = Path(".state") / "history" / session_id[:7] / session_id / "archived"
    stub.write_text("Archived: somewhere\n")
    blob = git("hash-object", "-w", str(stub)).strip()
    Path("entries").write_text(f"100644 {blob} 3\t{stub}\n")
    subprocess.run(["git", "update-index", "--index-info"], input=Path("entries").read_bytes(), check=True)
    assert "archived" in git("diff", "--name-only", "--diff-filter=U")
    with holdfast.open() as workspace:
        assert [fault for fault in workspace.heal() if not fault.harmless] == []
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    assert not stub.exists()
    assert count(repository, place) == 3


def test_an_empty_folder_is_no_session(repository: Path, git) -> None:
    """A folder that lost its last file neither hides the archived session nor gets its views."""
    place = work()
    with holdfast.open() as workspace:
        upkeep.archive(workspace, place)
    live = repository / ".state" / "events" / "sessions" / place
    for path in live.iterdir():
        path.unlink()
    with holdfast.open() as workspace:
        assert workspace.sessions() == []
        session = workspace.session(place)
        workspace.touch(session)
        workspace.publish()
    assert not (repository / ".state" / "sessions" / place / "STATE.md").exists()


def test_nothing_is_restored_during_a_merge(repository: Path, git) -> None:
    """Git refuses to merge over untracked files: until the merge is done, heal restores only what is in conflict."""
    place = work()
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "-b", "other")
    (repository / "code.txt").write_text("theirs\n")
    git("commit", "-q", "-am", "theirs")
    git("checkout", "-q", "main")
    (repository / "code.txt").write_text("ours\n")
    git("commit", "-q", "-am", "ours")
    with holdfast.open() as workspace:
        workspace.session(place).note("never committed")
    git("reset", "-q", "--hard")
    git("clean", "-fdq", ".state")
    assert "CONFLICT" in git("merge", "other", ok=False)
    with holdfast.open() as workspace:
        workspace.heal()
    assert git("ls-files", "--others", "--exclude-standard") == ""
    assert count(repository, place) == 3
    git("add", "-A")
    git("commit", "-q", "--no-edit")
    with holdfast.open() as workspace:
        workspace.heal()
    assert count(repository, place) == 4


def test_the_name_of_an_archive_that_was_written_again_is_staged(repository: Path, git) -> None:
    """If git has only the joined segments of an archive, an untracked name file would block a merge."""
    with holdfast.open() as workspace:
        upkeep.archive(workspace, workspace.start("Put away").id)
    git("add", "-A")
    git("commit", "-q", "-m", "archived")
    git("branch", "whole")
    git("rm", "-q", "-r", ".state/history")
    git("commit", "-q", "-m", "only the segments")
    with holdfast.open() as workspace:
        workspace.heal()
    assert "A  .state/history/" in git("status", "--porcelain")
    git("commit", "-q", "-m", "healed")
    git("merge", "-q", "--no-edit", "whole")
