"""Real hosts with our MCP server: a decision that the model makes by a tool call is in the log."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.workspace.setup import init

from . import setup
from .fake_model import Reply
from .scenario import HOSTS, stage

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]

SOURCE = str(Path(holdfast.__file__).parents[1])
PROGRAM = f"import sys; sys.path.insert(0, {SOURCE!r}); from holdfast.edge.cli import script; script()"


@pytest.mark.parametrize("name", [name for name in HOSTS if HOSTS[name].tool in ("", name)])
def test_a_decision_of_the_model_lands_in_the_log(name: str) -> None:
    """The host starts the server, finds the tool, calls it, and hands the answer to the model."""
    if setup.entry_of(HOSTS[name].tool or name) is None:
        pytest.skip(setup.why_absent(HOSTS[name].tool or name))
    with stage(name) as at:
        init(str(at.host.project), given=True)
        with holdfast.open(at.host.project) as workspace:
            session = workspace.start("Ship the billing rewrite").id
        where = str(at.host.project)
        command = [sys.executable, "-c", PROGRAM, "mcp", "--workspace", where]
        at.host.add_mcp_server("holdfast", command)
        call = at.host.mcp_call("holdfast", "decide", {"text": "Use SQLite", "because": "one file"})
        at.model.on("DECIDE", Reply(call=call))
        run = at.host.turn("DECIDE")
        with holdfast.open(at.host.project) as workspace:
            commits = list(workspace.session().log())
        made = [(c, e) for c in commits for e in c.events if e.type == "decision.made"]
        assert [event.data["text"] for _, event in made] == ["Use SQLite"], run
        assert made[0][0].origin == "agent"
        assert made[0][0].by not in ("", "mcp"), "the host did not say who it is"
        answered = [str(request) for request in at.model.requests if session in str(request)]
        assert answered, "the answer of the tool did not reach the model"
        assert "D-1" in answered[0]
