"""An answer of the command line arrives, or its loss is told; it never denies what the command has done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main

CLI = [sys.executable, "-c", "from holdfast.edge.cli import script; script()"]


@pytest.fixture
def session(project: Path) -> holdfast.Session:
    with holdfast.open() as workspace:
        return workspace.start("grün ☃")


@pytest.mark.parametrize(
    "command", [["status"], ["resume"], ["log"], ["note", "ä → b"], ["decide", "ö", "--because", "ü"]]
)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode(session: holdfast.Session, encoding: str, command: list[str]) -> None:
    """What a terminal cannot show is shown by its code; the JSON object says the same as ever."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = subprocess.run([*CLI, *command], env=environment, capture_output=True)
    assert (shown.returncode, shown.stderr) == (0, b"")
    told = subprocess.run([*CLI, *command, "--json"], env=environment, capture_output=True)
    assert json.loads(told.stdout)["ok"] is True
    if command == ["status"]:
        assert json.loads(told.stdout)["state"]["goal"] == "grün ☃"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
def test_an_answer_that_cannot_be_written(session: holdfast.Session, option: list[str]) -> None:
    """A full disk behind the output is said in one sentence, and the commit is there."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*CLI, "note", "kept", *option], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 6
    assert done.stderr == "holdfast: The answer cannot be written: No space left on device.\n"
    assert holdfast.open().session().version == 2


def test_no_output_at_all(session: holdfast.Session) -> None:
    """Whoever closes the output gets none, and the commit is there."""
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *CLI, "note", "kept"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert holdfast.open().session().version == 2


def test_init_says_that_commands_look_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where HOLDFAST_URL is set, a new folder would not be used: init says so, and keeps the URL to itself."""
    monkeypatch.setenv("HOLDFAST_URL", f"sqlite:///{tmp_path}/secret.db")
    assert main(["init", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "HOLDFAST_URL is set" in shown
    assert "secret.db" not in shown
    monkeypatch.delenv("HOLDFAST_URL")
    assert main(["init", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
