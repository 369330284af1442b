"""The OpenCode plug-in, run by Node against every kind of `holdfast`: it never throws and never waits for long."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.packages.standin import PACKAGES, StandIn, node

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(120)]

TRANSFORM = "experimental.chat.system.transform"
COMPACTING = "experimental.session.compacting"

# Plays steps `[hook, input, output]` in order and prints what each left in its output, and how long it took.
DRIVER = """\
import { readFileSync } from "node:fs"
import { HoldfastPlugin } from %s
const lines = []
console.warn = (...words) => lines.push(words.join(" "))
const directory = process.argv[2]
const hooks = await HoldfastPlugin({ directory })
const done = []
for (const [hook, input, output] of JSON.parse(readFileSync(0, "utf8"))) {
  const started = Date.now()
  let thrown = null
  try {
    await (hook === "event" ? hooks.event({ event: input }) : hooks[hook](input, output))
  } catch (error) {
    thrown = String(error)
  }
  done.push({ output, thrown, ms: Date.now() - started })
}
process.stdout.write(JSON.stringify({ done, lines }))
"""


class Play:
    """The plug-in in a folder of its own, with a stand-in for holdfast."""

    def __init__(self, folder: Path) -> None:
        self.standin = StandIn(folder / "standin")
        self.project = folder / "project"
        self.project.mkdir()
        package = folder / "package"
        shutil.copytree(PACKAGES / "opencode", package, ignore=shutil.ignore_patterns("node_modules"))
        self.driver = package / "driver.mjs"
        self.driver.write_text(DRIVER % json.dumps(str(package / "plugin" / "holdfast.ts")))
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.path = str(self.standin.bin)

    def env(self) -> dict[str, str]:
        """A clean environment with the stand-in first."""
        return {"PATH": os.pathsep.join([self.path, "/usr/bin", "/bin"]), "TMPDIR": str(self.scratch)}

    def __call__(self, *steps: list[Any], project: Path | None = None) -> dict[str, Any]:
        """Play steps; every one of them must come back without throwing."""
        done = subprocess.run(
            [node(), self.driver, str(project or self.project)],
            input=json.dumps(steps),
            capture_output=True,
            text=True,
            timeout=90,
            env=self.env(),
        )
        assert list(self.scratch.iterdir()) == [], "no payload stays behind"
        assert done.returncode == 0, done.stderr[-2000:]
        played: dict[str, Any] = json.loads(done.stdout)
        assert [step["thrown"] for step in played["done"]] == [None] * len(steps)
        return played


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def ask(session: str = "ses_1", *system: str) -> list[Any]:
    """One model request."""
    return [TRANSFORM, {"sessionID": session, "model": {}}, {"system": list(system) or ["You are an agent."]}]


def event(kind: str, session: str = "ses_1") -> list[Any]:
    """One event of a session."""
    return ["event", {"type": kind, "properties": {"sessionID": session}}, None]


def prompt(text: str) -> list[Any]:
    """One message of the user."""
    return [
        "chat.message",
        {"sessionID": "ses_1"},
        {"message": {}, "parts": [{"type": "text", "text": text}]},
    ]


def tool(name: str, exit_status: int | None = None) -> list[Any]:
    """One finished tool call."""
    metadata = {} if exit_status is None else {"exit": exit_status}
    output = {"title": "", "output": "", "metadata": metadata}
    return [
        "tool.execute.after",
        {"tool": name, "sessionID": "ses_1", "callID": "c", "args": {"filePath": "a"}},
        output,
    ]


def told(played: dict[str, Any]) -> list[list[str]]:
    """What each model request was given beyond the host's own words."""
    return [step["output"]["system"][1:] for step in played["done"] if "system" in (step["output"] or {})]


def test_the_brief_is_asked_for_once_and_stays_the_same(play: Play) -> None:
    """Every request of a session holds the same bytes, from one call; another session has its own."""
    play.standin.answer(TRANSFORM, '{"context": "BRIEF «ü»"}')
    played = play(ask(), ask(), prompt("hello"), ask(), ask("ses_2"))
    assert told(played) == [["BRIEF «ü»"]] * 4
    assert play.standin.names() == [TRANSFORM, "chat.message", TRANSFORM]


def test_the_payload_is_one_object_of_four_keys(play: Play) -> None:
    """The hook's name, the folder, the input and the output, to `holdfast hook opencode`, in the project."""
    play(prompt("hello"), event("session.created"), tool("edit"))
    first, second, third = play.standin.calls()
    assert first.words == ["hook", "opencode"]
    assert first.payload == {
        "hook": "chat.message",
        "directory": str(play.project),
        "input": {"sessionID": "ses_1"},
        "output": {"message": {}, "parts": [{"type": "text", "text": "hello"}]},
    }
    assert second.payload["hook"] == "event"
    assert second.payload["input"] == {"type": "session.created", "properties": {"sessionID": "ses_1"}}
    assert third.payload["input"]["args"] == {"filePath": "a"}


def test_compaction_gives_the_summariser_context_and_renews_the_brief(play: Play) -> None:
    """The text for the summariser is pushed; after the compaction, and not before, a new brief is requested."""
    play.standin.answer(TRANSFORM, '{"context": "BRIEF"}')
    play.standin.answer(COMPACTING, '{"context": "KEEP D-1"}')
    compacting = [COMPACTING, {"sessionID": "ses_1"}, {"context": []}]
    played = play(ask(), compacting, ask(), event("session.compacted"), ask(), ask())
    assert played["done"][1]["output"] == {"context": ["KEEP D-1"]}
    assert told(played) == [["BRIEF"]] * 4
    assert play.standin.names() == [TRANSFORM, COMPACTING, "session.compacted", TRANSFORM]


def test_news_at_a_prompt_comes_after_the_brief(play: Play) -> None:
    """What holdfast prints at a prompt is added after the unchanged brief, until the next compaction."""
    play.standin.answer(TRANSFORM, '{"context": "BRIEF"}')
    play.standin.answer("chat.message", '{"context": "NEWS"}')
    played = play(ask(), prompt("hello"), ask(), ask(), event("session.compacted"), ask())
    assert told(played) == [["BRIEF"], ["BRIEF", "NEWS"], ["BRIEF", "NEWS"], ["BRIEF"]]


def test_a_title_needs_no_brief(play: Play) -> None:
    """The request that names a session, and one without a session, are left alone."""
    play.standin.answer(TRANSFORM, '{"context": "BRIEF"}')
    played = play(ask("ses_1", "You are a title generator. You output"), ask(""))
    assert told(played) == [[], []]
    assert play.standin.calls() == []


def test_only_what_is_worth_remembering_is_reported(play: Play) -> None:
    """Edits, commands that ended, the start and the end of turns and sessions: nothing is started for anything else."""
    steps = [tool(name) for name in ("read", "grep", "write", "edit", "patch")]
    steps += [tool("bash", 0), tool("bash", 3), tool("bash")]
    kinds = (
        "session.created",
        "session.updated",
        "message.updated",
        "session.idle",
        "session.error",
        "session.diff",
    )
    play(*steps, *(event(kind) for kind in kinds))
    assert play.standin.names() == [
        *["tool.execute.after"] * 5,
        "session.created",
        "session.idle",
        "session.error",
    ]


def test_large_payloads_are_cut(play: Play) -> None:
    """A file of ten megabytes does not go through the pipe."""
    huge = tool("write")
    huge[1]["args"] = {"filePath": "a", "content": "x" * 10_000_000}
    play(huge)
    (call,) = play.standin.calls()
    assert call.size < 20_000
    assert call.payload["input"]["args"]["filePath"] == "a"


def test_without_holdfast_the_plugin_logs_one_line(play: Play) -> None:
    """Without the command the plug-in says so once, and does nothing."""
    (play.standin.bin / "holdfast").unlink()
    played = play(ask(), prompt("hello"), tool("edit"), event("session.idle"), ask())
    assert told(played) == [[], []]
    assert len(played["lines"]) == 1
    assert "not installed" in played["lines"][0]
    assert "\n" not in played["lines"][0]


def test_a_missing_folder_is_not_a_missing_command(play: Play, tmp_path: Path) -> None:
    """If the project's folder was deleted, nothing is said about holdfast."""
    played = play(ask(), prompt("hello"), project=tmp_path / "gone")
    assert played["lines"] == []
    assert told(played) == [[]]


@pytest.mark.parametrize(
    "script",
    [
        "exit 3",
        "echo not json",
        "echo '[]'",
        "echo null",
        """echo '{"context": 7}'""",
        """echo '{"context": "BRIEF"}'; exit 1""",
        "exec 0<&-; exit 0",
        "kill -9 $$",
        "head -c 5000000 /dev/zero",
    ],
)
def test_a_broken_answer_is_no_answer(play: Play, script: str) -> None:
    """Whatever the command prints or does, the host's own words stay as they were."""
    play.standin.write(f"#!/bin/sh\n{script}\n")
    big = tool("write")
    big[1]["args"] = {"content": ["x" * 8000] * 40}
    played = play(ask(), big, prompt("hello"), [COMPACTING, {"sessionID": "ses_1"}, {"context": []}])
    assert told(played) == [[]]
    assert played["done"][3]["output"] == {"context": []}
    assert played["lines"] == []


def test_a_command_that_hangs_is_given_up(play: Play) -> None:
    """Each call ends at its time limit, and after three nobody waits any more."""
    play.standin.write("#!/bin/sh\nexec sleep 60\n")
    played = play(tool("edit"), prompt("hello"), event("session.idle"), ask(), prompt("again"), tool("edit"))
    times = [step["ms"] for step in played["done"]]
    assert all(4_500 < each < 40_000 for each in times[:3]), times
    assert all(each < 4_500 for each in times[3:]), times
    assert told(played) == [[]]


def test_a_host_that_exits_immediately_has_reported(play: Play) -> None:
    """The call of an event outlives a host that exits immediately, with its whole payload."""
    script = play.driver.with_name("quick.mjs")
    ending = 'hooks.event({ event: { type: "session.idle", properties: { sessionID: "s", much: "x".repeat(7000) } } })'
    head = DRIVER.split("const done")[0] % json.dumps(str(play.driver.parent / "plugin" / "holdfast.ts"))
    script.write_text(f"{head}{ending}\nprocess.exit(0)\n")
    subprocess.run([node(), script, str(play.project)], check=True, env=play.env(), timeout=30)
    assert play.standin.names_until("session.idle") == ["session.idle"]
    assert len(play.standin.calls()[0].payload["input"]["properties"]["much"]) == 7000


def test_the_last_words_come_with_the_end_of_the_turn(play: Play) -> None:
    """A host that exits immediately has also reported what its agent said last: not a prompt, not a summary."""
    script = play.driver.with_name("quick.mjs")
    words = [
        message("m1", role="assistant"),
        part("m1", "p1", "It fa"),
        message("m2", role="user"),
        part("m2", "p2", "Mend it"),
        message("m3", role="assistant"),
        part("m3", "p3", "It pas"),
        part("m3", "p3", "It passes now."),
        part("m3", "p4", "Nothing is left."),
        message("m4", role="assistant", summary=True),
        part("m4", "p5", "A summary"),
    ]
    idle = {"type": "session.idle", "properties": {"sessionID": "s"}}
    head = DRIVER.split("const done")[0] % json.dumps(str(play.driver.parent / "plugin" / "holdfast.ts"))
    heard = "\n".join(f"hooks.event({{ event: {json.dumps(each)} }})" for each in [*words, idle])
    script.write_text(f"{head}{heard}\nprocess.exit(0)\n")
    subprocess.run([node(), script, str(play.project)], check=True, env=play.env(), timeout=30)
    assert play.standin.names_until("session.idle") == ["session.idle"]
    assert play.standin.calls()[0].payload["input"]["properties"] == {
        "sessionID": "s",
        "said": "It passes now.\nNothing is left.",
    }


def message(id: str, *, role: str, summary: bool = False) -> dict[str, Any]:
    """An event about a message of the conversation."""
    return {
        "type": "message.updated",
        "properties": {"info": {"id": id, "sessionID": "s", "role": role, "summary": summary}},
    }


def part(message: str, id: str, text: str) -> dict[str, Any]:
    """An event about a text of a message."""
    return {
        "type": "message.part.updated",
        "properties": {
            "part": {"id": id, "sessionID": "s", "messageID": message, "type": "text", "text": text}
        },
    }


@pytest.mark.parametrize("hook", [TRANSFORM, COMPACTING, "chat.message", "tool.execute.after"])
def test_payloads_of_another_shape_do_no_harm(play: Play, hook: str) -> None:
    """A host that changed its types gets no exception from us."""
    play(
        [hook, {}, {}],
        [hook, {"sessionID": 7, "tool": None}, {"system": None}],
        ["event", {"type": "session.idle"}, None],
    )
