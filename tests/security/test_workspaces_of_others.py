"""A workspace that another user put into a parent folder is not taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge import hooks
from holdfast.errors import NoWorkspace
from holdfast.workspace import discovery
from holdfast.workspace.setup import init

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that everybody can write to, with a workspace; the current folder is below it."""
    folder = tmp_path / "shared"
    (folder / "mine").mkdir(parents=True)
    init(str(folder), given=True)
    folder.chmod(0o1777)
    monkeypatch.chdir(folder / "mine")
    return folder


def test_a_parent_that_everybody_can_write_to_is_not_searched(shared: Path) -> None:
    """Without the sticky bit anybody can have put the workspace there; with it, an own one is taken."""
    assert discovery.find(os.getcwd()) == str(shared / ".state")
    shared.chmod(0o777)
    with pytest.raises(NoWorkspace, match="every user can write to"):
        holdfast.open()
    with holdfast.open(shared) as workspace:
        workspace.start("named, so it is used")


@AS_ROOT
def test_a_workspace_of_another_user_is_not_taken(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither from below nor in the folder itself, unless it is named; the message says how."""
    os.chown(shared / ".state", 4711, 4711)
    for folder in (shared / "mine", shared):
        monkeypatch.chdir(folder)
        with pytest.raises(NoWorkspace, match="belongs to another user") as caught:
            holdfast.open()
        assert "HOLDFAST_URL" in str(caught.value.hint)
    monkeypatch.setenv("HOLDFAST_URL", str(shared))
    with holdfast.open() as workspace:
        assert workspace.sessions() == []


@AS_ROOT
def test_a_hook_writes_nothing_to_another_users_workspace(shared: Path) -> None:
    """A prompt does not reach a workspace that somebody left in the folder where the host was started."""
    os.chown(shared / ".state", 4711, 4711)
    for folder in (shared, shared / "mine"):
        assert hooks._handled("claude", *_event(folder)) == ""
    assert not list((shared / ".state").glob("events/sessions/*"))


def _event(folder: Path) -> tuple[Any, Any, str]:
    from holdfast.edge.hooks import hosts

    host = hosts.load("claude")
    payload = {
        "session_id": "s",
        "cwd": str(folder),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "private",
    }
    return host, host.read(payload, "UserPromptSubmit"), str(folder)
