"""The PostgreSQL engine keeps every promise of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.url import open_store
from holdfast.testing.conformance import *  # noqa: F403
from holdfast.testing.conformance import Engine
from holdfast.testing.servers import place_url

pytestmark = pytest.mark.postgres


@pytest.fixture
def engine(tmp_path: Path, postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Engine(
        lambda place, clock: open_store(place_url(postgres_server, place), clock=clock), str(tmp_path)
    ) as engine:
        yield engine
