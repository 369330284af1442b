"""Checks of many streams: in several processes, with the same findings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import progress

PROGRAM = """
import os, sys, holdfast
from holdfast.checks.validate import validate_workspace
from holdfast.recovery import fsck
from holdfast.store import forked
forked.FEWEST = int(sys.argv[2])
steps, real, own = set(), fsck.check_stream, os.getpid()
def check_stream(*given, **named):
    if os.getpid() != own and sys.argv[3] == "killed":
        os.kill(os.getpid(), 9)
    return real(*given, **named)
fsck.check_stream = check_stream
forked.watching = lambda what, done, total: steps.add((what, done <= total))
with holdfast.open(sys.argv[1]) as workspace:
    assert forked.can_fork(40) == (forked.FEWEST < 40)
    for fault in workspace.doctor():
        print(fault.kind, fault.where, fault.what)
    for finding in validate_workspace(workspace):
        print(finding)
assert len(steps) == 4, steps
"""


@pytest.fixture
def damaged(project: Path) -> Path:
    """A workspace of forty sessions, one with a flipped byte and one with a line that is cut off."""
    with holdfast.open(project) as workspace:
        streams = []
        for number in range(40):
            session = workspace.start(f"Goal {number}")
            session.note("a note\n" * 9)
            streams.append(session.stream)
    for stream, change in ((streams[3], b"X"), (streams[30], b"")):
        (segment,) = (project / ".state" / "events" / stream).glob("*.jsonl")
        data = bytearray(segment.read_bytes())
        data[200:201] = change
        segment.write_bytes(data if change else segment.read_bytes()[:-9])
    return project


def test_several_processes_find_what_one_finds(damaged: Path) -> None:
    """Damage is found by whichever process reads it, and also if these processes are killed."""
    said = []
    for fewest, killed in (("1000", ""), ("2", ""), ("2", "killed")):
        argv = [sys.executable, "-c", PROGRAM, str(damaged), fewest, killed]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert "checksum" in said[0]
    assert said[0] == said[1] == said[2]


def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    """A program that is killed while others read for it leaves none of them behind."""
    program = (
        "import os, sys\n"
        "from holdfast.store import forked\n"
        "forked.FEWEST = 2\n"
        "def act(batch):\n"
        "    os.write(1, f'{os.getpid()}\\n'.encode())\n"
        "    return bytes(3_000_000)\n"
        "for _ in forked.in_batches(list(range(400)), 2, act):\n"
        "    sys.stdin.read()\n"
    )
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        running.kill()
        # All of them hold the pipe: it ends when the last is gone.
        others = running.stdout.readlines()
    assert int(first) != running.pid
    assert running.pid not in map(int, others)


def test_a_bar_shows_how_far_a_check_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, after a moment; it is removed at the end. Nowhere else."""
    arguments = type("Arguments", (), {"json": False})()
    assert progress.progress_bar(arguments) is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    show = progress.progress_bar(arguments, after=0)
    assert show is not None
    show("Checking the log of", 500, 2_000)
    show("Checking the log of", 2_000, 2_000)
    assert (
        capsys.readouterr().err
        == "\r\x1b[K██████░░░░░░░░░░░░░░░░░░ Checking the log of 500 of 2,000 streams\r\x1b[K"
    )
