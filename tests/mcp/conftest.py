"""Fixtures for the tests of the MCP server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from wire_client import MODERN, WireClient


@pytest.fixture(params=["2024-11-05", "2025-11-25", MODERN])
def era(request: pytest.FixtureRequest) -> str:
    """A protocol revision: the first and the last with a handshake, and the one without."""
    revision: str = request.param
    return revision


@pytest.fixture
def server(project: Path, era: str) -> Iterator[WireClient]:
    """A client of a server on an empty workspace."""
    with WireClient(project, era) as client:
        yield client


@pytest.fixture
def working(server: WireClient) -> WireClient:
    """The same with a started session."""
    server.do("start", goal="Ship the billing rewrite", phases=["look", "build", "prove"])
    return server
