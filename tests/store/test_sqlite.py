"""The SQLite engine keeps every promise of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import Damaged
from holdfast.store.sqlite.engine import SqliteStore
from holdfast.testing.conformance import *  # noqa: F403
from holdfast.testing.conformance import Engine
from holdfast.testing.plans import saying


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(lambda place, clock: SqliteStore(f"{place}/store.db", clock=clock), str(tmp_path)) as engine:
        yield engine


def test_an_emptied_database_is_not_replaced(tmp_path: Path) -> None:
    """A database file that somebody emptied is refused and left alone; an empty file that never was one is used."""
    path = tmp_path / "m.db"
    path.touch()
    store = SqliteStore(str(path), clock=lambda: 1)
    store.append("users/ada", saying("text"))
    store.close()
    path.write_bytes(b"")
    with pytest.raises(Damaged, match="is empty"):
        SqliteStore(str(path), clock=lambda: 1).read("users/ada")
    assert path.read_bytes() == b""
