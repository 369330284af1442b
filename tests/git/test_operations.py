"""Common git operations, one at a time, with plain git and no driver: no segment ever conflicts, and no acknowledged
commit is lost. The random histories combine them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main

VIEWS = {"STATE.md", "state.json"}
_SWAP = "sed -i -e '1{h;d}' -e '2{G}'"


class Project:
    """A repository with one session, and what was noted in it."""

    def __init__(self, folder: Path, git: Callable[..., str], place: str) -> None:
        self.folder = folder
        self.place = place
        self._git = git

    def git(self, *arguments: str, ok: bool = True) -> str:
        return self._git(*arguments, cwd=self.folder, ok=ok)

    def note(self, *texts: str, commit: bool = True) -> None:
        """Write notes, each in a git commit of its own."""
        for text in texts:
            with holdfast.open(self.folder / ".state") as workspace:
                workspace.session(self.place).note(text)
            if commit:
                self.commit(text)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def settle(self, *go_on: str) -> None:
        """Only views may conflict; heal, and continue until git is done."""
        while conflicts := self.git("diff", "--name-only", "--diff-filter=U").split():
            assert {Path(path).name for path in conflicts} <= VIEWS
            with holdfast.open(self.folder / ".state") as workspace:
                workspace.heal()
            assert self.git("diff", "--name-only", "--diff-filter=U") == ""
            self.git(*go_on, ok=False)
        assert "rebase in progress" not in self.git("status")
        assert "You have unmerged" not in self.git("status")

    def merge(self, *refs: str) -> None:
        self.git("merge", "--no-edit", *refs, ok=False)
        self.settle("commit", "--no-edit", "-q")
        for ref in refs:
            self.git("merge-base", "--is-ancestor", ref, "HEAD")

    def notes(self) -> list[str]:
        """All notes, in order; each commit exists once and no line is damaged."""
        with holdfast.open(self.folder / ".state") as workspace:
            session = workspace.session(self.place)
            commits = list(session.log())
            assert len({commit.id for commit in commits}) == len(commits) == session.version
            assert session.peek().faults == ()
            return [e.data["text"] for c in commits for e in c.events if e.type == "note.added"]


@pytest.fixture
def project(repository: Path, git) -> Project:
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        place = f"{session.user}/{session.id}"
    found = Project(repository, git, place)
    found.commit("start")
    return found


@pytest.fixture
def clone(project: Project, git, tmp_path: Path) -> Project:
    """A second clone of the project."""
    git("clone", "-q", str(project.folder), str(tmp_path / "clone"))
    return Project(tmp_path / "clone", git, project.place)


def test_two_clones_on_one_session(project: Project, clone: Project) -> None:
    """Both write, both pull; afterwards both have everything, and show the same bytes."""
    project.note("here 1", "here 2")
    clone.note("there 1", "there 2")
    clone.git("fetch", "-q")
    clone.merge("origin/main")
    project.git("fetch", "-q", str(clone.folder), "main:theirs")
    project.merge("theirs")
    assert project.notes() == clone.notes() == ["here 1", "here 2", "there 1", "there 2"]
    shown = []
    for one in (project, clone):
        with holdfast.open(one.folder / ".state") as workspace:
            workspace.heal()
        shown.append([path.read_bytes() for path in sorted((one.folder / ".state").rglob("S*.md"))])
    assert shown[0] == shown[1]


def test_checkout_back_and_forth(project: Project) -> None:
    """A branch hides what it does not have; after the merge everything is present."""
    project.git("checkout", "-q", "-b", "feature")
    project.note("feature 1")
    project.git("checkout", "-q", "main")
    assert project.notes() == []
    project.note("main 1")
    project.git("checkout", "-q", "feature")
    project.note("feature 2")
    assert project.notes() == ["feature 1", "feature 2"]
    project.git("checkout", "-q", "main")
    project.merge("feature")
    assert sorted(project.notes()) == ["feature 1", "feature 2", "main 1"]


def test_reset_hard_to_an_earlier_commit_that_a_branch_still_has(project: Project) -> None:
    """Work continues from the earlier commit, and what was reset returns with the branch."""
    project.note("one", "two")
    project.git("branch", "saved")
    project.git("reset", "-q", "--hard", "HEAD~1")
    assert project.notes() == ["one"]
    project.note("three")
    project.merge("saved")
    assert sorted(project.notes()) == ["one", "three", "two"]


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_dropped_stash_after_an_earlier_one_came_back(project: Project, rounds: int) -> None:
    """What was noted after a stash was popped, which leaves HEAD and names as before, survives a dropped stash."""
    noted = ["before"]
    project.note("before", commit=False)
    for number in range(rounds):
        project.git("stash", "push", "-q", "-u")
        project.git("stash", "pop", "-q")
        noted.append(f"after {number}")
        project.note(noted[-1], commit=False)
    project.git("stash", "push", "-q", "-u")
    project.git("stash", "drop", "-q")
    with holdfast.open(project.folder / ".state") as workspace:
        workspace.heal()
    assert project.notes() == noted


def test_a_segment_that_grew_in_another_file_than_its_link(project: Project) -> None:
    """Where the link of a segment has fewer commits than its copy, the copy is what comes back."""
    project.note("one", commit=False)
    kept = next((project.folder / ".git/holdfast/kept").rglob("*-2.*.jsonl"))
    data = kept.read_bytes()
    project.note("two", commit=False)
    kept.unlink()
    kept.write_bytes(data)
    project.git("clean", "-q", "-f", "-d", ".state/events")
    with holdfast.open(project.folder / ".state") as workspace:
        workspace.heal()
    assert project.notes() == ["one", "two"]


@pytest.mark.parametrize("options", [(), ("-u",), ("--keep-index",)])
def test_stash_and_back(project: Project, options: tuple[str, ...]) -> None:
    """Stashed commits return next to what was written meanwhile."""
    project.note("stashed", commit=False)
    project.git("add", "-A")
    project.git("stash", "push", "-q", *options)
    if options == ("--keep-index",):
        project.git("reset", "-q", "--hard")
    project.note("meanwhile")
    project.git("stash", "pop", ok=False)
    project.settle("status")
    assert sorted(project.notes()) == ["meanwhile", "stashed"]


def test_a_revert_and_its_revert(project: Project) -> None:
    """A revert removes a commit from the tree, the revert of the revert restores it, whatever came between."""
    project.note("one", "two")
    project.git("revert", "--no-edit", "HEAD")
    assert project.notes() == ["one"]
    project.note("three")
    project.git("revert", "--no-edit", "HEAD~1", ok=False)
    project.settle("revert", "--continue")
    assert sorted(project.notes()) == ["one", "three", "two"]


def test_an_amended_commit_that_another_clone_has(project: Project, clone: Project) -> None:
    """Both versions of the commit meet in a merge."""
    project.note("one")
    clone.git("pull", "-q")
    project.note("more", commit=False)
    project.git("add", "-A")
    project.git("commit", "-q", "--amend", "-m", "one, and more")
    clone.note("there")
    clone.git("fetch", "-q")
    clone.merge("origin/main")
    assert sorted(clone.notes()) == ["more", "one", "there"]


def test_rebase(project: Project) -> None:
    """A branch is rebased, and only views conflict."""
    project.git("checkout", "-q", "-b", "feature")
    project.note("feature 1", "feature 2", "feature 3")
    project.git("checkout", "-q", "main")
    project.note("main 1", "main 2")
    project.git("checkout", "-q", "feature")
    project.git("rebase", "main", ok=False)
    project.settle("rebase", "--continue")
    project.git("merge-base", "--is-ancestor", "main", "feature")
    assert sorted(project.notes()) == ["feature 1", "feature 2", "feature 3", "main 1", "main 2"]


def test_an_interactive_rebase_that_reorders(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two commits change places; the notes keep the order in which they were written."""
    project.note("one", "two", "three")
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", _SWAP)
    project.git("rebase", "-i", "HEAD~2", ok=False)
    project.settle("rebase", "--continue")
    assert project.git("log", "--format=%s", "-2").split() == ["two", "three"]
    assert project.notes() == ["one", "two", "three"]


def test_cherry_pick_of_a_middle_commit_and_then_the_whole_branch(project: Project) -> None:
    """The picked segment exists once, before and after the rest arrives."""
    project.git("checkout", "-q", "-b", "feature")
    project.note("one", "two", "three")
    project.git("checkout", "-q", "main")
    project.note("on main")
    project.git("cherry-pick", "feature~1", ok=False)
    project.settle("cherry-pick", "--continue")
    assert sorted(project.notes()) == ["on main", "two"]
    project.note("goes on")
    project.merge("feature")
    assert sorted(project.notes()) == ["goes on", "on main", "one", "three", "two"]


def test_a_second_squash_merge_of_the_same_branch(project: Project) -> None:
    """Git knows nothing of the first squash; its segments are the same files anyway."""
    project.git("branch", "feature")
    for round in ("first", "second"):
        project.git("checkout", "-q", "feature")
        project.note(f"{round} a", f"{round} b")
        project.git("checkout", "-q", "main")
        project.note(f"{round} on main")
        project.git("merge", "--squash", "feature", ok=False)
        project.settle("status")
        project.commit(f"{round} squash")
    assert len(project.notes()) == 6
    project.git("checkout", "-q", "feature")
    project.merge("main")
    assert len(project.notes()) == 6


def test_octopus(repository: Path, git) -> None:
    """Three branches that wrote to one session are merged at once, with views out of git."""
    assert main(["init", "--views", "local"]) == 0
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        project = Project(repository, git, f"{session.user}/{session.id}")
    project.commit("start")
    for branch in ("one", "two", "three"):
        git("checkout", "-q", "-b", branch, "main")
        project.note(f"{branch} a", f"{branch} b")
    git("checkout", "-q", "main")
    project.note("on main")
    git("merge", "--no-edit", "one", "two", "three")
    assert len(git("rev-list", "-n", "1", "--parents", "HEAD").split()) == 5
    assert len(project.notes()) == 7


def test_a_shallow_clone_works_like_any_other(project: Project, git, tmp_path: Path) -> None:
    """A clone without history writes, and its work is merged."""
    project.note("one", "two")
    git("clone", "-q", "--depth", "1", f"file://{project.folder}", str(tmp_path / "shallow"))
    shallow = Project(tmp_path / "shallow", git, project.place)
    shallow.note("in the shallow clone")
    project.note("meanwhile")
    project.git("fetch", "-q", str(shallow.folder), "main:shallow")
    project.merge("shallow")
    assert sorted(project.notes()) == ["in the shallow clone", "meanwhile", "one", "two"]


def test_a_worktree_has_its_own_identity(project: Project, git, tmp_path: Path) -> None:
    """Two worktrees of one repository write to one session at the same time."""
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"), cwd=project.folder)
    other = Project(tmp_path / "other", git, project.place)
    for number in range(2):
        project.note(f"here {number}")
        other.note(f"there {number}")
    project.merge("other")
    assert sorted(project.notes()) == ["here 0", "here 1", "there 0", "there 1"]


def test_a_restored_backup_does_not_write_over_what_came_later(
    project: Project, clone: Project, tmp_path: Path
) -> None:
    """The workspace is restored from a backup; later commits have been pushed, and both are merged. The clone that had
    them reports the loss, and heals it."""
    project.note("before the backup", commit=False)
    shutil.copytree(project.folder / ".state", tmp_path / "backup", symlinks=True)
    project.note("after the backup")
    clone.git("pull", "-q")
    shutil.rmtree(project.folder / ".state")
    shutil.copytree(tmp_path / "backup", project.folder / ".state", symlinks=True)
    project.note("after going back")
    clone.note("in the clone")
    clone.git("fetch", "-q")
    clone.merge("origin/main")
    with holdfast.open(clone.folder / ".state") as workspace:
        assert [fault.kind for fault in workspace.session(clone.place).peek().faults] == ["lost-commits"]
        workspace.heal()
    everything = {"before the backup", "after the backup", "after going back", "in the clone"}
    assert everything <= set(clone.notes())
    clone.commit("healed")
    project.git("fetch", "-q", str(clone.folder), "main:theirs")
    project.merge("theirs")
    assert project.notes() == clone.notes()


def test_a_backup_is_restored_under_a_running_program(repository: Path, git, tmp_path: Path) -> None:
    """A server has the workspace open while its folder is restored: its next commit is stored, and nothing is lost."""
    state = repository / ".state"
    with holdfast.open() as workspace:
        session_id = workspace.start("Ship it").id
        workspace.session(session_id).note("before the backup")
    shutil.copytree(state, tmp_path / "backup", symlinks=True)
    git("commit", "-q", "--allow-empty", "-m", "HEAD moves, so there is another segment")
    with holdfast.open() as server, holdfast.open() as other:
        other.session(session_id).note("after the backup")
        session = server.session(session_id)
        assert session.state["notes"]["count"] == 2
        server.project.add_fact("the server has written")
        shutil.rmtree(state)
        shutil.copytree(tmp_path / "backup", state, symlinks=True)
        session.note("after going back")
    with holdfast.open() as workspace:
        workspace.heal()
        texts = [note["text"] for note in workspace.session(session_id).state["notes"]["last"]]
    assert sorted(texts) == ["after going back", "after the backup", "before the backup"]


def test_a_clone_that_converts_line_endings(project: Project, git, tmp_path: Path) -> None:
    """Where git writes CRLF, segments are read, written and merged as usual."""
    project.note("one")
    (project.folder / ".state" / ".gitattributes").unlink()
    project.commit("no attributes")
    git("clone", "-q", "-c", "core.autocrlf=true", str(project.folder), str(tmp_path / "crlf"))
    other = Project(tmp_path / "crlf", git, project.place)
    assert any(b"\r\n" in path.read_bytes() for path in other.folder.rglob(".state/events/**/*.jsonl"))
    other.note("in the clone")
    project.note("here")
    project.git("fetch", "-q", str(other.folder), "main:other")
    project.merge("other")
    assert sorted(project.notes()) == ["here", "in the clone", "one"]
    other.git("fetch", "-q")
    other.git("stash", "-q", ok=False)
    other.merge("origin/main")
    assert sorted(other.notes()) == ["here", "in the clone", "one"]


def test_staged_appended_to_and_committed_in_part(project: Project, clone: Project) -> None:
    """What git committed in between is complete, and the rest comes with the next git commit."""
    project.note("staged", commit=False)
    project.git("add", "-A")
    project.note("later", commit=False)
    project.git("commit", "-q", "-m", "in part")
    clone.git("pull", "-q")
    assert clone.notes() == ["staged"]
    clone.note("there")
    project.commit("the rest")
    clone.git("fetch", "-q")
    clone.merge("origin/main")
    assert sorted(clone.notes()) == ["later", "staged", "there"]
    assert sorted(project.notes()) == ["later", "staged"]
