"""What git ignores: everything local, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main

DIES = """
import os, sys
sys.path[:0] = {path!r}
from holdfast.fs import posix
real = posix.rename
def rename(*arguments):
    if arguments[-1].endswith({name!r}):
        os.kill(os.getpid(), 9)
    return real(*arguments)
posix.rename = rename
from holdfast.edge.cli import main
sys.exit(main({command!r}))
"""


@pytest.mark.usefixtures("tracked_views")
@pytest.mark.parametrize("user", ["local", "history", "events"])
def test_a_user_of_any_name_is_in_git(repository: Path, git, monkeypatch, user: str) -> None:
    """A user named like one of our folders has segments and views that git sees."""
    monkeypatch.setenv("HOLDFAST_USER", user)
    assert main(["start", "goal"]) == 0
    seen = git("status", "--porcelain", "-uall")
    assert f"events/sessions/{user}/" in seen
    assert f"sessions/{user}/" in seen
    assert "STATE.md" in seen


def test_doctor_reports_segments_that_git_ignores(repository: Path, git, capsys) -> None:
    """A pattern of the project that keeps segments out of git is reported: no clone would ever have them."""
    with holdfast.open() as workspace:
        workspace.start("goal")
    assert main(["doctor"]) == 0
    assert "ignores" not in capsys.readouterr().out
    (repository / ".gitignore").write_text("*.jsonl\n")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "git ignores it" in said
    assert "git check-ignore -v" in said


def test_a_workspace_that_is_ignored_as_a_whole_is_meant_so(repository: Path, git, capsys) -> None:
    """A workspace that is ignored on purpose is not reported by every doctor."""
    git("rm", "-q", "-r", "--cached", ".state")
    (repository / ".gitignore").write_text(".state/\n")
    with holdfast.open() as workspace:
        workspace.start("goal")
    assert main(["doctor"]) == 0
    assert "ignores" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("latest.md", ["handoff", "over to you"]),
        (".continue-here.md", ["pause", "later"]),
        ("AGENTS.md", ["agents-md"]),
        ("STATE.md", ["note", "text"]),
    ],
)
def test_a_write_that_died_leaves_nothing_for_git(
    repository: Path, git, name: str, command: list[str]
) -> None:
    """Git does not see the temp file of a page that was being written, and doctor removes it later."""
    with holdfast.open() as workspace:
        workspace.start("goal")
    program = DIES.format(path=sys.path, name=name, command=command)
    done = subprocess.run([sys.executable, "-c", program])
    assert done.returncode == -signal.SIGKILL
    assert "tmp" not in git("status", "--porcelain", "-uall")
    left = [path for path in repository.rglob(".*.tmp-*") if ".git" not in path.parts]
    assert len(left) == 1
    os.utime(left[0], (0, 0))
    assert main(["doctor", "--fix"]) == 0
    assert not left[0].exists()


def test_git_never_sees_temp_files_of_init(tmp_path: Path, git, monkeypatch) -> None:
    """The ignore file is written before anything else."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    program = DIES.format(path=sys.path, name="README.md", command=["init"])
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    assert "tmp-" not in git("status", "--porcelain", "-uall")
