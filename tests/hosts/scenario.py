"""One working day of an agent in each host, played so that every possible hook event fires.

The steps are the same for all hosts as far as each can go: a turn with tools, resume, fork, compaction by
hand and by itself, clear, a subagent, a tool of an MCP server, an error of the model service.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .claude import Claude
from .codex import Codex
from .copilot import Copilot, CopilotWithClaudeSettings
from .fake_model import FakeModel, Reply, ToolCall
from .gemini import Gemini
from .host import Host, Run
from .opencode import OpenCode
from .recorder import Record, Recorder

HOSTS: dict[str, type[Host]] = {
    each.name: each for each in (Claude, Codex, OpenCode, Gemini, Copilot, CopilotWithClaudeSettings)
}
FAILING = "echo oops 1>&2; exit 3"
TINY_SERVER = Path(__file__).with_name("tiny_mcp.py")


class Step(NamedTuple):
    """One run of a host: what was asked, how it ended, which hooks fired."""

    name: str
    run: Run
    records: list[Record]


class Stage(NamedTuple):
    """A host with a fake model behind it and a recorder on all its hooks."""

    host: Host
    model: FakeModel
    recorder: Recorder
    folder: Path


@contextmanager
def bare(name: str) -> Iterator[tuple[Host, FakeModel, Path]]:
    """A host, the model behind it, and the temporary folder that they live in."""
    # The files of a killed host may still be in use for a short time.
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-host-", ignore_cleanup_errors=True) as folder,
        FakeModel() as model,
    ):
        root = Path(folder).resolve()
        yield HOSTS[name](root, model), model, root


@contextmanager
def stage(name: str) -> Iterator[Stage]:
    """A host whose hooks are all recorded."""
    with bare(name) as (host, model, root):
        recorder = Recorder(root / "recorder")
        host.set_hooks(recorder.command)
        yield Stage(host, model, recorder, root)


def script(host: Host, model: FakeModel) -> None:
    """The words that make the model do something other than answer."""
    model.on(
        "TOOLS",
        Reply(call=host.write_call("made.txt", "one\n")),
        Reply(call=host.edit_call("made.txt", "one", "two")),
        Reply(call=host.shell_call("echo fine")),
        Reply(call=host.shell_call(FAILING)),
    )
    model.on("REMOTE", Reply(call=host.mcp_call("tiny", "note", {"text": "kept"})))
    model.on("FAULT", Reply(text="the service is broken", status=400))
    model.on("LARGE", Reply(input_tokens=990_000))
    task = {"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}
    model.on("DELEGATE", Reply(call=ToolCall("Agent", task)))


def steps_of(host: Host) -> list[tuple[str, Callable[[], Run]]]:
    """The steps that a host can take, in order."""
    found: list[tuple[str, Callable[[], Run]]] = [
        ("tools", lambda: host.turn("TOOLS")),
        ("resume", lambda: host.turn("go on", resume=True)),
    ]
    if isinstance(host, Claude | OpenCode):
        found.append(("fork", lambda: host.fork("try another way")))
    found.append(("compact", host.compact))
    found.append(("remote", lambda: host.turn("REMOTE", resume=True)))
    if isinstance(host, Claude):
        found.append(("clear", host.clear))
        found.append(("delegate", lambda: host.turn("DELEGATE")))
        found.append(("large", lambda: host.turn("LARGE")))
        found.append(("auto-compact", lambda: host.turn("and now", resume=True)))
    found.append(("fault", lambda: host.turn("FAULT")))
    return found


def play(at: Stage) -> list[Step]:
    """Play the whole scenario."""
    notes = at.folder / "notes.txt"
    at.host.add_mcp_server("tiny", [sys.executable, "-I", str(TINY_SERVER), str(notes)])
    script(at.host, at.model)
    played: list[Step] = []
    seen = 0
    for name, act in steps_of(at.host):
        run = act()
        records = at.recorder.records()
        played.append(Step(name, run, records[seen:]))
        seen = len(records)
    return played
