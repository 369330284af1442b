"""The texts of long messages are files of their session: git can neither destroy nor misplace them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.store.faults import MOVED
from holdfast.workspace import upkeep

TEXT = "".join(f"line {number} of what the tool said\n" for number in range(2_000))


def begin(goal: str) -> str:
    with holdfast.open() as workspace:
        return workspace.start(goal).id


def say(session_id: str, text: str = TEXT) -> None:
    with holdfast.open() as workspace:
        workspace.session(session_id).add_message("tool", text)


def texts(session_id: str) -> list[str]:
    with holdfast.open() as workspace:
        return [message.text for message in workspace.session(session_id).recent()]


def save(git, message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def destroy_by_reset(git) -> None:
    git("add", "-A")
    git("reset", "-q", "--hard", "HEAD")


def destroy_by_clean(git) -> None:
    git("clean", "-fdq")


def destroy_by_stash(git) -> None:
    git("stash", "push", "-q", "-u")
    git("stash", "drop", "-q")


@pytest.mark.parametrize("destroy", [destroy_by_reset, destroy_by_clean, destroy_by_stash])
def test_what_git_destroys_is_restored(repository: Path, git, destroy) -> None:
    """A message whose file no git commit had is complete again after heal."""
    session_id = begin("Ship it")
    save(git, "begin")
    say(session_id)
    destroy(git)
    assert not list(repository.rglob(".state/sessions/**/message-*.txt"))
    with holdfast.open() as workspace:
        workspace.heal()
    assert texts(session_id) == [TEXT]


def test_archiving_that_is_reordered_before_the_message(repository: Path, git, monkeypatch) -> None:
    """A rebase that puts the archiving before the message whose text it moves is healed, and the text is complete."""
    session_id = begin("Ship it")
    save(git, "begin")
    say(session_id)
    save(git, "said")
    with holdfast.open() as workspace:
        workspace.session(session_id).complete("done")
        upkeep.archive(workspace, session_id)
    save(git, "archived")
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", "sed -i -e '1{h;d}' -e '2G'")
    git("rebase", "-q", "-i", "HEAD~2", ok=False)
    assert git("ls-files", "--unmerged"), "git did not stop at the text"
    for _ in range(5):
        with holdfast.open() as workspace:
            workspace.heal()
        assert not git("ls-files", "--unmerged")
        git("rebase", "--continue", ok=False)
        if not (repository / ".git" / "rebase-merge").exists():
            break
    assert not (repository / ".git" / "rebase-merge").exists()
    with holdfast.open() as workspace:
        workspace.heal()
    assert texts(session_id) == [TEXT]


def test_a_text_of_another_branch_is_not_restored(repository: Path, git) -> None:
    """A text is restored only where a commit of the session refers to it."""
    session_id = begin("Ship it")
    save(git, "begin")
    git("checkout", "-q", "-b", "other")
    say(session_id)
    save(git, "said")
    git("checkout", "-q", "main")
    with holdfast.open() as workspace:
        workspace.heal()
    assert not list(repository.rglob(".state/sessions/**/message-*.txt"))
    git("checkout", "-q", "other")
    assert texts(session_id) == [TEXT]


def test_removing_a_session_removes_its_texts(repository: Path, git) -> None:
    """Nothing of the text is left in the git directory or in the workspace."""
    session_id = begin("Ship it")
    say(session_id)
    assert [path for path in repository.rglob("message-*.txt") if ".git" in path.parts]
    with holdfast.open() as workspace:
        workspace.store.forget(f"sessions/alice/{session_id}")
    assert not list(repository.rglob("message-*.txt"))


def test_a_pin_is_dropped_after_a_month(repository: Path, git) -> None:
    """The pin of a text that is in place is dropped eventually."""
    session_id = begin("Ship it")
    say(session_id)
    (link,) = [path for path in repository.rglob("message-*.txt") if ".git" in path.parts]
    with holdfast.open() as workspace:
        workspace.heal()
    assert link.exists()
    os.utime(link, (1, 1))
    with holdfast.open() as workspace:
        workspace.heal()
    assert not link.exists()
    assert texts(session_id) == [TEXT]


@pytest.mark.usefixtures("tracked_views")
@pytest.mark.parametrize("onto", ["one", "two"])
def test_one_that_git_would_move_to_another_session_is_put_back(repository: Path, git, onto: str) -> None:
    """One branch reverts a session and starts one with similar views, the other one adds a message: git suggests moving
    its file; heal moves it back."""
    first = begin("Ship the parser")
    save(git, "begin")
    git("checkout", "-q", "-b", "one")
    git("revert", "--no-edit", "HEAD")
    second = begin("Ship the printer")
    save(git, "another session")
    git("checkout", "-q", "-b", "two", "main")
    say(first)
    save(git, "said")
    git("checkout", "-q", onto)
    other = "two" if onto == "one" else "one"
    said = git("merge", "-s", "recursive", "--no-edit", other, ok=False)
    assert "file location" in said, "git no longer takes the folder for renamed"
    with holdfast.open() as workspace:
        faults = workspace.heal()
    assert any(fault.done == MOVED and fault.data["moved_to"] for fault in faults)
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    save(git, "merged")
    assert texts(first) == [TEXT]
    sessions = repository / ".state" / "sessions" / "alice"
    assert os.listdir(sessions / first / "context")
    assert not list((sessions / second).glob("context/*"))
