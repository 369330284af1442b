"""The files engine keeps every promise of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.recovery.files_store import FilesStore
from holdfast.testing.conformance import *  # noqa: F403
from holdfast.testing.conformance import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(lambda place, clock: FilesStore(f"{place}/.state", clock=clock), str(tmp_path)) as engine:
        yield engine
