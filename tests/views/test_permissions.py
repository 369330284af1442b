"""Permissions that a person gave to a file of ours survive its rewriting."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main

VIEWS = ("STATE.md", "state.json")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("given", [0o600, 0o640, 0o664, 0o444])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_keeps_its_mode(project: Path, name: str, given: int) -> None:
    """A view that a person made private, public or read-only has the same mode after the next command."""
    with holdfast.open() as workspace:
        session = workspace.start("keep it to us")
    path = project / ".state" / session.stream / name
    path.chmod(given)
    before = path.read_bytes()
    assert main(["note", "more"]) == 0
    assert path.read_bytes() != before
    assert mode(path) == given


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("handoff/latest.md", ["handoff", "over to you"]),
        (".continue-here.md", ["pause", "for today"]),
        ("AGENTS.md", ["handoff", "over to you"]),
    ],
)
def test_a_page_keeps_its_mode(project: Path, name: str, command: list[str]) -> None:
    """Pages in the project keep the mode that a person gave them."""
    with holdfast.open() as workspace:
        workspace.start("keep it to us")
    assert main(["agents-md"]) == 0
    assert main(command) == 0
    (project / name).chmod(0o600)
    before = (project / name).read_bytes()
    assert main(["goal", "set", "another one"]) == 0
    assert main(command) == 0
    assert (project / name).read_bytes() != before
    assert mode(project / name) == 0o600


def test_a_new_view_follows_the_umask(project: Path) -> None:
    """For a new file, the umask applies as usual."""
    before = os.umask(0o077)
    try:
        with holdfast.open() as workspace:
            session = workspace.start("closed by default")
    finally:
        os.umask(before)
    assert mode(project / ".state" / session.stream / "STATE.md") == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_view_keeps_its_owner(project: Path) -> None:
    """A view that root rewrites keeps its owner."""
    with holdfast.open() as workspace:
        session = workspace.start("run by root")
    path = project / ".state" / session.stream / "STATE.md"
    os.chown(path, 12345, 23456)
    assert main(["note", "more"]) == 0
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)
