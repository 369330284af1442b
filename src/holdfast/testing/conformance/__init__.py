"""The conformance suite: every guarantee of ``store.protocol``, as pytest tests for any engine.

A new engine's test module imports everything from here and supplies one fixture::

    from holdfast.testing.conformance import *

    @pytest.fixture
    def engine(tmp_path):
        with Engine(lambda place, clock: MyStore(place, clock=clock), str(tmp_path)) as engine:
            yield engine

``place`` is an empty folder. An engine that stores its data elsewhere must derive the location from this path alone, so
that opening the same place again opens the same store. Shared engines must also open by ``capabilities.url``.
"""

from __future__ import annotations

import pytest

from holdfast.store.protocol import Store
from holdfast.testing.conformance.commits import (
    TestExpect,
    TestIds,
    TestLongTexts,
    TestOps,
    TestPlans,
    TestPrebuilt,
    TestRoundTrip,
)
from holdfast.testing.conformance.engine import Engine
from holdfast.testing.conformance.sharing import TestCapabilities, TestConcurrency, TestModel
from holdfast.testing.conformance.stores import TestCursors, TestNames, TestNotes, TestStore

__all__ = [
    "Engine",
    "TestCapabilities",
    "TestConcurrency",
    "TestCursors",
    "TestExpect",
    "TestIds",
    "TestLongTexts",
    "TestModel",
    "TestNames",
    "TestNotes",
    "TestOps",
    "TestPlans",
    "TestPrebuilt",
    "TestRoundTrip",
    "TestStore",
    "store",
]


@pytest.fixture
def store(engine: Engine) -> Store:
    return engine.fresh()
