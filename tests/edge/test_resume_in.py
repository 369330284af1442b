"""``resume --in HOST``: the host is started in the project, with the brief, and without a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main

HOSTS = ("claude", "codex", "opencode", "gemini", "copilot")
HOSTILE = "Move $(touch owned) `touch owned`; touch owned | \"quotes\" 'and' \\ more"
_HOST = """#!{python}
import json, os, sys
with open({out!r}, "w") as file:
    json.dump({{"words": sys.argv, "folder": os.getcwd()}}, file)
"""


@pytest.fixture
def hosts(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs with the names of the hosts, which write down how they were started."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in HOSTS:
        program = folder / name
        program.write_text(_HOST.format(python=sys.executable, out=str(tmp_path / "started.json")))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with holdfast.open() as workspace:
        session = workspace.start("Move the tables")
        session.decide(HOSTILE, because="no way back", action="copy")
    return project


@pytest.mark.parametrize("host", HOSTS)
def test_the_host_gets_the_brief(host: str, hosts: Path, tmp_path: Path) -> None:
    """The process becomes the host, in the project's folder, with the brief as one argument that no shell sees."""
    below = hosts / "src"
    below.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "resume", "--in", host, "--", "--extra"],
        cwd=below,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    started = json.loads((tmp_path / "started.json").read_text())
    assert started["folder"] == str(hosts)
    assert started["words"][1] == "--extra"
    brief = started["words"][-1]
    assert "Move the tables" in brief
    assert "touch owned" in brief
    assert not list(tmp_path.rglob("owned"))


@pytest.mark.parametrize("host", HOSTS)
def test_shown_and_not_started(
    host: str, hosts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--print shows a command line that a shell takes as it is, and starts nothing."""
    assert main(["resume", "--in", host, "--print"]) == 0
    shown = capsys.readouterr().out
    assert not (tmp_path / "started.json").exists()
    subprocess.run(["sh", "-c", shown], check=True)
    started = json.loads((tmp_path / "started.json").read_text())
    assert "Move the tables" in started["words"][-1]
    assert not list(tmp_path.rglob("owned"))
    assert main(["resume", "--in", host, "--print", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["command"][0] == host


def test_a_hook_delivers_it(
    hosts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a working hook gives the brief, it is not given twice; a dead hook does not count."""
    program = Path(sys.executable).parent / "holdfast"
    settings = hosts / ".claude" / "settings.json"
    settings.parent.mkdir()

    def written(command: str) -> None:
        line = f"sh -c '{command} hook claude 2>/dev/null || :'"
        hook = {"hooks": [{"type": "command", "command": line}]}
        settings.write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))

    written(str(program))
    assert main(["resume", "--in", "claude", "--print", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["hooked"], found["command"]) == (True, ["claude"])
    written("/nowhere/holdfast")
    assert main(["resume", "--in", "claude", "--print", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hooked"] is False


def test_a_host_that_is_not_there(
    hosts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the program and how to install it; nothing is started."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["resume", "--in", "gemini"]) == 4
    assert "Gemini CLI is not installed: there is no gemini on PATH." in capsys.readouterr().err
    assert main(["resume", "--print"]) == 2
    assert main(["resume", "--in", "emacs"]) == 2
