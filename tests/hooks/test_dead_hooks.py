"""`doctor` finds settings whose holdfast does not run, with the fix; it runs nothing that a project names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.edge.cli import main
from holdfast.edge.install.health import dead_hooks
from holdfast.edge.install.run import install
from holdfast.edge.install.targets import HOSTS, Place, targets

WORKS = "#!/bin/sh\necho holdfast 0.1.0\n"


def script(path: Path, text: str = WORKS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def place(project: Path, tmp_path: Path) -> Place:
    """A project and a home, with the command on PATH."""
    program = script(tmp_path / "bin" / "holdfast")
    (tmp_path / "home").mkdir()
    return Place(False, str(project), str(tmp_path / "home"), {"PATH": str(program.parent)})


def said(place: Place) -> list[tuple[str, str, str]]:
    """Where, what, and what to do."""
    from holdfast.edge.cli.hints import text

    assert all(fault.harmless for fault in dead_hooks(place))
    return [(fault.where, fault.what, text(fault.action)) for fault in dead_hooks(place)]


@pytest.mark.parametrize("user", [False, True])
@pytest.mark.parametrize("host", HOSTS)
def test_the_program_is_gone(host: str, user: bool, place: Place, tmp_path: Path) -> None:
    """Each file of each host is named, with the command that fixes it; while the program works, none is."""
    here = place._replace(user=user)
    install([host], here)
    assert said(place) == []
    (tmp_path / "bin" / "holdfast").unlink()
    option = " --user" if user else ""
    found = said(place)
    assert len(found) == len(targets(host, here, "holdfast"))
    for where, what, action in found:
        assert where.startswith("~/") is user
        assert what == f"{host} calls holdfast, which is not on PATH"
        assert action == f"`holdfast install {host}{option}` writes a command that works"


def test_the_environment_is_gone(place: Place, tmp_path: Path) -> None:
    """The path of a deleted environment, and a script whose interpreter was deleted."""
    program = script(tmp_path / "it's a venv" / "bin" / "holdfast")
    (tmp_path / "it's a venv" / "pyvenv.cfg").write_text("")
    away = place._replace(environment={"PATH": str(program.parent)})
    install(["claude"], away)
    assert said(place) == []
    script(program, "#!/no/such/python -I\n")
    (first, _) = said(place)
    assert first[:2] == (
        ".claude/settings.json",
        f"claude calls {program}, which needs /no/such/python, which does not exist",
    )
    shutil.rmtree(tmp_path / "it's a venv")
    assert {what for _, what, _ in said(place)} == {f"claude calls {program}, which does not exist"}


def test_a_bare_name_that_only_an_active_environment_has(place: Place, tmp_path: Path) -> None:
    """It works in this shell and not in a host that was started elsewhere."""
    install(["gemini"], place)
    shutil.move(tmp_path / "bin", tmp_path / "venv" / "bin")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    active = place._replace(environment={"PATH": str(tmp_path / "venv" / "bin")})
    ((_, what, _),) = said(active)
    assert what.endswith(f"is on PATH only while the virtual environment {tmp_path / 'venv'} is active")
    install(["gemini"], active)
    assert said(active) == []


def test_a_program_that_fails(place: Place, tmp_path: Path) -> None:
    """A script that starts and fails is dead too; the last line of its complaint is shown."""
    install(["codex"], place)
    script(
        tmp_path / "bin" / "holdfast", "#!/bin/sh\necho 'Traceback:\nNo module named holdfast' >&2\nexit 1\n"
    )
    assert {what for _, what, _ in said(place)} == {
        "codex calls holdfast, which fails with status 1: No module named holdfast"
    }


def test_nothing_that_a_project_names_is_run(place: Place, tmp_path: Path) -> None:
    """A cloned repository cannot make `doctor` run its own program; the person's own settings can."""
    trap = tmp_path / "sprung"
    program = script(tmp_path / "theirs" / "holdfast", f"#!/bin/sh\ntouch {trap}\nexit 1\n")
    line = f"{program} hook claude"
    settings: dict[str, Any] = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}}
    for path in (Path(place.project, ".claude", "settings.json"), Path(place.project, ".mcp.json")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(settings))
    assert said(place) == []
    assert not trap.exists()
    mine = Path(place.home, ".claude", "settings.local.json")
    mine.parent.mkdir()
    mine.write_text(json.dumps(settings))
    ((where, what, action),) = said(place)
    assert (where, trap.exists()) == ("~/.claude/settings.local.json", True)
    assert what == f"claude calls {program}, which fails with status 1"
    assert action == "`holdfast install claude --user` writes a command that works"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"hooks": 7}', '{"hooks": {"Stop": [7, {"hooks": 7}]}}', "\udcff"]
)
def test_files_that_are_not_settings(text: str, place: Place) -> None:
    """What cannot be read as settings calls nothing."""
    for host in HOSTS:
        for target in targets(host, place, "holdfast"):
            path = Path(target.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert said(place) == []


def test_doctor_says_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a person sees it: a note with the remedy. The memory is not damaged, so the status is 0."""
    install(["gemini"], place)
    (tmp_path / "bin" / "holdfast").unlink()
    monkeypatch.chdir(place.project)
    monkeypatch.setenv("HOME", place.home)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert (
        "note  .gemini/settings.json: gemini calls holdfast, which is not on PATH (`holdfast install gemini` "
        in shown
    )
    assert main(["doctor", "--json"]) == 0
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert (fault["kind"], fault["data"]["host"]) == ("dead-hook", "gemini")
