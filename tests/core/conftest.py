"""Sessions without a store: one writer, or two that have not seen each other's last commits."""

from __future__ import annotations

import pytest

from holdfast.testing.strategies import Replica, World


@pytest.fixture
def session() -> Replica:
    """A session that one writer has just started."""
    return World(1).replicas[0]


@pytest.fixture
def world() -> World:
    """A session that two writers have; ``world.meet()`` lets them see each other's commits."""
    return World(2)
