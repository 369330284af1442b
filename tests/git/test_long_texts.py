"""Long texts in a git repository: never in conflict, never lost with a reset, restored from git."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.recovery.files_store import FilesStore
from holdfast.workspace import upkeep

TEXT = "".join(f"line {number} of a plan that both of them wrote\n" for number in range(400))


def begin(git) -> str:
    with holdfast.open() as workspace:
        session = workspace.start("Ship it")
        name = f"{session.user}/{session.id}"
    save(git, "begin")
    return name


def note(name: str, text: str = TEXT) -> None:
    with holdfast.open() as workspace:
        workspace.session(name).note(text)


def noted(name: str) -> list[str]:
    with holdfast.open() as workspace:
        commits = list(workspace.session(name).log())
    return [event.data["text"] for commit in commits for event in commit.events if event.type == "note.added"]


def save(git, message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def stored(folder: Path) -> list[Path]:
    return sorted(folder.glob(".state/events/**/blobs/*"))


def unmerged(git) -> list[str]:
    """Conflicts in the log; the next command regenerates views."""
    return [path for path in git("diff", "--name-only", "--diff-filter=U").split() if "/events/" in path]


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
    """A commit and its long text that no git commit had are complete again after heal."""
    name = begin(git)
    note(name)
    destroy(git)
    assert stored(repository) == []
    with holdfast.open() as workspace:
        workspace.heal()
    assert noted(name) == [TEXT]
    assert len(stored(repository)) == 1


@pytest.mark.parametrize("how", ["missing", "changed"])
def test_a_text_that_git_has_is_restored(repository: Path, git, how: str) -> None:
    """Doctor restores what was deleted or overwritten from git, also if the pin is gone."""
    name = begin(git)
    note(name)
    save(git, "noted")
    (path,) = stored(repository)
    shutil.rmtree(repository / ".git" / "holdfast")
    if how == "missing":
        path.unlink()
    else:
        path.write_text("something else")
    assert noted(name) != [TEXT]
    with holdfast.open() as workspace:
        assert isinstance(workspace.store, FilesStore)
        found = [fault for fault in workspace.store.check() if not fault.harmless]
        assert [fault.where for fault in found] == [str(path.relative_to(repository / ".state"))]
        assert [fault for fault in workspace.store.check(fix=True) if not fault.harmless] == []
    assert noted(name) == [TEXT]


def test_a_text_is_read_from_its_pin(repository: Path, git) -> None:
    """Before heal, a text that git removed is read from its pin."""
    name = begin(git)
    note(name)
    (path,) = stored(repository)
    path.unlink()
    assert noted(name) == [TEXT]


def test_line_endings_stay(repository: Path, git) -> None:
    """A checkout with conversion of line endings leaves a text unchanged."""
    name = begin(git)
    note(name)
    save(git, "noted")
    git("config", "core.autocrlf", "true")
    for path in stored(repository):
        path.unlink()
    git("checkout", "-q", "--", ".")
    assert noted(name) == [TEXT]
    assert git("status", "--porcelain") == ""


def test_both_branches_write_the_same_text(repository: Path, git) -> None:
    """The same text on two branches is the same file: a plain merge has nothing to settle."""
    name = begin(git)
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        note(name)
        save(git, f"on {branch}")
    git("merge", "--no-edit", "one", ok=False)
    assert unmerged(git) == []
    with holdfast.open() as workspace:
        workspace.heal()
    assert noted(name) == [TEXT] * 2
    assert len(stored(repository)) == 1


def test_reverts_on_two_branches_with_the_same_text_again(repository: Path, git) -> None:
    """Both branches revert a commit with a long text and write the text again: no conflict, nothing is lost."""
    name = begin(git)
    note(name)
    save(git, "to be reverted")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        git("revert", "--no-commit", "main")
        git("commit", "-q", "-m", f"reverted on {branch}")
        note(name)
        save(git, f"again on {branch}")
    git("merge", "--no-edit", "one", ok=False)
    assert unmerged(git) == []
    with holdfast.open() as workspace:
        workspace.heal()
    assert noted(name) == [TEXT] * 2


def test_archived_on_one_branch_and_continued_on_the_other(repository: Path, git) -> None:
    """Texts stay in place when a session is archived: what another branch adds there stays too."""
    name = begin(git)
    note(name)
    save(git, "noted")
    git("checkout", "-q", "-b", "other")
    note(name, TEXT + "more")
    save(git, "more")
    git("checkout", "-q", "main")
    with holdfast.open() as workspace:
        upkeep.archive(workspace, name)
    save(git, "archived")
    git("merge", "--no-edit", "other", ok=False)
    assert unmerged(git) == []
    with holdfast.open() as workspace:
        workspace.heal()
        assert [fault for fault in workspace.store.check() if not fault.harmless] == []
    assert sorted(noted(name)) == sorted([TEXT, TEXT + "more"])


def test_a_text_in_conflict_is_settled(repository: Path, git) -> None:
    """Both branches remove a session and one writes nearly the same text: git detects a rename, and heal settles it."""
    old, new = begin(git), begin(git)
    note(old)
    save(git, "noted")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        with holdfast.open() as workspace:
            workspace.store.forget(f"sessions/{old}")
        if branch == "two":
            note(new, TEXT + "and one line more")
        save(git, f"on {branch}")
    git("merge", "--no-edit", "one", ok=False)
    assert len(unmerged(git)) == 1
    with holdfast.open() as workspace:
        workspace.heal()
    assert unmerged(git) == []
    assert noted(new) == [TEXT + "and one line more"]
