"""A real repository with a workspace in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.git.integration import track_views
from holdfast.workspace.setup import init

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git without user settings; fails if git does, unless ``ok=False``."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    config = tmp_path / "gitconfig"
    config.write_text("[user]\nname = Tester\nemail = t@example.invalid\n[init]\ndefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_EDITOR", "true")

    def run(*arguments: str, cwd: Path | None = None, ok: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=cwd or Path.cwd(), capture_output=True, text=True)
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a workspace, as the current folder."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q")
    init(str(folder))
    (folder / "code.txt").write_text("code\n")
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    return folder


@pytest.fixture
def tracked_views(repository: Path, git: Git) -> None:
    """The repository tracks views, which it does not by default."""
    assert track_views(str(repository / ".state"))
    git("commit", "-q", "-a", "-m", "track views")
