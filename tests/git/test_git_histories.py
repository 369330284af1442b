"""Random histories over clones, worktrees and all common git operations. Real git only."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from holdfast.testing.git_histories import steps
from holdfast.testing.git_histories.clones import STEPS, History
from holdfast.testing.git_histories.runs import base
from holdfast.testing.scale import scaled, seed

HISTORIES = 150
BATCH = 5
"""Histories in one test, so that the runs of a test suite can share them out."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("batch", range(scaled(HISTORIES) // BATCH))
def test_clones_converge_and_lose_nothing(batch: int) -> None:
    """After any history, all clones show the same, every acknowledged commit is present, no segment conflicts."""
    first = seed() * 1_000_000 + batch * BATCH
    for number in range(first, first + BATCH):
        with tempfile.TemporaryDirectory(dir=base(), prefix="holdfast-") as folder:
            history = History(os.path.join(folder, "h"), number)
            try:
                history.run(STEPS)
            except Exception as error:
                done = "\n".join(history.done)
                pytest.fail(
                    f"history {number} is broken: {error}\n"
                    f"replay: python -m holdfast.testing.git_histories.runs {number}\n{done}"
                )


@pytest.mark.parametrize("chosen", [(), ("command", "commit", *steps.STEPS, *steps.STEPS)])
def test_a_seed_replays_exactly(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    """One seed, run twice in two folders: the same steps, states, file names, and git commits. Once with random steps,
    once with every step."""
    runs = []
    for number in range(2):
        history = History(str(tmp_path / str(number)), seed())
        history.run(chosen=chosen)
        runs.append(history.outcome())
        time.sleep(0.1)
    assert len(runs[0]["steps"]) == (len(chosen) or STEPS)
    assert len(runs[0]["files"]) > 50
    assert runs[0] == runs[1]


def test_every_step_is_taken() -> None:
    """Every operation has a fair chance to be drawn over some histories."""
    total = sum(weight for weight, _ in steps.STEPS.values())
    drawn = HISTORIES * STEPS
    assert all(drawn * weight / total > 20 for weight, _ in steps.STEPS.values())
