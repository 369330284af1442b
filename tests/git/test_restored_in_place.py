"""A whole project that is restored in place by a tool that leaves unchanged files alone (as rsync does)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import holdfast


def sync_back(source: Path, target: Path) -> None:
    """Make ``target`` equal to ``source``: remove what is new, replace what changed, leave the rest alone."""
    before, now = (
        {path.relative_to(top) for path in top.rglob("*") if path.is_file()} for top in (source, target)
    )
    for name in now - before:
        (target / name).unlink()
    for name in before:
        old, new = source / name, target / name
        if name in now and old.read_bytes() == new.read_bytes():
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        temp = new.with_name(f"{new.name}.sync")
        shutil.copy2(old, temp)
        os.rename(temp, new)


def test_a_project_that_was_synced_back_writes_under_another_name(
    repository: Path, git, tmp_path: Path
) -> None:
    """Commits after the backup have been pushed; the restored clone must not reuse their names."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        place = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    shutil.copytree(repository, tmp_path / "backup", symlinks=True)
    with holdfast.open() as workspace:
        first = workspace.session(place).decide("after the backup", because="it is so").id
    git("add", "-A")
    git("commit", "-q", "-m", "after the backup")
    git("clone", "-q", str(repository), str(tmp_path / "clone"))
    sync_back(tmp_path / "backup", repository)
    with holdfast.open() as workspace:
        second = workspace.session(place).decide("after going back", because="it is so").id
    git("add", "-A")
    git("commit", "-q", "-m", "after going back")
    git("pull", "-q", "--no-edit", "--no-rebase", str(tmp_path / "clone"), "main", ok=False)
    assert ".jsonl" not in git("diff", "--name-only", "--diff-filter=U")
    assert first != second
