"""A merge by another git implementation, without any driver or configuration of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from dulwich import porcelain

import holdfast
from holdfast.workspace import upkeep


def test_another_implementation_merges_segments_without_a_conflict(repository: Path, git) -> None:
    """Two branches that wrote to one session are merged by dulwich: only views may conflict, and they heal."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        name = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "both")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        for number in range(3):
            with holdfast.open() as workspace:
                workspace.session(name).note(f"{branch} {number}")
            git("add", "-A")
            git("commit", "-q", "-m", f"{branch} {number}")
    with porcelain.open_repo(str(repository)) as repo:
        conflicts = porcelain.merge(
            repo, "one", author=b"T <t@e.x>", committer=b"T <t@e.x>", message=b"merge"
        )[1]
    assert [path for path in conflicts if path.endswith(b".jsonl")] == []
    with holdfast.open() as workspace:
        workspace.heal()
        again = workspace.session(name)
        texts = [e.data["text"] for c in again.log() for e in c.events if e.type == "note.added"]
        assert sorted(texts) == sorted(
            f"{branch} {number}" for branch in ("one", "two") for number in range(3)
        )
        assert again.peek().faults == ()
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []


TEXT = (
    "The parser keeps the first column of a name and drops the second without a word, in every file since March. "
    * 3
)


@pytest.mark.parametrize("what", ["archived", "reverted"])
def test_libgit2_finds_no_renamed_segment(repository: Path, git, what: str) -> None:
    """libgit2 detects renames too, and ignores spaces before a line."""
    pygit2 = pytest.importorskip("pygit2")
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        name = f"{session.user}/{session.id}"
    if what == "reverted":
        git("add", "-A")
        git("commit", "-q", "-m", "start")
    with holdfast.open() as workspace:
        for number in range(4):
            workspace.session(name).note(f"{number}. {TEXT}")
    git("add", "-A")
    git("commit", "-q", "-m", "work")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        if what == "reverted":
            git("revert", "--no-commit", "main")
            git("commit", "-q", "-m", f"reverted on {branch}")
        with holdfast.open() as workspace:
            for number in range(4 if what == "reverted" else 1):
                workspace.session(name).note(f"{number}. {TEXT}")
            if what == "archived":
                upkeep.archive(workspace, name)
        git("add", "-A")
        git("commit", "-q", "-m", branch)
    repo = pygit2.Repository(str(repository))
    merged = repo.merge_commits(repo.branches["one"].target, repo.branches["two"].target)
    conflicts = {entry.path for sides in merged.conflicts or () for entry in sides if entry is not None}
    assert [path for path in conflicts if path.endswith(".jsonl")] == []
