"""The PostgreSQL engine keeps its promises on the system's own, older server too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.url import open_store
from holdfast.testing.conformance import *  # noqa: F403
from holdfast.testing.conformance import Engine
from holdfast.testing.servers import place_url

# No marker: where the system has no PostgreSQL, the tests on the wheel's are enough.


@pytest.fixture
def engine(tmp_path: Path, debian_postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Engine(
        lambda place, clock: open_store(place_url(debian_postgres_server, place), clock=clock), str(tmp_path)
    ) as engine:
        yield engine
