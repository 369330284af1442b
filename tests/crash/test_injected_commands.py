"""Errors injected into any system call of a command, from the first one that a command can answer for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from holdfast.edge.cli import main
from holdfast.testing import scale

CLI = [sys.executable, "-B", "-c", "from holdfast.edge.cli import script; script()"]
CALLS = (
    "openat,newfstatat,statx,fstat,read,pread64,write,pwrite64,pwritev2,lseek,ftruncate,getdents64,"
    "mkdir,rename,unlink,link,readlink,flock,fsync,fdatasync,getcwd"
)
ERRORS = ("EIO", "EACCES", "EMFILE", "ENOSPC")
COMMANDS = (
    "status",
    "note kept",
    "note kept --json",
    "decide text --because why",
    "settle D-1 done",
    "start another",
    "brief",
    "resume",
    "who",
    "claim file.txt",
    "doctor",
    "doctor --fix",
    "heal",
    "recover",
    "sessions",
    "handoff bye",
    "complete",
    "verify",
    "search text",
    "sql SELECT(1)",
    "decisions",
    "why file.txt",
    "run -- true",
    "index",
    "order accept ORDER-001",
    "hook claude",
)
MORE = (
    *(
        "init",
        "pause",
        "continue",
        "switch",
        "archive list",
        "archive add",
        "archive prune --keep 0",
        "restore",
    ),
    *(
        "goal set other",
        "phase list",
        "task add step",
        "plan propose text",
        "checkpoint",
        "discuss topic",
        "return",
    ),
    *("do", "loop open why", "next add step", "blocker add stuck", "risk add rain", "error add broken"),
    *("message list", "ref add file.txt", "budget", "backlog add item", "order add rule", "fact add one two"),
    *("control list", "prefer", "agents-md", "log", "show D-1", "diff", "view STATE.md", "export state"),
    *("import nothing.md", "release file.txt", "validate", "lint", "sync", "schema commit", "install --list"),
    *(
        "batch list",
        "advise",
        "completion bash",
        "help",
        "help --all",
        "record x.own {}",
        "hook gemini",
        "--version",
    ),
)
"""All other commands, in torture; some are refused, which is an answer too."""
if scale.factor() > 1:
    COMMANDS = (*COMMANDS, *MORE)
SAMPLES = 4
SENTENCE = re.compile(r"holdfast: \S")
DENIED = re.compile(r"[Nn]othing was (stored|written|changed)")


def _strace(options: list[str], command: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    event = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": str(project), "prompt": "kept"}
    return subprocess.run(
        ["strace", *options, *CLI, *command],
        cwd=project,
        input=json.dumps(event) if command[0] == "hook" else "",
        capture_output=True,
        text=True,
        timeout=60,
    )


def _calls(project: Path, command: list[str], log: Path) -> list[tuple[str, int]]:
    """The calls that a command makes once its entry point is loaded: each by its name and its number of that name."""
    _strace(["-o", str(log), "-e", f"trace={CALLS}"], command, project)
    counts: dict[str, int] = {}
    found: list[tuple[str, int]] = []
    loaded = False
    for line in log.read_text().splitlines():
        name, bracket, _ = line.partition("(")
        if not bracket or (not name.isidentifier() and not name.isalnum()):
            continue
        counts[name] = counts.get(name, 0) + 1
        if loaded:
            found.append((name, counts[name]))
        # The first module that the entry point itself asks for.
        loaded = loaded or ("edge/hooks" if command[0] == "hook" else "holdfast/errors") in line
    return found


def _lines(project: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (project / ".state" / "events").rglob("*.jsonl"))


@pytest.mark.strace
@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_a_failing_call_of_a_command(project: Path, tmp_path: Path, command: str, lasting: bool) -> None:
    """Whatever call fails, once or from then on: one sentence and a status, no traceback, and no denial of a commit."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    (project / "file.txt").write_text("x")
    assert main(["start", "goal"]) == 0
    assert main(["decide", "text", "--because", "why"]) == 0
    words = command.split()
    work = tmp_path / "work"
    shutil.copytree(project, work, symlinks=True)
    calls = _calls(work, words, tmp_path / "log")
    assert len(calls) > 20
    random = Random(f"{scale.seed()} {command} {lasting}")
    for name, number in random.sample(calls, min(len(calls), scale.scaled(SAMPLES))):
        shutil.rmtree(work)
        shutil.copytree(project, work, symlinks=True)
        error = "ENOLCK" if name == "flock" else random.choice(ERRORS)
        before = _lines(work)
        fault = f"inject={name}:error={error}:when={number}{'+' if lasting else ''}"
        done = _strace(["-o", os.devnull, "-e", f"trace={name}", "-e", fault], words, work)
        _judge(done, words, before, _lines(work), fault)


def _judge(
    done: subprocess.CompletedProcess[str], command: list[str], before: int, after: int, fault: str
) -> None:
    said = done.stdout + done.stderr
    assert "Traceback" not in said, f"{fault}\n{said}"
    if command[0] == "hook":
        assert done.returncode == 0, f"{fault}\n{said}"
        return
    assert done.returncode in range(8), f"{fault}: status {done.returncode}\n{said}"
    lasting_write = "write:" in fault  # standard error itself fails
    if done.returncode and not lasting_write:
        assert (
            SENTENCE.search(done.stderr) or '"error"' in done.stdout or command[0] in ("doctor", "verify")
        ), f"{fault}\n{said}"
    if DENIED.search(said) and "Stored before that" not in said:
        assert after == before, f"{fault}: denied what was stored\n{said}"
