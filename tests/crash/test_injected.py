"""Errors injected into the system calls of a real process, end to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing.crash.harness import STREAM
from holdfast.testing.crash.run import opener
from holdfast.testing.crash.workload import append, heard, verify

_CHILD = """
import sys
from holdfast.errors import HoldfastError
from holdfast.testing.crash.run import opener
from holdfast.testing.crash.workload import append, report
store = opener("files")(sys.argv[1])
failed = 0
for number in range(3):
    try:
        report(1, append(store, sys.argv[2], f"child.{number}"))
    except HoldfastError as error:
        failed += 1
        print(type(error).__name__, error, file=sys.stderr)
sys.exit(9 if failed else 0)
"""

CASES = [
    (call, error, when)
    for call, error in (
        ("fdatasync", "EIO"),
        ("fdatasync", "ENOSPC"),
        ("fsync", "EIO"),
        ("flock", "EINTR"),
        ("flock", "ENOLCK"),
        ("write", "ENOSPC"),
        ("write", "EIO"),
        ("write", "EDQUOT"),
        ("openat", "EMFILE"),
        ("openat", "EIO"),
        ("newfstatat,lstat", "EIO"),
    )
    for when in (1, 2, 3)
]


@pytest.mark.strace
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("call", "error", "when"), CASES, ids=lambda value: str(value))
def test_injected_error(tmp_path: Path, call: str, error: str, when: int) -> None:
    """A kernel error becomes a holdfast error; acknowledged commits are present afterwards."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    store = opener("files")(str(tmp_path))
    known = [append(store, STREAM, "before")]
    store.close()
    state = tmp_path / ".state"
    segment = next(state.glob("events/sessions/*/*/*.jsonl"))
    lock = next((state / "local" / "locks").iterdir())
    paths = [str(segment), str(segment.parent), str(lock)]
    command = ["strace", "-f", "-o", os.devnull, "-e", f"trace={call}"]
    command += ["-e", f"inject={call}:error={error}:when={when}"]
    for path in paths:
        command += ["-P", path]
    command += [sys.executable, "-c", _CHILD, str(tmp_path), STREAM]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 9), done.stderr.decode()
    said = heard(done.stdout)
    if done.returncode == 9:
        assert len(said) < 3, "an error was reported and all commits acknowledged"
    if call == "fdatasync":
        assert done.returncode == 9, "a failed sync was reported as success"
    known += said
    store = opener("files")(str(tmp_path))
    verify(store, STREAM, known, f"{call} {error} at {when}")
    known.append(append(store, STREAM, "after"))
    verify(store, STREAM, known, f"{call} {error} at {when}")
    assert not [fault for fault in store.check() if not fault.harmless]
    store.close()
