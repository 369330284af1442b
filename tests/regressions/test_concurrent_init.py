"""Several agents that start in a fresh project all run `init`: each succeeds."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.errors import Forbidden, HoldfastError
from holdfast.fs import posix
from holdfast.testing.crash.faults import ERRORS, SHORT, Failure, Faulty
from holdfast.workspace.scaffold import FILES, create

CLI = [sys.executable, "-c", "from holdfast.edge.cli import script; script()", "init"]


def test_concurrent_inits(tmp_path: Path) -> None:
    """Thirty processes create the same workspace concurrently, and all of them find it ready."""
    started = [
        subprocess.Popen([*CLI, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(30)
    ]
    said = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0] * 30, said
    assert {path.name: path.read_text() for path in (tmp_path / ".state").iterdir()} == FILES


@pytest.mark.parametrize("error", [error for error in ERRORS if error != SHORT])
def test_every_call_of_init_may_fail(tmp_path: Path, error: int) -> None:
    """A failed file call is reported as a holdfast error, and the next init completes what is missing."""
    for call in range(1, 1000):
        root = tmp_path / str(call) / ".state"
        root.parent.mkdir()
        faulty = Faulty(posix, Failure(call, error))
        with suppress(HoldfastError):  # a bare OSError fails this test
            create(str(root), faulty)
        create(str(root))
        assert {path.name: path.read_text() for path in root.iterdir()} == FILES
        if not faulty.dealt:
            break
    assert call > 20


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where a parent folder should be is reported as such, not as a crash."""
    (tmp_path / "file").write_text("mine")
    done = subprocess.run([*CLI, str(tmp_path / "file" / "sub")], capture_output=True, text=True)
    assert done.returncode in (Forbidden.status, 6)
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr
