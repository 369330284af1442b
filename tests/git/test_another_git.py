"""A merge made by another implementation of git, which knows no driver and no configuration of ours."""

from __future__ import annotations

from pathlib import Path

from dulwich import porcelain

import holdfast


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
