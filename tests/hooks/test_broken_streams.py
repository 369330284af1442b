"""Hooks whose standard streams are closed, full, held open or never read, and hooks that are interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import errors

CLI = [sys.executable, "-c", "from holdfast.edge.cli import script; script()"]
HOOK = [*CLI, "hook", "claude", "UserPromptSubmit"]


def payload(project: Path, prompt: str) -> bytes:
    event = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": str(project), "prompt": prompt}
    return json.dumps(event).encode()


def recorded(project: Path, prompt: str) -> bool:
    """Whether a prompt is in the log."""
    return any(prompt in path.read_text() for path in (project / ".state" / "events").rglob("*.jsonl"))


@pytest.mark.parametrize(
    "ends", [">&-", ">/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full", "2>&-", "| true", "| sleep 0"]
)
def test_nobody_takes_the_answer(started: Path, ends: str) -> None:
    """With its output closed, full or a pipe without a reader, a hook exits with 0 and has recorded the event."""
    command = ["bash", "-c", f'set -o pipefail; "$@" {ends}', "bash", *HOOK]
    done = subprocess.run(command, input=payload(started, "MARK-A"), cwd=started, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert recorded(started, "MARK-A")


def test_standard_input_is_closed(started: Path) -> None:
    """Without standard input there is no event; the status is 0 and no file of the store gets its number."""
    command = ["bash", "-c", '"$@" <&-', "bash", *CLI, "hook", "claude", "SessionStart"]
    done = subprocess.run(command, cwd=started, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"MARK-7" in done.stdout


def test_a_pipe_that_nobody_reads(started: Path) -> None:
    """A pipe that is full and never read: the event is recorded and the hook ends within its time limit."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65_536)
    os.set_blocking(writer, True)
    hook = [*CLI, "hook", "claude", "SessionStart"]
    done = subprocess.run(hook, input=payload(started, ""), stdout=writer, stderr=subprocess.PIPE, timeout=30)
    os.close(reader)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_standard_input_is_held_open_after_the_payload(started: Path) -> None:
    """A host that does not close standard input: the whole payload is enough, and the hook does not wait for more."""
    process = subprocess.Popen(HOOK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=started)
    assert process.stdin is not None
    process.stdin.write(payload(started, "MARK-B"))
    process.stdin.flush()
    assert process.wait(30) == 0
    process.communicate()
    assert recorded(started, "MARK-B")
    assert errors(started) == ""


def test_standard_input_is_held_open_without_data(started: Path) -> None:
    """A host that never writes: the named event is answered within the time limit, and the log says why."""
    hook = [*CLI, "hook", "claude", "SessionStart"]
    process = subprocess.Popen(hook, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=started)
    assert process.stdout is not None
    said = process.stdout.read()
    assert process.wait(30) == 0
    process.communicate()
    assert b"MARK-7" in said
    assert "standard input stayed open" in errors(started)


def test_an_interrupt_while_the_payload_is_awaited(started: Path) -> None:
    """Ctrl-C reaches a host's hooks too: the event is recorded all the same, with status 0 and no traceback."""
    process = subprocess.Popen(
        HOOK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=started
    )
    status = Path(f"/proc/{process.pid}/status")
    until = time.monotonic() + 20
    while not _ignores_interrupts(status) and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(payload(started, "MARK-C"), timeout=30)
    assert (process.returncode, said) == (0, b"")
    assert recorded(started, "MARK-C")


def _ignores_interrupts(status: Path) -> bool:
    mask = next(line for line in status.read_text().splitlines() if line.startswith("SigIgn"))
    return bool(int(mask.split()[1], 16) >> (signal.SIGINT - 1) & 1)


def test_a_folder_that_is_gone(started: Path, tmp_path: Path) -> None:
    """A hook in a folder that was removed: status 0, no traceback."""
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["bash", "-c", 'rmdir "$PWD"; "$@"', "bash", *CLI, "hook", "claude", "Stop"]
    done = subprocess.run(command, cwd=gone, input=b"{}", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
