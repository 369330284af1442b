"""Eight real processes on one stream, stopped and killed meanwhile: what they saw is linearizable (G5)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from holdfast.testing import scale
from holdfast.testing.crash.run import BROKEN, torture
from holdfast.testing.crash.states import remove_tree, scratch_base

HISTORIES = {"files": 20, "journals": 20, "sqlite": 20}
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def place() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="holdfast-histories-", dir=scratch_base())
    yield folder
    remove_tree(folder)


def test_enough_histories_are_promised() -> None:
    """All runs together make as many histories as the project promises."""
    assert sum(HISTORIES.values()) >= scale.HISTORIES


@pytest.mark.parametrize("engine", HISTORIES)
def test_histories_are_linearizable(engine: str, place: str) -> None:
    """Every history of 400 calls has a legal order."""
    count = scale.scaled(HISTORIES[engine])
    found = torture("histories", engine, place, count, scale.seed())
    assert found["legal"] == found["histories"] == count
    assert found["operations"] >= count * scale.HISTORY_OPERATIONS
    assert found["kills"] >= count
    assert found["stops"] >= count


@pytest.mark.parametrize("name", BROKEN)
def test_broken_stores_are_rejected(name: str, place: str) -> None:
    """Control: a store without version check, with stale reads or with lost writes is found out every time."""
    found = torture("histories", "files", place, 3, scale.seed(), name)
    assert found["legal"] == 0
