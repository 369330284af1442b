"""Real hosts with holdfast installed: whose session, under which name, and how full the context is."""

from __future__ import annotations

import json

import pytest

import holdfast

from .fake_model import Reply
from .host import kill
from .installed import Installed, installed

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]
HOSTS = {"claude": (), "codex": ("--user",), "copilot": (), "gemini": ("--user",), "opencode": ()}
each_host = pytest.mark.parametrize("host", HOSTS)


def sessions(at: Installed) -> dict[str, list[str]]:
    """The prompts of each session, by its goal."""
    with holdfast.open(at.host.project) as workspace:
        return {
            state["registers"]["goal"]["value"].strip('"'): [
                message["text"].strip('"')
                for message in state["messages"]["recent"]
                if message["role"] == "user"
            ]
            for state in (workspace.session(name).state for name in workspace.sessions())
        }


@each_host
def test_the_context_is_measured(host: str) -> None:
    """After a turn the budget has what the host counted, as measured, and the model's context where the host tells."""
    with installed(host, *HOSTS[host]) as at:
        at.host.turn("Fix the login page")
        at.host.turn("and its tests", resume=True)
        budget = at.state()["budget"]
        assert budget["measured"] is not None, at.complaints()
        assert budget["used"] == 110
        assert budget["measured"]["window"] > 100_000
        assert "(0 %, measured)" in at.holdfast("status")
        assert not at.complaints(), at.complaints()


@each_host
def test_two_hosts_at_once(host: str) -> None:
    """While one conversation is in a turn, another one gets its own session; once the first is gone, the next
    conversation continues what was written last."""
    with installed(host, *HOSTS[host]) as at:
        at.model.on("HANG", Reply(text="thinking", hang=True))
        first = at.host.start("Look at the login page\nHANG")
        try:
            assert at.model.hanging.wait(60), "the host did not get as far as the first request"
            at.model.on("HANG", Reply(text="fine"))  # the other conversation's words may be in the brief
            run = at.host.turn("Fix the signup dialog")
            assert run.status == 0, run.stderr[-2000:]
            assert sessions(at) == {
                "Look at the login page": ["Look at the login page\nHANG"],
                "Fix the signup dialog": ["Fix the signup dialog"],
            }
        finally:
            kill(first)
            first.communicate()
        at.host.turn("and the next step")
        found = sessions(at)
        assert len(found) == 2
        assert sum(map(len, found.values())) == 3
        assert not at.complaints(), at.complaints()


@pytest.mark.parametrize("host", ["claude", "opencode", "gemini"])
def test_one_agent_has_one_name(host: str) -> None:
    """A hook, a command in the agent's shell and a tool of the MCP server: one agent in `who`, one actor, one session,
    and nobody is warned of himself."""
    with installed(host, *HOSTS[host]) as at:
        page = at.host.project / "page.txt"
        at.model.on(
            "GO",
            Reply(call=at.host.write_call("page.txt", "one\n")),
            Reply(call=at.host.shell_call("holdfast decide 'Keep it small' --because 'phones'")),
            Reply(
                call=at.host.mcp_call("holdfast", "decide", {"text": "Use a cache", "because": "it is slow"})
            ),
            Reply(call=at.host.shell_call("holdfast who --json > who.json; holdfast brief > brief.txt")),
            Reply(call=at.host.edit_call("page.txt", "one", "two")),
        )
        if host == "claude":
            at.host.allow_server("holdfast")  # type: ignore[attr-defined]
        run = at.host.turn("GO on with the page")
        assert run.status == 0, run.stderr[-2000:]
        assert page.read_text() == "two\n"
        people = json.loads((at.host.project / "who.json").read_text())["people"]
        assert [(person["by"], person["state"], person["me"]) for person in people] == [(host, "alive", True)]
        decisions = at.state()["decisions"]["closed"]
        assert [(each["text"], each["by"], each["origin"]) for each in decisions] == [
            ("Keep it small", host, "agent"),
            ("Use a cache", host, "agent"),
        ]
        assert not run.saw("also working")
        assert "ALSO AT WORK" not in (at.host.project / "brief.txt").read_text()
        assert not at.complaints(), at.complaints()
