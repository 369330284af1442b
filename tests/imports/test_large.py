"""Files of 5 MB in every format: bounded memory, and time that is linear in the size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.imports.large import MADE, text_of

import holdfast
from holdfast.core import foreign
from holdfast.workspace.setup import init

SMALL, LARGE = 500_000, 5_000_000
CHILD = Path(__file__).with_name("large.py")


def brought_in(folder: Path, format_name: str, size: int) -> dict[str, Any]:
    """The cost of importing a file of that size in a separate process."""
    folder.mkdir(parents=True)
    init(str(folder), given=True)
    name, text = text_of(format_name, size)
    (folder / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, str(CHILD), name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(holdfast.__file__).parents[1])},
    )
    return {"bytes": len(text.encode()), **json.loads(ran.stdout)}


def test_every_format_is_made() -> None:
    """A new format cannot be forgotten here."""
    assert set(MADE) == set(foreign.FORMATS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("format_name", sorted(MADE))
def test_five_megabytes(tmp_path: Path, format_name: str) -> None:
    """Ten times the file: all lines accounted for, memory within a few times its size, at most 15 times the time."""
    for attempt in range(3):  # other processes disturb the clock, never in our favour
        small = brought_in(tmp_path / f"small-{attempt}", format_name, SMALL)
        large = brought_in(tmp_path / f"large-{attempt}", format_name, LARGE)
        assert small["taken"] + small["left"] > 0
        assert large["taken"] + large["left"] > 0
        if format_name != "batch-state":  # one record; over the limit of a batch it is reported as a whole
            assert large["taken"] > 9 * small["taken"]
            assert large["left"] == 0
        assert large["bytes"] > 4_400_000
        assert large["memory"] < 15 * large["bytes"]
        if large["seconds"] <= 15 * small["seconds"]:
            return
    pytest.fail(f"{large['seconds']:.2f} s for ten times the file that took {small['seconds']:.2f} s")
