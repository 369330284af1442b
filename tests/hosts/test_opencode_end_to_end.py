"""OpenCode with holdfast installed: offline, against a fake model."""

from __future__ import annotations

import pytest

from .installed import (
    a_decision_through_mcp,
    a_killed_host,
    compaction_loses_nothing,
    installed,
    one_turn,
    tools_are_noted,
)

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]
HOST = "opencode"


def test_the_brief_is_in_the_first_request() -> None:
    """Install, one turn, uninstall: the decision is before the model, the prompt is kept, the settings come back."""
    with installed(HOST) as at:
        one_turn(at)


def test_tools_are_noted() -> None:
    """What the agent edits and what fails is kept without its doing."""
    with installed(HOST) as at:
        tools_are_noted(at)


def test_compaction_loses_nothing() -> None:
    """The decision is in the next request after a forced compaction."""
    with installed(HOST) as at:
        compaction_loses_nothing(at)


def test_a_killed_host_loses_nothing() -> None:
    """The decision that a killed host left unsettled is in the first request of the next conversation."""
    with installed(HOST) as at:
        a_killed_host(at)


def test_a_decision_of_the_model_lands_in_the_log() -> None:
    """The model decides by a tool call of the MCP server that was installed."""
    with installed(HOST) as at:
        a_decision_through_mcp(at)
