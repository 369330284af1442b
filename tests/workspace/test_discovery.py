"""One discovery per command: the workspace, git and the user are found once, the stream is read once."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import Forbidden
from holdfast.fs import posix, symlinks
from holdfast.workspace import discovery


class Calls:
    """Counts the file calls of the port, by name and path relative to the project."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        for name in ("stat", "open", "names"):
            monkeypatch.setattr(posix, name, self._counted(name, getattr(posix, name), project))

    def _counted(self, name: str, call: Any, project: Path) -> Any:
        def counted(path: str, *more: Any) -> Any:
            writes = name == "open" and bool(more) and bool(more[0] & (os.O_WRONLY | os.O_RDWR))
            kind = "write" if writes else name
            self.counts[kind, os.path.relpath(path, project)] += 1
            return call(path, *more)

        return counted

    def of(self, kind: str, path: str) -> int:
        return self.counts[kind, path]


@pytest.fixture
def calls(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Counts the calls of one command in a git repository with a session that has decisions."""
    assert main(["start", "a goal"]) == 0
    for number in range(3):
        assert main(["decide", f"decision {number}", "--because", "it is needed"]) == 0
    monkeypatch.setattr(symlinks, "monotonic_ns", lambda: 0)
    return Calls(monkeypatch, repository)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HOLDFAST_USER", raising=False)
    for name in ("HOLDFAST_SESSION", "HOLDFAST_URL", "GIT_AUTHOR_NAME"):
        monkeypatch.delenv(name, raising=False)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "config", "user.name", "Ann"], check=True)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    return tmp_path


def test_a_command_discovers_once(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    """`decide` looks for git once and reads the user's name once."""
    assert main(["decide", "one more", "--because", "it is counted"]) == 0
    assert calls.of("stat", ".git") == 1
    assert calls.of("open", ".git/commondir") == 1
    assert calls.of("open", ".git/config") == 1


def test_a_write_reads_its_stream_once(calls: Calls, repository: Path) -> None:
    """If nothing is new, `decide` opens a segment once to read it, to copy the new line to its pin."""
    (folder,) = {
        segment.parent for segment in (repository / ".state" / "events" / "sessions").rglob("*.jsonl")
    }
    os.utime(folder, (0, 0))  # a folder that has just changed is listed again each time
    assert main(["decide", "one more", "--because", "it is counted"]) == 0
    (segment,) = (repository / ".state" / "events" / "sessions").rglob("*.jsonl")
    assert calls.of("open", str(segment.relative_to(repository))) == 1
    assert calls.of("names", str(segment.parent.relative_to(repository))) == 1


def test_every_folder_is_checked_for_links_once(calls: Calls, repository: Path) -> None:
    """The guard against links looks at each folder of the workspace once in a command."""
    assert main(["decide", "one more", "--because", "it is counted"]) == 0
    (state,) = (repository / ".state" / "sessions").rglob("state.json")
    session = state.parent.relative_to(repository)
    for folder in (
        ".state/local",
        ".state/local/snapshots",
        ".state/sessions",
        str(session.parent),
        str(session),
    ):
        assert calls.of("stat", folder) == 1, folder


def test_a_link_that_appears_later_is_rejected(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that passed is checked again after a second, and immediately when the workspace is opened."""
    clock = [0]
    monkeypatch.setattr(symlinks, "monotonic_ns", lambda: clock[0])
    outside = tmp_path_factory.mktemp("outside")
    with holdfast.open() as workspace:
        session = workspace.start("a goal")
        workspace.publish()
        folder = repository / ".state" / "sessions" / session.user
        folder.rename(outside / "moved")
        folder.symlink_to(outside / "moved")
        with holdfast.open() as another, pytest.raises(Forbidden, match="link"):
            another.store.get(f"{session.stream}/state.json")
        clock[0] += 1_000_000_000
        with pytest.raises(Forbidden, match="link"):
            workspace.store.get(f"{session.stream}/state.json")


def test_surroundings_of_a_worktree(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A worktree has its own top folder and git directory, and shares the common directory."""
    git = ["git", "-C", str(repository), "-c", "user.email=ann@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    other = tmp_path_factory.mktemp("worktrees") / "other"
    subprocess.run([*git, "worktree", "add", "-q", "--detach", str(other)], check=True)
    (other / "deep").mkdir()
    here, there = discovery.around(str(repository)), discovery.around(str(other / "deep"))
    assert here.repository is not None
    assert there.repository is not None
    assert here.repository.common == there.repository.common == str(repository / ".git")
    assert (here.top, there.top) == (str(repository), str(other))
    assert discovery.user_name({}, there.repository) == "ann"


def test_surroundings_without_git(tmp_path: Path) -> None:
    """Without a repository, the project's folder is its top, and the environment names the user."""
    found = discovery.around(str(tmp_path))
    assert found == discovery.Surroundings(str(tmp_path), None)
    assert found.top == str(tmp_path)
    assert discovery.user_name({"USER": "bob"}, None) == "bob"
