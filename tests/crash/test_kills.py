"""kill -9 at random times: several writers on one stream, nothing acknowledged is lost, no repair is needed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from holdfast.store.memory import MemoryStore
from holdfast.testing import scale
from holdfast.testing.crash.kills import forked
from holdfast.testing.crash.run import torture
from holdfast.testing.crash.states import remove_tree, scratch_base
from holdfast.testing.crash.workload import Violation
from holdfast.testing.plans import wall_clock

KILLS = {"files": 600, "journals": 600, "sqlite": 800}
FRESH = {"files": 12, "journals": 12, "sqlite": 20}


def test_enough_kills_are_promised() -> None:
    """All runs together make as many kills as the project promises."""
    assert sum(KILLS.values()) >= scale.KILLS


@pytest.fixture
def place() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="holdfast-kills-", dir=scratch_base())
    yield folder
    remove_tree(folder)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", KILLS)
def test_killed_writers_lose_nothing(engine: str, place: str) -> None:
    """Four forked writers at a time are killed within milliseconds, repeatedly."""
    kills = scale.scaled(KILLS[engine])
    found = torture("kills", engine, place, kills, scale.seed())
    assert found["kills"] >= kills
    assert found["acknowledged"] >= kills / 4, "too few commits were under way to prove anything"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", FRESH)
def test_killed_interpreters_lose_nothing(engine: str, place: str) -> None:
    """New interpreters are killed during start-up, opening and work."""
    kills = scale.scaled(FRESH[engine])
    found = torture("fresh-kills", engine, place, kills, scale.seed())
    assert found["kills"] >= kills
    assert os.listdir(place)


class _Failing(MemoryStore):
    """Works in the process that created it, and fails in every other one."""

    def __init__(self) -> None:
        super().__init__(clock=wall_clock, writer="abcdefgh")
        if os.getpid() != PARENT:
            self.close()


PARENT = os.getpid()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_writers_that_fail_are_not_counted_as_killed() -> None:
    """Control: an engine whose writers fail is detected, although nothing it acknowledged is lost."""
    with pytest.raises(Violation, match="failed before it was killed"):
        forked(_Failing, 400, scale.seed())
