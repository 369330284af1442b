"""The packages with the real holdfast: one turn in each host leaves the right things in the log."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.codex import Codex
from tests.hosts.fake_model import Reply
from tests.hosts.host import Host, Run
from tests.packages.standin import PACKAGES, ROOT, StandIn, node, on_stage

import holdfast

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]

REAL = """\
#!/bin/sh
PYTHONPATH={source} HOLDFAST_USER=alice exec {python} -c 'from holdfast.edge.cli import script; script()' "$@"
"""
DECISION = "Keep the ledger in WAL mode"


def claude(host: Host) -> tuple[str, ...]:
    """Loaded from its folder."""
    return ("--plugin-dir", str(PACKAGES / "claude" / "holdfast"))


def codex(host: Host) -> tuple[str, ...]:
    """Installed from the marketplace."""
    assert isinstance(host, Codex)
    config = host.folder / "config.toml"
    config.write_text(config.read_text().replace("plugins = false", "plugins = true"))
    for words in (("marketplace", "add", str(ROOT)), ("add", "holdfast@holdfast")):
        assert host.run([str(host.entry), "plugin", *words]).status == 0
    return ()


def gemini(host: Host) -> tuple[str, ...]:
    """Linked."""
    link = ["extensions", "link", str(PACKAGES / "gemini" / "holdfast"), "--consent"]
    assert host.run([str(node()), str(host.entry), *link]).status == 0
    return ()


def opencode(host: Host) -> tuple[str, ...]:
    """Copied into the project."""
    shutil.copytree(PACKAGES / "opencode" / "plugin", host.project / ".opencode" / "plugin")
    return ()


def copilot(host: Host) -> tuple[str, ...]:
    """Copied into the project."""
    shutil.copytree(PACKAGES / "copilot", host.project, dirs_exist_ok=True)
    return ()


SET_UP: dict[str, Callable[[Host], tuple[str, ...]]] = {
    each.__name__: each for each in (claude, codex, gemini, opencode, copilot)
}


class Memory:
    """The real command, as a host finds it on PATH."""

    def __init__(self, host: Host, standin: StandIn) -> None:
        self.host = host
        self.program = str(standin.bin / "holdfast")
        standin.write(REAL.format(source=Path(holdfast.__file__).parents[1], python=sys.executable))

    def __call__(self, *words: str) -> dict[str, Any]:
        """Run a command in the project."""
        done = self.host.run([self.program, *words, "--json"])
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["ok"], found
        return found

    def log_until(self, *wanted: str) -> str:
        """The log, once it holds all these words or ten seconds have passed: a host does not wait for its last hook."""
        end = time.monotonic() + 10
        while True:
            text = self.host.run([self.program, "log"]).stdout
            if all(word in text for word in wanted) or time.monotonic() > end:
                return text


@pytest.mark.parametrize("name", SET_UP)
def test_one_turn_is_remembered(name: str) -> None:
    """The unsettled decision is in the first request; the prompt, the edit and the failure are in the log."""
    with on_stage(name) as (host, model, standin):
        memory = Memory(host, standin)
        memory("init")
        memory("start", "ship it")
        memory("decide", DECISION, "--because", "readers never wait", "--action", "move it")
        options = SET_UP[name](host)
        failing = Reply(call=host.shell_call("echo oops 1>&2; exit 3"))
        model.on("TOOLS", Reply(call=host.write_call("made.txt", "one\n")), failing)
        argv: Any = host.argv
        run: Run = host.run(argv("TOOLS please", False, *options))
        assert run.status == 0, run.stderr[-2000:]
        first = next(request for request in run.requests if "title generator" not in request.turns[0].text)
        assert any(DECISION in turn.text for turn in first.turns)
        wanted = ["TOOLS please", "made.txt"]
        wanted += ["oops"] if name != "codex" else []  # its payload does not say that a command failed
        log = memory.log_until(*wanted)
        assert [word for word in wanted if word not in log] == []
