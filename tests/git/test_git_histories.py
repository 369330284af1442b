"""Random histories over clones, worktrees and every git operation that people use. Real git only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from holdfast.testing import clone_steps
from holdfast.testing.clones import History
from holdfast.testing.scale import scaled, seed

HISTORIES = 150
STEPS = 60
BATCH = 5
"""Histories in one test, so that the runs of a test suite can share them out."""


def _base() -> Path:
    """In memory where there is such a place: these tests are about git, and power cuts have their own."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("batch", range(scaled(HISTORIES) // BATCH))
def test_clones_converge_and_lose_nothing(batch: int) -> None:
    """After any history, all clones show the same, every acknowledged commit is there, no segment conflicts."""
    first = seed() * 1_000_000 + batch * BATCH
    for number in range(first, first + BATCH):
        with tempfile.TemporaryDirectory(dir=_base(), prefix="holdfast-") as folder:
            history = History(os.path.join(folder, "h"), number)
            try:
                history.run(STEPS)
            except Exception as error:
                done = "\n".join(history.done)
                pytest.fail(
                    f"history {number} is broken: {error}\nreplay: History(folder, {number}).run({STEPS})\n{done}"
                )


def test_every_step_is_taken() -> None:
    """The weights leave no operation out: over some histories each one has a fair chance to be drawn."""
    total = sum(weight for weight, _ in clone_steps.STEPS.values())
    drawn = HISTORIES * STEPS
    assert all(drawn * weight / total > 20 for weight, _ in clone_steps.STEPS.values())
