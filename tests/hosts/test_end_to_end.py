"""The real hosts with holdfast installed by `holdfast install`: offline, against a fake model."""

from __future__ import annotations

import json

import pytest

from .fake_model import Reply
from .installed import (
    a_decision_through_mcp,
    a_killed_host,
    a_missing_program,
    compaction_gives_captures,
    compaction_loses_nothing,
    installed,
    one_turn,
    plans_become_tasks,
    subagents_report,
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


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_summary_becomes_proposals(host: str) -> None:
    """What the summariser says in the fixed form is captured, and is in the next request as not confirmed."""
    with installed(host, *HOSTS[host]) as at:
        compaction_gives_captures(at)


@pytest.mark.parametrize("host", ["opencode", "gemini", "copilot"])
def test_the_hosts_own_tasks_become_ours(host: str) -> None:
    """The planning tool of the host, called by the model."""
    with installed(host, *HOSTS[host]) as at:
        plans_become_tasks(at)


def test_subagents_of_claude_code_report() -> None:
    """A subagent has the small brief in its first request, and its result is kept under its name."""
    with installed("claude") as at:
        subagents_report(at)


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


def test_claude_decides_where_nobody_can_be_asked() -> None:
    """In a project that its user trusts: decide is in the first request, and called; what approves plans is refused."""
    with installed("claude") as at:
        settings = at.host.home / ".claude" / ".claude.json"
        found = json.loads(settings.read_text()) if settings.exists() else {}
        found.setdefault("projects", {})[str(at.host.project)] = {"hasTrustDialogAccepted": True}
        settings.write_text(json.dumps(found))
        wanted = {"text": "Move the index", "because": "it is small", "action": "move it"}
        at.model.on(
            "GO",
            Reply(call=at.host.mcp_call("holdfast", "decide", wanted)),
            Reply(call=at.host.mcp_call("holdfast", "act", {"action": "/pause"})),
        )
        run = at.host.turn("GO on with the index")
        ours = {tool for tool in run.requests[0].tools if tool.startswith("mcp__holdfast")}
        assert ours == {"mcp__holdfast__decide", "mcp__holdfast__settle"}
        assert [each["text"] for each in at.state()["decisions"]["open"].values()] == ["Move the index"]
        assert run.saw("requested permissions to use mcp__holdfast__act")


def test_gemini_decides_where_nobody_can_be_asked() -> None:
    """Without leave for all tools, in the default mode, the model decides by a tool call."""
    with installed("gemini", "--user") as at:
        words = at.host.argv
        at.host.argv = lambda prompt, resume: [  # type: ignore[method-assign]
            "default" if word == "yolo" else word for word in words(prompt, resume)
        ]
        a_decision_through_mcp(at)
