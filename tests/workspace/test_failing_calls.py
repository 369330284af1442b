"""A command that fails at any file call tells the truth about what was stored."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import HoldfastError, UnknownOutcome
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.crash.states import remove_tree, scratch_base
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.workspace import scaffold, upkeep
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.workspace import Workspace


class FailsAt(Wrapped):
    """A file system of which one call fails, and if it is ``broken`` every later one."""

    def __init__(self, number: int, *, broken: bool) -> None:
        super().__init__(posix)
        self.left = number
        self.broken = broken
        self.armed = False

    def around(self, call: str, path: str, perform: Any) -> Any:
        if self.armed and call not in ("close", "unlock"):
            self.left -= 1
            if self.left == 0 or (self.broken and self.left < 0):
                raise OSError(28, os.strerror(28))
        return perform()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory: nothing here is about power cuts."""
    folder = tempfile.mkdtemp(prefix="holdfast-failing-", dir=scratch_base())
    yield Path(folder)
    remove_tree(folder)


def versions(folder: Path) -> dict[str, int]:
    with holdfast.open(folder, user="ada") as workspace:
        names = {*workspace.store.streams(), *(session.stream for session in upkeep.archived(workspace))}
        found = {name: workspace.store.read(name).version for name in names}
    return {name: version for name, version in found.items() if version}


COMMANDS: dict[str, Callable[[Workspace, str], object]] = {
    "start": lambda workspace, put_away: workspace.start("new"),
    "note": lambda workspace, put_away: workspace.session().note("text"),
    "archive": lambda workspace, put_away: upkeep.archive(workspace),
    "restore": lambda workspace, put_away: upkeep.restore(workspace, put_away),
}


@pytest.mark.parametrize("broken", [False, True], ids=["once", "for-good"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_said_of_the_outcome_is_true(place: Path, command: str, broken: bool) -> None:
    """Whatever file call fails: "nothing was stored" is said only if nothing was, and success only if something was."""
    step = 1 if command in ("start", "note") else 4
    for number in count(1, step):
        folder = place / str(number)
        scaffold.create(str(folder / ".state"))
        with holdfast.open(folder, user="ada") as workspace:
            old = workspace.start("old").name
            upkeep.archive(workspace, old)
            workspace.start("current").note("text")
        before = versions(folder)
        fs = FailsAt(number, broken=broken)
        workspace = Workspace(
            FilesStore(str(folder / ".state"), clock=wall_clock, fs=fs), user="ada", by="ada"
        )
        fs.armed = True
        said = ""
        try:
            COMMANDS[command](workspace, old)
        except HoldfastError as error:
            said = error.message
            unknown = isinstance(error, UnknownOutcome)
        fs.armed = False
        after = versions(folder)
        if not said:
            assert after != before
        elif after != before:
            assert "nothing was" not in said
            assert unknown or "archived" in said or "current" in said
        if fs.left > 0:
            return
