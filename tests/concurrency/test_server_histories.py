"""Processes on one stream of a server, stopped and killed meanwhile: linearizable, and nothing is lost (G1, G5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.testing import scale
from holdfast.testing.crash.run import torture

HISTORIES = 5
KILLS = 40
pytestmark = [pytest.mark.timeout(900), pytest.mark.postgres]


@pytest.fixture(params=["", "&profile=portable"], ids=["postgresql", "portable"])
def engine(
    request: pytest.FixtureRequest, postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return postgres_server + request.param


def test_histories_are_linearizable(engine: str, tmp_path: Path) -> None:
    """Every history of 400 calls has a legal order."""
    count = scale.scaled(HISTORIES)
    found = torture("histories", engine, str(tmp_path), count, scale.seed())
    assert found["legal"] == found["histories"] == count
    assert found["kills"] >= count


def test_killed_clients_lose_nothing(engine: str, tmp_path: Path) -> None:
    """What was acknowledged before kill -9 of the client is there, once and in order."""
    found = torture("kills", engine, str(tmp_path), scale.scaled(KILLS), scale.seed())
    assert found["kills"] >= KILLS
    assert found["acknowledged"] > 0
