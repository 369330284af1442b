"""The real hosts with holdfast installed by `holdfast install`: offline, against a fake model."""

from __future__ import annotations

import json

import pytest

from .installed import (
    a_decision_through_mcp,
    a_killed_host,
    a_missing_program,
    compaction_loses_nothing,
    installed,
    one_turn,
    tools_are_captured,
)

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]
HOSTS = {
    "claude": (),
    # Codex and Gemini CLI read the settings of a project only where the user trusts it.
    "codex": ("--user",),
    "copilot": (),
    "gemini": ("--user",),
    "opencode": (),
}
each_host = pytest.mark.parametrize("host", HOSTS)


@each_host
def test_the_brief_is_in_the_first_request(host: str) -> None:
    """Install, one turn, uninstall: the model sees the decision, the prompt is stored, the settings are restored."""
    with installed(host, *HOSTS[host]) as at:
        one_turn(at)


@each_host
def test_tools_are_captured(host: str) -> None:
    """Edits and failures of the agent are captured automatically."""
    with installed(host, *HOSTS[host]) as at:
        tools_are_captured(at)


@each_host
def test_compaction_loses_nothing(host: str) -> None:
    """The decision is in the next request after a forced compaction."""
    with installed(host, *HOSTS[host]) as at:
        compaction_loses_nothing(at)


@each_host
def test_a_killed_host_loses_nothing(host: str) -> None:
    """The decision that a killed host left unsettled is in the first request of the next conversation."""
    with installed(host, *HOSTS[host]) as at:
        a_killed_host(at)


@each_host
def test_a_decision_of_the_model_lands_in_the_log(host: str) -> None:
    """The model decides by a tool call of the MCP server that was installed."""
    options = ("--user",) if host == "claude" else HOSTS[host]  # so that both scopes of Claude Code are tried
    with installed(host, *options) as at:
        a_decision_through_mcp(at)


@each_host
def test_settings_without_the_program(host: str) -> None:
    """Where holdfast is not installed, a host with our hooks and server in its settings works as without them."""
    with installed(host, *HOSTS[host]) as at:
        a_missing_program(at)


def test_codex_in_the_settings_of_a_project() -> None:
    """Codex reads the hooks of a project that it trusts."""
    with installed("codex") as at:
        one_turn(at)


def test_gemini_in_the_settings_of_a_project() -> None:
    """Gemini CLI reads the hooks of a folder that is trusted."""
    with installed("gemini") as at:
        trusted = {str(at.host.project): "TRUST_FOLDER"}
        (at.host.home / ".gemini" / "trustedFolders.json").write_text(json.dumps(trusted))
        one_turn(at)
