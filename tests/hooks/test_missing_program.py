"""The very command lines of the written settings, run as the hosts run them, where holdfast is missing or broken."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.edge.install import jsonc
from holdfast.edge.install.run import install
from holdfast.edge.install.targets import HOSTS, Place, targets
from holdfast.packages import hosts as tables

SHELLS = [name for name in ("sh", "bash", "dash", "zsh", "fish", "busybox") if shutil.which(name)]
SYSTEM = os.pathsep.join(
    folder
    for folder in ("/usr/local/bin", "/usr/bin", "/bin")
    if not os.path.exists(os.path.join(folder, "holdfast"))
)
"""A PATH with the shells and without holdfast."""
PAYLOAD = json.dumps({"session_id": "s", "hook_event_name": "SessionStart", "prompt": "hello"})
LINES = ("command", "bash")


def forms(line: str) -> Iterator[list[str]]:
    """The ways in which hosts start a command line: by a shell, by a login shell, and without one."""
    for shell in SHELLS:
        words = ["busybox", "sh"] if shell == "busybox" else [shell]
        yield [*words, "-c", line]
    yield ["bash", "-lc", line]
    yield shlex.split(line)


def run(words: list[str], folder: str, path: str = SYSTEM) -> tuple[int, str, str]:
    """Start a hook as a host does, with its payload on standard input."""
    home = os.path.join(folder, "no-home")  # nobody's start-up files
    done = subprocess.run(
        words,
        input=PAYLOAD,
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": path, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home},
        timeout=30,
    )
    said = done.stdout, "".join(s for s in done.stderr.splitlines(True) if not _of_fish(s))
    return done.returncode, *said


def _of_fish(line: str) -> bool:
    """What fish itself says about a home that does not exist."""
    return line.startswith(("warning: ", "error: can not save history"))


def written(place: Place, host: str) -> list[str]:
    """All command lines of a host's hooks, from the files that were written."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(value[name] for name in LINES if isinstance(value.get(name), str))
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    for target in targets(host, place, "holdfast"):
        if target.kind == "json":
            walk(jsonc.parse(Path(target.path).read_text()).value.get("hooks", {}))
    assert len(found) == len(tables.HOOKS["copilot" if host == "vscode" else host])
    return sorted(set(found))


def at(project: Path, tmp_path: Path, program: Path | None) -> Place:
    """A project whose holdfast is the given program; None: the one on PATH."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    if program is None:
        program = programs / "holdfast"
        environment = {"PATH": str(programs)}
    else:
        environment = {"PATH": str(tmp_path / "nowhere")}
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{SOURCE}" exec "{sys.executable}" -m holdfast "$@"\n')
    program.chmod(0o755)
    return Place(False, str(project), str(home), environment)


SOURCE = Path(tables.__file__).parents[2]
with_hooks = pytest.mark.parametrize("host", [host for host in HOSTS if host != "opencode"])


@with_hooks
def test_a_program_that_is_not_on_path(host: str, project: Path, tmp_path: Path) -> None:
    """Settings from a colleague, on a machine without holdfast: status 0 and not a word, however they are run."""
    place = at(project, tmp_path, None)
    install([host], place)
    for line in written(place, host):
        for words in forms(line):
            assert run(words, str(tmp_path)) == (0, "", ""), words


@with_hooks
@pytest.mark.parametrize("name", ["venv", 'a venv; it\'s "mine" $HOME'])
def test_an_environment_that_is_gone(
    host: str, name: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The virtual environment was deleted, or only its interpreter: status 0 and not a word."""
    program = tmp_path / name / "bin" / "holdfast"
    place = at(project, tmp_path, program)
    monkeypatch.setattr("sys.executable", str(program.with_name("python")))
    install([host], place)
    (line,) = written(place, host)
    for broken in ("#!/no/such/interpreter\n", "#!/bin/sh\necho Traceback >&2; exit 1\n"):
        program.write_text(broken)
        for words in forms(line):
            assert run(words, str(tmp_path)) == (0, "", ""), words
    shutil.rmtree(tmp_path / name)
    for words in forms(line):
        assert run(words, str(tmp_path)) == (0, "", ""), words


@with_hooks
@pytest.mark.parametrize("name", ["", 'a venv; it\'s "mine" $HOME'])
def test_the_program_is_called_where_it_exists(
    host: str, name: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every form of start, the real program gets the payload and its answer reaches the host."""
    program = tmp_path / name / "bin" / "holdfast" if name else None
    place = at(project, tmp_path, program)
    if program is not None:
        monkeypatch.setattr("sys.executable", str(program.with_name("python")))
    install([host], place)
    found = tmp_path / "found"
    (program or tmp_path / "bin" / "holdfast").write_text(
        f'#!/bin/sh\necho "$@" >> {shlex.quote(str(found))}\ncat\n'
    )
    (line,) = written(place, host)
    path = os.pathsep.join([str(tmp_path / "bin"), SYSTEM])
    called = [run(words, str(tmp_path), path) for words in forms(line) if "-lc" not in words]
    assert called == [(0, PAYLOAD, "")] * len(called)
    named = "copilot" if host == "vscode" else host
    assert found.read_text().splitlines() == [f"hook {named}"] * len(called)


def test_a_hook_answers_through_its_line(project: Path, tmp_path: Path) -> None:
    """The line of Claude Code's settings, run in a project with a goal: the brief comes back."""
    place = at(project, tmp_path, None)
    install(["claude"], place)
    path = os.pathsep.join([str(tmp_path / "bin"), SYSTEM])
    subprocess.run(
        [tmp_path / "bin" / "holdfast", "start", "Move the tables"],
        cwd=project,
        check=True,
        capture_output=True,
    )
    (line,) = written(place, "claude")
    status, said, error = run(["sh", "-c", line], str(project), path)
    assert (status, error) == (0, "")
    assert "Move the tables" in said
