"""``holdfast.checkpoint``: one line for any script."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import NoSession


def saved() -> dict[str, Any]:
    with holdfast.open() as workspace:
        checkpoint: dict[str, Any] = workspace.session().state["checkpoint"]
        return checkpoint


def test_it_saves_into_the_current_session(project: Path) -> None:
    """Message, tools and fields are in the current session."""
    with holdfast.open() as workspace:
        workspace.start("Ship it")
    assert (
        holdfast.checkpoint("Found 5 patterns", tools=["Read", "Grep"], pending=["write"], by="my-agent")
        is True
    )
    found = saved()
    assert (found["message"], found["tools"], found["pending"]) == (
        "Found 5 patterns",
        ["Read", "Grep"],
        ["write"],
    )
    assert found["by"] == "my-agent"


def test_it_finds_the_project_from_a_folder_inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any folder below the project will do."""
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert holdfast.checkpoint("from inside") is True
    assert saved()["message"] == "from inside"


def test_it_finds_the_project_of_the_script(project: Path, tmp_path: Path) -> None:
    """A script that is run from elsewhere finds its own project."""
    script = project / "tools" / "step.py"
    script.parent.mkdir()
    script.write_text("import holdfast\nprint(holdfast.checkpoint('by script'))\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(holdfast.__file__).parents[1])}
    ran = subprocess.run(
        [sys.executable, script], cwd=elsewhere, env=environment, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("True\n", "")
    assert saved()["message"] == "by script"


def test_without_a_session_one_is_started_and_used_again(project: Path) -> None:
    """A script's checkpoint is not lost if no session was started; the second call joins the first."""
    with holdfast.open() as workspace, pytest.raises(NoSession):
        workspace.session()
    assert holdfast.checkpoint("one") is True
    assert holdfast.checkpoint("two") is True
    with holdfast.open() as workspace:
        assert len(workspace.sessions()) == 1
    assert saved()["message"] == "two"


def test_without_a_workspace_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is False, the folder stays empty, and the log says why."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "script.py")])
    with caplog.at_level(logging.INFO, logger="holdfast"):
        assert holdfast.checkpoint("nowhere") is False
    assert list(tmp_path.iterdir()) == []
    assert "no workspace" in caplog.text


@pytest.mark.parametrize(
    ("message", "more"),
    [("", {}), (None, {}), ("x", {"unknown": 1}), ("x", {"tools": 7}), ("x", {"pending": [object()]})],
)
def test_what_cannot_be_saved_is_false_and_never_raises(
    project: Path, message: Any, more: dict[str, Any]
) -> None:
    """Wrong arguments do not break the script, and nothing is saved."""
    with holdfast.open() as workspace:
        workspace.start("Ship it")
    assert holdfast.checkpoint(message, **more) is False
    assert saved() is None


def test_a_damaged_workspace_gives_false(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing session, a missing engine, and a missing folder."""
    assert holdfast.checkpoint("x", session="2020-01-01-aaaaaaaa") is False
    assert holdfast.checkpoint("x", where="nosuch://host/db") is False
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "argv", [str(project / "script.py")])
    assert holdfast.checkpoint("from a folder that is gone") is True
