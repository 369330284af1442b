"""holdfast installed into a real host, with a separate home and project: the steps of the end-to-end tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast

from . import setup
from .codex import Codex
from .fake_model import FakeModel, Reply, ToolCall
from .host import Host, Run, kill
from .scenario import HOSTS, bare

MARK = "MARK-4711"
DECISION = f"Copy the tables before deleting them {MARK}"


class Installed(NamedTuple):
    """A host with a fake model behind it and holdfast in its settings."""

    host: Host
    model: FakeModel
    folder: Path
    untouched: dict[str, bytes | None]
    """The settings files as they were before."""
    words: tuple[str, ...]

    def holdfast(self, *words: str) -> str:
        """Run the command line as this host's user, in the project."""
        done = subprocess.run(
            ["holdfast", *words],
            cwd=self.host.project,
            env=self.host.env(),
            capture_output=True,
            text=True,
            executable=str(self.folder / "bin" / "holdfast"),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def state(self) -> dict[str, Any]:
        """The state of the current session."""
        with holdfast.open(self.host.project) as workspace:
            return workspace.session().state

    def decide(self) -> None:
        """Leave an unsettled decision."""
        self.holdfast("start", "Move the tables")
        self.holdfast("decide", DECISION, "--because", "there is no way back", "--action", "copy them")

    def complaints(self) -> str:
        """The error log of hooks."""
        log = self.host.project / ".state" / "local" / "hooks.log"
        return log.read_text() if log.exists() else ""

    def uninstall(self) -> None:
        """Uninstall; every settings file is restored."""
        self.holdfast("uninstall", *self.words)
        for path, before in self.untouched.items():
            if path.endswith(".claude.json"):  # Claude Code keeps its own notes there, at every start
                assert "holdfast" not in json.loads(Path(path).read_text()).get("mcpServers", {})
                continue
            assert (Path(path).read_bytes() if os.path.exists(path) else None) == before, path


@contextmanager
def installed(name: str, *options: str) -> Iterator[Installed]:
    """Set a host up in a temporary folder, with holdfast in it by ``holdfast install``."""
    tool = HOSTS[name].tool or name
    if setup.entry_of(tool) is None:
        pytest.skip(setup.why_absent(tool))
    with bare(name) as (host, model, root):
        _command(root)
        host.extra_env["PATH"] = f"{root / 'bin'}{os.pathsep}{host.env()['PATH']}"
        host.extra_env["HOLDFAST_USER"] = "alice"
        at = Installed(host, model, root, {}, (name, *options))
        at.holdfast("init")
        if isinstance(host, Codex):
            host.turn("hello")  # Codex writes into its own settings that it trusts the project
        planned = json.loads(at.holdfast("install", name, *options, "--dry-run", "--json"))
        for file in planned["files"]:
            path = Path(file["path"])
            at.untouched[file["path"]] = path.read_bytes() if path.exists() else None
        assert at.untouched
        at.holdfast("install", name, *options)
        yield at


def _command(root: Path) -> None:
    """The command ``holdfast`` of the package under test."""
    source = Path(holdfast.__file__).parents[1]
    script = root / "bin" / "holdfast"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m holdfast "$@"\n')
    script.chmod(0o755)


# -- what is played in every host ---------------------------------------------------------------------------------


def one_turn(at: Installed) -> Run:
    """The first request of a conversation has the brief; the prompt is stored; the settings are restored."""
    at.decide()
    run = at.host.turn("please go on with the tables")
    assert run.status == 0, run.stderr[-2000:]
    assert run.saw(DECISION), [turn.text[:200] for turn in run.requests[0].turns]
    found = at.state()
    # OpenCode puts what it is given on the command line into quotation marks.
    assert "please go on with the tables" in [m["text"].strip('"') for m in found["messages"]["recent"]]
    assert not at.complaints(), at.complaints()
    at.uninstall()
    assert not at.host.turn("hello").saw(MARK)
    return run


def a_missing_program(at: Installed) -> Run:
    """Our settings on a machine without holdfast: a turn succeeds, and no failed hook is reported."""
    (at.folder / "bin" / "holdfast").unlink()
    folders = at.host.extra_env["PATH"].split(os.pathsep)
    at.host.extra_env["PATH"] = os.pathsep.join(f for f in folders if not (Path(f) / "holdfast").exists())
    run = at.host.turn("please go on with the tables")
    assert run.status == 0, run.stderr[-2000:]
    assert run.saw("please go on with the tables")
    assert "hook" not in run.stderr.lower(), run.stderr[-2000:]
    return run


def tools_are_captured(at: Installed) -> None:
    """A fresh project: the prompt starts a session, an edited file becomes a reference, a failure an error."""
    host = at.host
    at.model.on(
        "TOOLS",
        Reply(call=host.write_call("made.txt", "one\n")),
        Reply(call=host.edit_call("made.txt", "one", "two")),
        Reply(call=host.shell_call("echo oops 1>&2; exit 3")),
    )
    run = host.turn("TOOLS for the tables")
    assert run.status == 0, run.stderr[-2000:]
    found = at.state()
    assert found["registers"]["goal"]["value"].strip('"') == "TOOLS for the tables"
    assert found["references"]["open"]["made.txt"]["size"] == 4
    assert not at.complaints(), at.complaints()
    if host.name != "codex":  # it does not tell
        assert ["exit 3" in error["text"] for error in found["errors"]["open"].values()] == [True]


def compaction_loses_nothing(at: Installed) -> Run:
    """After a forced compaction the decision is in the next request."""
    at.host.turn("some first words")
    at.decide()
    at.host.turn("some more words", resume=True)
    compaction = at.host.compact()
    assert compaction.status == 0, compaction.stderr[-2000:]
    found = at.state()
    assert found["checkpoint"]["message"].startswith("Before a compaction: ")
    run = at.host.turn("the next words", resume=True)
    assert run.saw(DECISION)
    assert not at.complaints(), at.complaints()
    return compaction


def a_killed_host(at: Installed) -> None:
    """Killed mid-turn after a decision: the first request of a new conversation has it."""
    # Codex runs a login shell, with a PATH of its own; Copilot asks about programs that are named by a path.
    command = at.folder / "bin" / "holdfast" if at.host.name == "codex" else "holdfast"
    at.model.on(
        "HANG",
        Reply(
            call=at.host.shell_call(
                f"{command} decide 'Delete the tables {MARK}' --because 'copied' --action 'drop them'"
            )
        ),
        Reply(text="thinking", hang=True),
    )
    process = at.host.start("HANG with the tables")
    try:
        assert at.model.hanging.wait(60), "the host did not get as far as the second request"
    finally:
        kill(process)
        process.communicate()
    assert [d["text"] for d in at.state()["decisions"]["open"].values()] == [f"Delete the tables {MARK}"]
    run = at.host.turn("hello again")
    first = next(request for request in run.requests if request.tools)
    assert any(f"Delete the tables {MARK}" in turn.text for turn in first.turns)
    assert not at.complaints(), at.complaints()


def a_decision_through_mcp(at: Installed) -> None:
    """The model calls a tool of the installed server: the decision is in the session of the conversation."""
    wanted = {"text": f"Move the index {MARK}", "because": "it is small", "action": "move it"}
    at.model.on("DECIDE", Reply(call=at.host.mcp_call("holdfast", "decide", wanted)))
    run = at.host.turn("DECIDE about the index")
    assert run.status == 0, run.stderr[-2000:]
    found = at.state()
    assert [decision["text"] for decision in found["decisions"]["open"].values()] == [wanted["text"]]
    assert found["registers"]["goal"]["value"].strip('"') == "DECIDE about the index"
    assert not at.complaints(), at.complaints()
    at.uninstall()


def compaction_gives_captures(at: Installed) -> None:
    """The summary of a forced compaction is read from where the host has it."""
    at.decide()
    at.host.turn("remember the tables")
    at.model.default = Reply(text="DECISION: amounts are integers of cents BECAUSE: floats lose cents")
    at.host.compact()
    found = [entry["text"] for entry in at.state()["captures"]["open"].values()]
    assert "amounts are integers of cents" in found, (found, at.complaints())
    run = at.host.turn("go on", resume=True)
    assert run.saw("Captured, not confirmed")
    assert not at.complaints(), at.complaints()


PLANS = {
    "opencode": (
        "todowrite",
        {"todos": [{"content": "Parse it", "status": "in_progress", "priority": "high"}]},
    ),
    "gemini": ("write_todos", {"todos": [{"description": "Parse it", "status": "in_progress"}]}),
    "copilot": (
        "sql",
        {
            "description": "tasks",
            "query": "INSERT INTO todos (id, title, status) VALUES ('a', 'Parse it', 'in_progress')",
        },
    ),
}


def plans_become_tasks(at: Installed) -> None:
    """The model calls the host's own planning tool."""
    name, arguments = PLANS[at.host.name]
    at.model.on("PLAN", Reply(call=ToolCall(name, arguments)))
    at.host.turn("PLAN the work")
    (task,) = at.state()["tasks"]["open"].values()
    assert (task["title"], task["status"], task["origin"]) == ("Parse it", "working", "tool")
    assert not at.complaints(), at.complaints()


def subagents_report(at: Installed) -> None:
    """The model delegates; the subagent's only message is its result."""
    at.decide()
    given = {"description": "look", "prompt": "LOOK around", "subagent_type": "general-purpose"}
    at.model.on("DELEGATE", Reply(call=ToolCall("Agent", given)))
    at.model.on("LOOK", Reply(text="I chose the csv module over pandas because it is there."))
    run = at.host.turn("DELEGATE it")
    (message,) = [m for m in at.state()["messages"]["recent"] if m["role"] == "subagent"]
    assert (message["by"], message["tool"]) == ("claude.general-purpose", "general-purpose")
    looked = [request for request in run.requests if "LOOK around" in request.prompt]
    assert any(DECISION in request.text for request in looked)
    (found,) = at.state()["captures"]["open"].values()
    assert found["source"] == "subagent"
    assert not at.complaints(), at.complaints()
