"""The packages in the real hosts: they load, call holdfast at the right events, and its answer reaches the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.codex import Codex
from tests.hosts.fake_model import FakeModel, Reply
from tests.hosts.host import Host, Run
from tests.packages.standin import PACKAGES, ROOT, StandIn, node, on_stage, take_away

from holdfast.core.actions import CATALOGUE
from holdfast.packages import hosts

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]

BRIEF = "BRIEF-7d1f: go on with the migration"
FAILING = "echo oops 1>&2; exit 3"
TRANSFORM = "experimental.chat.system.transform"


def nested(event: str, text: str = BRIEF) -> str:
    """Context in the format of Claude Code, Codex and Gemini CLI."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def script(host: Host, model: FakeModel) -> None:
    """One turn that edits a file and fails a command, one that calls a tool of the package's MCP server."""
    model.on("TOOLS", Reply(call=host.write_call("made.txt", "one\n")), Reply(call=host.shell_call(FAILING)))


def fine(run: Run) -> Run:
    """A successful run."""
    assert run.status == 0, (run.stdout[-1500:], run.stderr[-1500:])
    return run


def words(standin: StandIn) -> set[tuple[str, ...]]:
    """All command lines with which the host called holdfast."""
    return {tuple(call.words) for call in standin.calls()}


# -- Claude Code --------------------------------------------------------------------------------------------

CLAUDE = ("--plugin-dir", str(PACKAGES / "claude" / "holdfast"))


def first_line(run: Run) -> dict[str, Any]:
    """What Claude Code says of itself when it starts."""
    lines = (json.loads(line) for line in run.stdout.splitlines() if line.startswith("{"))
    return next(line for line in lines if line.get("subtype") == "init")


def test_claude_loads_all_parts_of_the_plug_in() -> None:
    """Skill, slash commands, hooks and server are there; the brief is in the first request."""
    with on_stage("claude") as (host, model, standin):
        script(host, model)
        standin.answer("SessionStart", nested("SessionStart"))
        run = fine(host.run(host.argv("TOOLS", False, *CLAUDE)))
        start = first_line(run)
        assert "holdfast@inline" in [plugin["source"] for plugin in start["plugins"]]
        assert "holdfast:holdfast" in start["skills"]
        assert {f"holdfast:{name}" for name in CATALOGUE} <= set(start["slash_commands"])
        servers = {each["name"]: each["status"] for each in start["mcp_servers"]}
        assert servers == {"plugin:holdfast:holdfast": "connected"}
        assert any(BRIEF in turn.text for turn in run.requests[0].turns)
        seen = standin.names()
        assert seen[:2] == ["SessionStart", "UserPromptSubmit"]
        assert {"PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"} <= set(seen)
        assert words(standin) == {("hook", "claude")}


def test_claude_compacts_with_the_plug_in() -> None:
    """Before and after a compaction holdfast is called, and the brief is given again."""
    with on_stage("claude") as (host, _, standin):
        standin.answer("SessionStart", nested("SessionStart"))
        standin.answer("PreCompact", "KEEP-D-1 in the summary")
        fine(host.run(host.argv("hello", False, *CLAUDE)))
        before = len(standin.calls())
        run = fine(host.run(host.argv("/compact keep the ids", True, *CLAUDE)))
        names = standin.names()[before:]
        assert names.index("PreCompact") < names.index("PostCompact")
        assert run.saw("KEEP-D-1")
        sources = [
            call.payload.get("source") for call in standin.calls()[before:] if call.name == "SessionStart"
        ]
        assert "compact" in sources


def test_claude_slash_commands_reach_the_model_and_cost_nothing_before() -> None:
    """A typed action becomes the prompt with the user's words; the list of commands is not in other requests."""
    with on_stage("claude") as (host, _, _):
        plain = fine(host.run(host.argv("hello", False, *CLAUDE)))
        assert plain.saw("Durable working memory for this project"), "the skill is offered"
        assert not plain.saw("Add an open question."), "the commands are not"
        run = fine(host.run(host.argv("/holdfast:add-loop Is it so?", False, *CLAUDE)))
        assert run.saw("holdfast do -- /add-loop")
        assert run.saw("---\nIs it so?\n---")


def test_claude_works_without_holdfast() -> None:
    """Without the command a turn still succeeds."""
    with on_stage("claude") as (host, _, standin):
        take_away(host, standin)
        assert fine(host.run(host.argv("hello", False, *CLAUDE))).saw("hello")


# -- OpenCode -----------------------------------------------------------------------------------------------


def with_plugin(host: Host) -> None:
    """The package as its README says: copied into the project."""
    for name in ("plugin", "command", "skill"):
        shutil.copytree(PACKAGES / "opencode" / name, host.project / ".opencode" / name, dirs_exist_ok=True)
    host.add_mcp_server(hosts.SERVER, list(hosts.SERVE))


def systems(run: Run) -> list[str]:
    """The system prompts of a run, those of titles apart."""
    found = [
        "\n".join(turn.text for turn in request.turns if turn.role == "system") for request in run.requests
    ]
    return [text for text in found if "title generator" not in text]


def test_opencode_gives_the_brief_and_reports_the_work() -> None:
    """Each request of a session has the same brief, from one call; prompt, edit and failure are reported."""
    with on_stage("opencode") as (host, model, standin):
        with_plugin(host)
        script(host, model)
        standin.answer(TRANSFORM, json.dumps({"context": BRIEF}))
        run = fine(host.turn("TOOLS"))
        told = systems(run)
        assert len(told) == 3
        assert all(text.count(BRIEF) == 1 for text in told)
        assert len({text[text.index(BRIEF) :] for text in told}) == 1
        names = standin.names_until("session.idle")
        assert names.count(TRANSFORM) == 1
        assert names.count("tool.execute.after") == 2
        assert {"session.created", "chat.message", "session.idle"} <= set(names)
        assert words(standin) == {("hook", "opencode")}
        assert {call.payload["directory"] for call in standin.calls()} == {str(host.project)}
        assert any("holdfast_note" in request.tools for request in run.requests)


def test_opencode_keeps_the_memory_through_a_compaction() -> None:
    """The summariser is told what to keep, and the next request has the brief that holdfast then gives."""
    with on_stage("opencode") as (host, _, standin):
        with_plugin(host)
        standin.answer(TRANSFORM, json.dumps({"context": BRIEF}))
        standin.answer("experimental.session.compacting", '{"context": "KEEP-D-1 in the summary"}')
        fine(host.turn("hello"))
        before = len(standin.calls())
        assert fine(host.compact()).saw("KEEP-D-1")
        names = standin.names_until("session.compacted")[before:]
        assert names.index("experimental.session.compacting") < names.index("session.compacted")
        standin.answer(TRANSFORM, json.dumps({"context": "AFTER-9c"}))
        assert fine(host.turn("go on", resume=True)).saw("AFTER-9c")


def test_opencode_works_without_holdfast() -> None:
    """Without the command a turn still succeeds."""
    with on_stage("opencode") as (host, model, standin):
        with_plugin(host)
        script(host, model)
        take_away(host, standin)
        run = fine(host.turn("TOOLS"))
        assert (run.stdout + run.stderr).count("does nothing") == 1
        assert (host.project / "made.txt").read_text() == "one\n"


def test_opencode_takes_the_commands() -> None:
    """A command of the package becomes the prompt with the user's words."""
    with on_stage("opencode") as (host, _, _):
        with_plugin(host)
        run = fine(host.run([str(host.entry), "run", "--command", "holdfast-add-loop", "Is it so?"]))
        assert run.saw("holdfast do -- /add-loop")
        assert run.saw("Is it so?")


# -- Gemini CLI ---------------------------------------------------------------------------------------------


def with_extension(host: Host) -> None:
    """The extension linked from the repository."""
    link = [
        str(node()),
        str(host.entry),
        "extensions",
        "link",
        str(PACKAGES / "gemini" / "holdfast"),
        "--consent",
    ]
    assert "linked successfully" in fine(host.run(link)).stderr


def test_gemini_loads_all_parts_of_the_extension() -> None:
    """Context file, hooks, server and skill are there; the brief is in the first request."""
    with on_stage("gemini") as (host, model, standin):
        with_extension(host)
        script(host, model)
        standin.answer("SessionStart", nested("SessionStart"))
        run = fine(host.turn("TOOLS"))
        assert any(BRIEF in turn.text for turn in run.requests[0].turns)
        assert run.saw("# Working memory (holdfast)")
        assert "mcp_holdfast_note" in run.requests[0].tools
        names = standin.names()
        assert names[:2] == ["SessionStart", "BeforeAgent"]
        assert names.count("AfterTool") == 2
        assert {"PreCompress", "AfterAgent", "SessionEnd"} <= set(names)
        assert words(standin) == {("hook", "gemini")}


def test_gemini_takes_the_commands() -> None:
    """A typed action becomes the prompt with the user's words."""
    with on_stage("gemini") as (host, _, _):
        with_extension(host)
        run = fine(host.turn("/holdfast:add-loop Is it so?"))
        assert run.saw("holdfast do -- /add-loop 'TEXT'")
        assert run.saw("---\nIs it so?\n---")


# -- Codex --------------------------------------------------------------------------------------------------


def check_codex(host: Host, model: FakeModel, standin: StandIn) -> None:
    """Skill, hooks and server are there; the brief is in the first request."""
    script(host, model)
    model.on("REMOTE", Reply(call=host.mcp_call(hosts.SERVER, "note", {"text": "kept"})))
    standin.answer("SessionStart", nested("SessionStart"))
    run = fine(host.turn("TOOLS"))
    assert any(BRIEF in turn.text for turn in run.requests[0].turns)
    assert run.saw("Durable working memory for this project")
    names = standin.names()
    assert names[:2] == ["SessionStart", "UserPromptSubmit"]
    assert names.count("PostToolUse") == 2  # the edit, and the command: its success ends an earlier failure
    assert {"Stop", "SessionEnd"} <= set(names)
    fine(host.turn("REMOTE", resume=True))
    assert (standin.folder / "notes.txt").read_text() == "kept\n"
    before = len(standin.calls())
    fine(host.compact())
    assert {"PreCompact", "PostCompact"} <= set(standin.names()[before:])
    assert words(standin) == {("hook", "codex")}


def test_codex_loads_all_parts_of_the_plug_in() -> None:
    """The plug-in from the marketplace works in a session."""
    with on_stage("codex") as (host, model, standin):
        assert isinstance(host, Codex)
        config = host.folder / "config.toml"
        config.write_text(config.read_text().replace("plugins = false", "plugins = true"))
        fine(host.run([str(host.entry), "plugin", "marketplace", "add", str(ROOT)]))
        fine(host.run([str(host.entry), "plugin", "add", "holdfast@holdfast"]))
        check_codex(host, model, standin)


def test_codex_takes_the_set_up_by_hand() -> None:
    """The same without plug-ins: hooks, a table in the configuration, and the skill in its folder."""
    with on_stage("codex") as (host, model, standin):
        assert isinstance(host, Codex)
        by_hand = PACKAGES / "codex" / "by-hand"
        shutil.copy(by_hand / "hooks.json", host.folder)
        with open(host.folder / "config.toml", "a") as handle:
            handle.write("\n" + (by_hand / "config.toml").read_text())
        skills = PACKAGES / "codex" / "holdfast" / "skills"
        shutil.copytree(skills, host.home / ".agents" / "skills")
        check_codex(host, model, standin)


# -- Copilot CLI --------------------------------------------------------------------------------------------


def test_copilot_takes_the_files_of_the_project() -> None:
    """Hooks and server are there; the brief is in the first request."""
    with on_stage("copilot") as (host, model, standin):
        shutil.copytree(PACKAGES / "copilot", host.project, dirs_exist_ok=True)
        script(host, model)
        # Its payloads do not name their event; the one of a session's start alone has a source.
        standin.answer("", json.dumps({"additionalContext": BRIEF}))
        run = fine(host.turn("TOOLS"))
        assert any(BRIEF in turn.text for turn in run.requests[0].turns)
        assert "holdfast-note" in run.requests[0].tools
        payloads = [call.payload for call in standin.calls()]
        assert any("source" in payload for payload in payloads)
        assert any("prompt" in payload for payload in payloads)
        assert sum("toolName" in payload for payload in payloads) >= 2
        assert any("stopReason" in payload for payload in payloads)
        assert words(standin) == {("hook", "copilot")}


def test_no_path_of_this_machine_is_in_a_package() -> None:
    """Packages work wherever the repository is."""
    for path in PACKAGES.rglob("*"):
        if path.is_file() and "node_modules" not in path.parts:
            assert str(Path.home()) not in path.read_text() or str(Path.home()) == "/", path
            assert str(ROOT) not in path.read_text(), path
