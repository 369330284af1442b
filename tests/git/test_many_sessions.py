"""Many sessions in one workspace: everyday commands read those they show, not all. Times are measured by the
benchmark (`python -m bench.sessions`); this counts opened files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from holdfast.edge.cli import main
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.workspace import Workspace

_opened: list[str] | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event in ("open", "os.listdir", "os.scandir"):
        _opened.append(str(arguments[0]))


sys.addaudithook(_hook)


class Unsynced(Wrapped):
    """The real calls without waiting for the disk: only for creating the sessions."""

    def sync(self, fd: int) -> None:
        pass

    def sync_folder(self, path: str) -> None:
        pass


def grow(repository: Path, count: int) -> None:
    store = FilesStore(str(repository / ".state"), clock=wall_clock, fs=Unsynced(posix))
    with Workspace(store, user="alice", by="alice") as workspace:
        for number in range(count):
            workspace.start(f"session {number}")
    for folder, _, _ in os.walk(repository / ".state" / "events"):
        os.utime(folder, (1e9, 1e9))  # long unchanged: the index looks again at one that has just changed


def opened(command: str) -> int:
    """How many files and folders of the workspace a command opens."""
    global _opened
    _opened = []
    try:
        assert main([command]) == 0
        return sum(".state" in path for path in _opened)
    finally:
        _opened = None


@pytest.mark.parametrize("command", ["sessions", "status", "resume"])
def test_more_sessions_open_no_more_files(
    repository: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 600 sessions a command opens about as many files as with 30: a page of them, or the current one."""
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    grow(repository, 30)
    main([command])
    few = opened(command)
    grow(repository, 570)
    main([command])
    many = opened(command)
    assert 0 < many <= few + 30  # a folder that has just changed is looked at again; not one file per session
