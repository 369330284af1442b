"""Five dependent tasks survive a kill at every boundary, with the same result on every engine."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.workspace.setup import init

PROGRAM = str(Path(__file__).with_name("five_tasks.py"))
RESULTS = [
    ["pear", "apple", "quince", "fig", "cherry"],
    ["apple", "cherry", "fig", "pear", "quince"],
    ["elppa", "yrrehc", "gif", "raep", "ecniuq"],
    "elppa-yrrehc-gif-raep-ecniuq",
    28,
]


@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_killed_at_every_boundary(tmp_path: Path, engine: str) -> None:
    """Before and after each of the five tasks the process is killed; its successors end with the same results."""
    where = str(tmp_path / ".state") if engine == "files" else f"sqlite:///{tmp_path / 'memory.db'}"
    if engine == "files":
        init(str(tmp_path), given=True)
    with holdfast.open(where, user="alice") as workspace:
        session = workspace.start("Five tasks")
        name = session.id
        made = session.create_batch(["generate", "sort", "reverse", "join", "count"], sequence=True)
    for boundary in range(10):
        ended = subprocess.run([sys.executable, PROGRAM, where, name, made.id, str(boundary)], check=False)
        assert ended.returncode == -signal.SIGKILL
        with holdfast.open(where, user="alice") as workspace:
            done = workspace.session(name).batch(made.id).done_items
        assert done == ((range(boundary // 2),) if boundary >= 2 else ())
    subprocess.run([sys.executable, PROGRAM, where, name, made.id], check=True)
    with holdfast.open(where, user="alice") as workspace:
        session = workspace.session(name)
        assert session.batch(made.id).outcome == "complete"
        assert [session.item_result(made.id, item) for item in range(5)] == RESULTS
