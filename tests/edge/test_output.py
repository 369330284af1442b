"""Output of the command line arrives, or its loss is reported; it never denies what the command has done."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge import render
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
    """What a terminal cannot show is shown as its code; the JSON object is the same as ever."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = subprocess.run([*CLI, *command], env=environment, capture_output=True)
    assert (shown.returncode, shown.stderr) == (0, b"")
    told = subprocess.run([*CLI, *command, "--json"], env=environment, capture_output=True)
    assert json.loads(told.stdout)["ok"] is True
    if command == ["status"]:
        assert json.loads(told.stdout)["state"]["goal"] == "grün ☃"


@pytest.mark.skipif(
    sys.platform != "linux" and not os.path.exists("/dev/full"), reason="this system has no /dev/full"
)
@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
def test_an_answer_that_cannot_be_written(session: holdfast.Session, option: list[str]) -> None:
    """A full disk on output is reported in one sentence, and the commit is stored."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*CLI, "note", "kept", *option], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 6
    assert done.stderr == "holdfast: The answer cannot be written: No space left on device.\n"
    assert holdfast.open().session().version == 2


def test_no_output_at_all(session: holdfast.Session) -> None:
    """With a closed output nothing is printed, and the commit is stored."""
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *CLI, "note", "kept"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert holdfast.open().session().version == 2


def test_init_warns_that_commands_use_another_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If HOLDFAST_URL is set, a new folder would not be used: init says so, without repeating the URL."""
    monkeypatch.setenv("HOLDFAST_URL", f"sqlite:///{tmp_path}/secret.db")
    assert main(["init", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "HOLDFAST_URL is set" in shown
    assert "secret.db" not in shown
    monkeypatch.delenv("HOLDFAST_URL")
    assert main(["init", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_columns_align_with_their_heads_in_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours have no width: a table looks the same with and without them."""
    rows = [("alive", "ann", "src"), ("gone", "bob", "")]
    plain = render.table(rows, ("", "who", "claims"))
    monkeypatch.setattr(render, "colours", lambda: True)
    painted = [
        (render.paint(state, style), *rest)
        for (state, *rest), style in zip(rows, ("green", "dim"), strict=True)
    ]
    assert re.sub(r"\x1b\[[0-9]*m", "", render.table(painted, ("", "who", "claims"))) == plain


@pytest.mark.parametrize("columns", ["0", "wide", "-3", ""])
def test_help_on_a_terminal_of_unknown_width(columns: str) -> None:
    """Help has its usual width on a terminal of unknown width."""
    environment = {**os.environ, "COLUMNS": columns}
    done = subprocess.run([*CLI, "claim", "--help"], env=environment, capture_output=True, text=True)
    assert "usage: holdfast claim [-h] [--anyway] [--json]" in done.stdout


def test_help_on_a_terminal_that_reports_no_columns() -> None:
    """A terminal without a size, as inside `script`, gets help of the usual width."""
    master, terminal = pty.openpty()
    done = subprocess.Popen([*CLI, "claim", "--help"], stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone once the last of it was read
        while part := os.read(master, 4096):
            shown += part
    os.close(master)
    assert done.wait() == 0
    assert b"usage: holdfast claim [-h] [--anyway] [--json]" in shown
