"""Completion scripts, tried in the real shells."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.edge.cli import COMMANDS, load, main
from holdfast.edge.cli.completions import SHELLS


def shell(name: str) -> None:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script of a shell, as the command prints it."""
    name = request.param
    shell(name)
    assert main(["completion", name]) == 0
    path = tmp_path / f"holdfast.{name}"
    path.write_text(capsys.readouterr().out)
    return path


CASES = [
    ("reco", {"recover", "record"}),
    ("task ", {"add", "start", "done", "skip", "block", "unblock", "list"}),
    ("task ad", {"add"}),
    ("decide --beca", {"--because"}),
    ("task add --aft", {"--after"}),
    ("validate --format ", {"text", "sarif", "github"}),
    ("completion z", {"zsh"}),
    ("help recov", {"recover"}),
    ("--json decide --beca", {"--because"}),
    ("phase --session x en", {"enter"}),
]


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_bash(script: Path, typed: str, offered: set[str]) -> None:
    """The script has no syntax error, registers itself, and offers the right completions."""
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    words = typed.split(" ")
    listed = " ".join(f"'{word}'" for word in ["holdfast", *words])
    code = f"""source {script}; complete -p holdfast >/dev/null || exit 1
        COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _holdfast; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = set(done.stdout.split())
    assert offered <= found
    if not typed.endswith(" "):
        assert found == offered


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_fish(script: Path, typed: str, offered: set[str]) -> None:
    """fish itself reports its completions."""
    assert subprocess.run(["fish", "-n", script]).returncode == 0
    code = f'source {script}; complete -C "holdfast {typed}"'
    environment = {**os.environ, "HOME": str(script.parent)}
    done = subprocess.run(["fish", "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    found = {line.split("\t")[0] for line in done.stdout.splitlines()}
    assert offered <= found


def typed_into_zsh(script: Path, typed: str, wanted: str) -> str:
    """What a terminal shows after zsh has completed the words."""
    master, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "HOME": str(script.parent), "PS1": "> "}
    started = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        start_new_session=True,
    )
    os.close(terminal)
    os.write(master, f"autoload -Uz compinit; compinit -u -D; source {script}; echo re''ady\n".encode())
    shown, sent, deadline = b"", False, time.monotonic() + 30
    with contextlib.suppress(OSError):  # the terminal is gone once the shell is
        while time.monotonic() < deadline and wanted.encode() not in shown.partition(b"\nready")[2]:
            if not select.select([master], [], [], 0.2)[0]:
                continue
            shown += os.read(master, 4096)
            if not sent and b"\nready" in shown:
                os.write(master, f"holdfast {typed}\t".encode())
                sent = True
    started.kill()
    started.wait()
    os.close(master)
    return shown.decode(errors="replace")


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("recov", "recover "),
        ("task unb", "unblock "),
        ("decide --beca", "--because "),
        ("completion z", "zsh "),
    ],
)
def test_zsh(script: Path, typed: str, wanted: str) -> None:
    """A tab in an interactive zsh completes the word."""
    assert subprocess.run(["zsh", "-n", script]).returncode == 0
    assert wanted in typed_into_zsh(script, typed, wanted)


@pytest.mark.parametrize("name", SHELLS)
def test_every_command_and_verb_is_in_each_script(name: str) -> None:
    """The scripts are generated from the table of commands, so none is missing."""
    text = SHELLS[name]()
    for command in COMMANDS:
        assert command in text
        assert all(verb in text for verb in load(command).verbs or ())
