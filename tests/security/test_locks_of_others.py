"""Locks: other users cannot take them, and a wait says for whom and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge import cli
from holdfast.edge.cli import lock_wait
from holdfast.fs import posix
from holdfast.workspace.setup import init

HOLDER = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def session(tmp_path: Path) -> holdfast.Session:
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        return workspace.start("go on")


def lock_of(folder: Path, session: holdfast.Session) -> Path:
    return folder / ".state" / "local" / "locks" / f"{session.stream.replace('/', '+')}.lock"


def test_nobody_else_can_read_a_lock_file(tmp_path: Path, session: holdfast.Session) -> None:
    """Whoever can read a file can take its lock; a mode that an earlier release or a copy left is corrected."""
    folder = tmp_path / ".state" / "local"
    found = [*folder.rglob("*.lock")]
    assert len(found) >= 2
    assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
    path = lock_of(tmp_path, session)
    path.chmod(0o644)
    with holdfast.open(tmp_path) as workspace:
        workspace.session(session.id).note("x")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_wait_says_for_whom_and_ends(
    tmp_path: Path,
    session: holdfast.Session,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command names the process that holds the lock, and ends with a clear error; nothing is written."""
    monkeypatch.setattr(lock_wait, "SAY_AFTER", 0.05)
    monkeypatch.setattr(lock_wait, "GIVE_UP_AFTER", 0.2)
    monkeypatch.setattr(posix, "waiting", cli.waiting)
    words = ["note", "x", "--workspace", str(tmp_path), "--session", session.id]
    command = [sys.executable, "-c", HOLDER, str(lock_of(tmp_path, session))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert cli.main(words) == 6
        told = capsys.readouterr().err
        assert "waiting for a lock" in told
        assert "nothing was written" in told
        if Path("/proc/locks").exists():
            assert f"process {holder.pid} (" in told
        holder.communicate()
    assert cli.main(words) == 0
