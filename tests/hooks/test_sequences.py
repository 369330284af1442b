"""Sequences of events: twice is once, conversations find their session, nothing is delivered twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.hooks.delivery_log import line_digest
from holdfast.edge.hooks.hosts import NAMES, load

from .conftest import (
    ASKED_AS,
    DIALECTS,
    FOLDERS,
    Call,
    context,
    errors,
    event_of,
    fixture,
    names,
    own_process,
    state,
)


def commits() -> int:
    with holdfast.open() as workspace:
        return workspace.session().version


def claude(project: Path, event: str, session: str = "s", **more: Any) -> dict[str, Any]:
    """A payload of Claude Code."""
    return {
        "session_id": session,
        "cwd": str(project),
        "hook_event_name": event,
        "transcript_path": "/t",
        **more,
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_event_twice_is_once(folder: str, started: Path, call: Call) -> None:
    """A host that fires every hook twice leaves the same log as one that does not."""
    (started / "made.txt").write_text("two\n")
    for name in names(folder):
        call(ASKED_AS.get(folder, folder), fixture(folder, name, started), event_of(name))
        after = commits()
        call(ASKED_AS.get(folder, folder), fixture(folder, name, started), event_of(name))
        assert commits() == after, name
    assert errors(started) == ""


def test_copilot_with_two_settings_files(started: Path, call: Call) -> None:
    """The hooks of both files fire for one event, with payloads of different forms: one record, one brief."""
    (started / "made.txt").write_text("one\n")
    pairs = [
        ("sessionStart-new", "SessionStart-new"),
        ("userPromptSubmitted", "UserPromptSubmit"),
        ("postToolUse-bash-failed", "PostToolUse-Bash-failed"),
        ("preCompact-manual", "PreCompact-manual"),
        ("agentStop", "Stop"),
    ]
    for own, claudes in pairs:
        first = call("copilot", fixture("copilot", own, started))
        after = commits()
        second = call("claude", fixture("copilot-claude-settings", claudes, started))
        assert commits() == after, own
        told = [bool(context("copilot", first)), bool(context("copilot-claude-settings", second))]
        assert told == [True, False] if own == "sessionStart-new" else told[0] == told[1]
    assert state()["compactions"]["count"] == 1


def test_vs_code_and_claude_code_share_a_file(started: Path, call: Call) -> None:
    """The hook in Claude Code's settings answers VS Code in its own dialect."""
    said = context("vscode", call("claude", fixture("vscode", "SessionStart-new", started)))
    assert "D-1" in said
    assert call("claude", fixture("vscode", "PreCompact-auto", started)) == ""


@pytest.mark.parametrize("folder", sorted(set(FOLDERS) - {"opencode"}))
def test_the_caller_is_known_by_its_payload(folder: str, started: Path, call: Call) -> None:
    """Whatever host the command names, a recognisable payload is answered in its own dialect."""
    start = next(name for name in names(folder) if name.lower().startswith("sessionstart"))
    named = {"codex": "codex", "claude": "claude"}.get(folder, "claude")
    assert "D-1" in context(folder, call(named, fixture(folder, start, started)))


def test_events_of_copilot_need_no_name(started: Path, call: Call) -> None:
    """Payloads that do not name their event are recognised by their fields."""
    (started / "made.txt").write_text("one\n")
    for name in (
        "sessionStart-new",
        "userPromptSubmitted",
        "postToolUse-apply_patch",
        "postToolUse-bash-failed",
    ):
        call("copilot", fixture("copilot", name, started))
    call("copilot", fixture("copilot", "preCompact-manual", started))
    found = state()
    assert [message["text"] for message in found["messages"]["recent"]] == ["TOOLS"]
    assert list(found["references"]["open"]) == ["made.txt"]
    assert len(found["errors"]["open"]) == 1
    assert found["compactions"]["count"] == 1


@pytest.mark.parametrize("folder", ["copilot", "copilot-claude-settings", "vscode"])
def test_the_brief_comes_again_after_a_compaction(folder: str, started: Path, call: Call) -> None:
    """Where no start follows a compaction, the next prompt brings the brief once."""
    host = ASKED_AS.get(folder, folder)
    kinds = {"copilot": ("sessionStart-new", "userPromptSubmitted", "preCompact-manual")}
    start, prompt, compact = kinds.get(folder, ("SessionStart-new", "UserPromptSubmit", "PreCompact-manual"))
    compact = "PreCompact-auto" if folder == "vscode" else compact
    call(host, fixture(folder, start, started))
    assert call(host, fixture(folder, prompt, started)) == ""
    call(host, fixture(folder, compact, started))
    asked = {**fixture(folder, prompt, started), "prompt": "and now"}
    assert "D-1" in context(folder, call(host, asked))
    assert call(host, {**asked, "prompt": "and then"}) == ""


def test_a_requested_gemini_compression(started: Path, call: Call) -> None:
    """Only a manual compression is certain: the next prompt brings the brief."""
    call("gemini", fixture("gemini", "SessionStart-startup", started))
    call("gemini", fixture("gemini", "PreCompress-auto", started))
    ask = fixture("gemini", "BeforeAgent", started)
    assert call("gemini", ask) == ""
    call("gemini", {**fixture("gemini", "PreCompress-auto", started), "trigger": "manual"})
    assert "D-1" in context("gemini", call("gemini", {**ask, "prompt": "and now"}))


def test_a_gemini_conversation_that_grew(started: Path, call: Call, tmp_path: Path) -> None:
    """An automatic compression is not reported: the brief comes again once when the transcript has grown a lot."""
    transcript = tmp_path / "chat.jsonl"
    transcript.write_bytes(b"x" * 1_000)
    start = {**fixture("gemini", "SessionStart-startup", started), "transcript_path": str(transcript)}
    ask = {**fixture("gemini", "BeforeAgent", started), "transcript_path": str(transcript)}
    call("gemini", start)
    assert call("gemini", {**ask, "prompt": "one"}) == ""
    transcript.write_bytes(b"x" * 500_000)
    assert "D-1" in context("gemini", call("gemini", {**ask, "prompt": "two"}))
    assert call("gemini", {**ask, "prompt": "three"}) == ""
    assert errors(started) == ""


def test_a_workspace_in_a_database(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """HOLDFAST_URL names the workspace for hooks too."""
    monkeypatch.setenv("HOLDFAST_URL", f"sqlite:///{tmp_path}/memory.db")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.txt").write_text("one\n")
    names_ = (
        "UserPromptSubmit",
        "PostToolUse-Write",
        "PreCompact-auto",
        "SessionStart-compact",
        "PostCompact-auto",
        "Stop",
    )
    said = [call("claude", fixture("claude", name, tmp_path)) for name in names_]
    assert "«TOOLS»" in said[2]
    assert "«TOOLS»" in context("claude", said[3])
    found = state()
    assert list(found["references"]["open"]) == ["made.txt"]
    assert found["recovery"]["last_action"] == "All done."


def test_injected_text_in_a_prompt_is_not_stored(started: Path, call: Call) -> None:
    """Gemini CLI shows a prompt with our own brief before it: only the user's prompt is stored."""
    ask = fixture("gemini", "BeforeAgent", started)
    call("gemini", {**ask, "prompt": "<hook_context>holdfast: session …</hook_context>\n\nfix the build"})
    assert [message["text"] for message in state()["messages"]["recent"]] == ["fix the build"]


def test_a_fresh_workspace(project: Path, call: Call) -> None:
    """Without a session the start says so, and the first prompt starts one with its first line as the goal."""
    said = context("claude", call("claude", claude(project, "SessionStart", source="startup")))
    assert "No session is open" in said
    call("claude", claude(project, "UserPromptSubmit", prompt="/model opus", prompt_id="1"))
    call("claude", claude(project, "UserPromptSubmit", prompt="<task-notification>", prompt_id="2"))
    with holdfast.open() as workspace:
        assert workspace.sessions() == []
    call(
        "claude",
        claude(project, "UserPromptSubmit", prompt="\n\nFix the build\nand then the docs", prompt_id="3"),
    )
    found = state()
    assert found["registers"]["goal"]["value"] == "Fix the build"


def test_events_before_the_start(project: Path, call: Call) -> None:
    """Codex compacts before it reports the start of a conversation: the session is started then."""
    call("codex", fixture("codex", "PreCompact-auto", project))
    call("codex", fixture("codex", "PostCompact-auto", project))
    said = context("codex", call("codex", fixture("codex", "SessionStart-compact", project)))
    assert "Work in project" in said
    assert state()["compactions"]["count"] == 1


def test_conversations_find_their_session(project: Path, call: Call) -> None:
    """Resumed and forked conversations continue the session; one that its own agent moved to another goes on there."""
    call("claude", claude(project, "UserPromptSubmit", "one", prompt="Fix the build", prompt_id="1"))
    with holdfast.open() as workspace:
        first = workspace.session().id
    for session, source in (("one", "resume"), ("two", "fork"), ("three", "startup"), ("one", "compact")):
        said = context("claude", call("claude", claude(project, "SessionStart", session, source=source)))
        assert first in said
    with holdfast.open() as workspace:
        second = workspace.start("Something else").id
    said = context("claude", call("claude", claude(project, "SessionStart", "one", source="resume")))
    assert second in said, "the agent of the conversation has begun other work"


def test_a_conversation_that_was_away(project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days later the pointer is elsewhere: a resumed conversation still finds its own session, and commands follow."""
    with own_process(monkeypatch):
        call("claude", claude(project, "UserPromptSubmit", "one", prompt="Fix the build", prompt_id="1"))
    (project / ".state" / "config.toml").write_text('[sessions]\naway = "0m"\n')
    with holdfast.open() as workspace:
        first = workspace.session().id
        workspace.start("Something else")
    with own_process(monkeypatch):
        said = context("claude", call("claude", claude(project, "SessionStart", "one", source="resume")))
        assert first in said
        with holdfast.open() as workspace:
            assert workspace.session().id == first


def test_a_conversation_follows_a_choice(project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody chooses another session in a terminal during a conversation: it goes on there."""
    with own_process(monkeypatch):
        call("claude", claude(project, "UserPromptSubmit", "one", prompt="Fix the build", prompt_id="1"))
    with holdfast.open() as workspace:
        second = workspace.start("Something else").id
    with own_process(monkeypatch):
        said = context("claude", call("claude", claude(project, "SessionStart", "one", source="resume")))
        assert second in said


def test_an_archived_session_is_left_alone(started: Path, call: Call) -> None:
    """A conversation whose session was archived continues with another one."""
    call("claude", claude(started, "UserPromptSubmit", "one", prompt="Go", prompt_id="1"))
    with holdfast.open() as workspace:
        session = workspace.session()
        session.settle("D-1", "done")
        session.complete()
        from holdfast.workspace.upkeep import archive

        archive(workspace, session.id)
    call("claude", claude(started, "UserPromptSubmit", "one", prompt="Something new", prompt_id="2"))
    assert errors(started) == ""
    assert state()["registers"]["goal"]["value"] == "Something new"


def test_a_checkpoint_of_an_agent_survives(started: Path, call: Call) -> None:
    """An agent's checkpoint is still there after two compactions."""
    with holdfast.open() as workspace:
        workspace.session().checkpoint("half done", pending=["the index"], instruction="start at row 7")
    for number in range(2):
        call("claude", claude(started, "PreCompact", trigger="auto", prompt_id=f"p{number}"))
        call(
            "claude",
            claude(started, "PostCompact", trigger="auto", prompt_id=f"p{number}", compact_summary="s"),
        )
    found = state()
    assert found["checkpoint"]["message"] == "half done"
    assert found["checkpoint"]["pending"] == ["the index"]
    assert found["checkpoint"]["instruction"] == "start at row 7"
    assert found["compactions"]["count"] == 2


def test_what_was_in_flight(started: Path, call: Call) -> None:
    """The end of a turn stores the last message and what still runs."""
    task = {"id": "a", "status": "running", "description": "look for leaks"}
    done = {"id": "b", "status": "done", "description": "old"}
    call(
        "claude",
        claude(started, "Stop", last_assistant_message="Built it.\nMore", background_tasks=[task, done]),
    )
    recovery = state()["recovery"]
    assert recovery["last_action"] == "Built it. More; still running: look for leaks"
    assert recovery["last_agent"] == "claude"


def test_contested_values_are_delivered_once(started: Path, call: Call, tmp_path: Path) -> None:
    """Two clones set the goal: each conversation is notified at its next prompt, and not again."""
    clone = tmp_path / "clone"
    shutil.copytree(started, clone)
    for place, goal in ((clone, "Keep the tables"), (started, "Delete the tables")):
        with holdfast.open(place) as workspace:
            workspace.session().set_goal(goal)
    for path in (clone / ".state" / "events").rglob("*.jsonl"):
        target = started / path.relative_to(clone)
        if not target.exists():
            shutil.copy(path, target)
    asked = claude(started, "UserPromptSubmit", prompt="a", prompt_id="1")
    said = context("claude", call("claude", asked))
    assert errors(started) == ""
    assert "CONTESTED goal" in said
    assert "Keep the tables" in said
    assert "Delete the tables" in said
    assert call("claude", claude(started, "UserPromptSubmit", prompt="b", prompt_id="2")) == ""
    assert "CONTESTED" in call(
        "claude", claude(started, "UserPromptSubmit", "other", prompt="c", prompt_id="3")
    )


def other_agent(project: Path) -> subprocess.Popen[str]:
    """Another live agent: an unrelated process that claims a file."""
    code = (
        "import os, sys\nif os.fork(): os._exit(0)\nos.setsid()\nimport holdfast\n"
        "from holdfast.workspace.presence import Presence\n"
        "with holdfast.open(by='bob') as workspace:\n"
        "    Presence(workspace).claim(['made.txt'])\n"
        "    Presence(workspace).beat('alice/' + workspace.session().id)\n"
        "print('here', flush=True)\nsys.stdin.read()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=project,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def test_another_agent_on_the_same_file(started: Path, call: Call) -> None:
    """Another live agent claimed the file that was just edited: the agent is notified once, and the brief says so
    too."""
    (started / "made.txt").write_text("one\n")
    other = other_agent(started)
    try:
        edit = fixture("claude", "PostToolUse-Write", started)
        assert "bob is also working on «made.txt»" in context("claude", call("claude", edit))
        (started / "made.txt").write_text("two\n")
        assert call("claude", edit) == ""
        said = context("claude", call("claude", claude(started, "SessionStart", source="resume")))
        assert "ALSO AT WORK on this session: «bob»" in said
    finally:
        other.communicate("")


def test_a_hosts_own_server_is_the_same_agent(started: Path, call: Call) -> None:
    """A child of the host with presence under another name, like its MCP server, is the same agent."""
    (started / "made.txt").write_text("one\n")
    code = (
        "import sys, holdfast\nfrom holdfast.workspace.presence import Presence\n"
        "with holdfast.open(by='server') as workspace:\n"
        "    Presence(workspace).claim(['made.txt'])\n"
        "    Presence(workspace).beat('alice/' + workspace.session().id)\n"
        "print('here', flush=True)\nsys.stdin.read()\n"
    )
    command = ["/bin/sh", "-c", f"{sys.executable} -m holdfast hook claude; true"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=started,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "here\n"
        for name in ("SessionStart-startup", "PostToolUse-Write"):
            raw = json.dumps(fixture("claude", name, started)).encode()
            done = subprocess.run(command, input=raw, cwd=started, env=environment, capture_output=True)
            assert b"server" not in done.stdout
    finally:
        child.communicate("")


def test_a_host_is_not_reported_to_itself(started: Path) -> None:
    """Two calls of one host through a shell: the second does not see the first as another agent."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    raw = json.dumps(fixture("claude", "SessionStart-startup", started)).encode()
    command = f"{sys.executable} -m holdfast hook claude; true"
    for told in (True, False):
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=raw, cwd=started, env=environment, capture_output=True
        )
        assert b"ALSO AT WORK" not in done.stdout
        assert (b"D-1" in done.stdout) is told


def test_concurrent_hooks(project: Path) -> None:
    """Sixteen processes of eight conversations on a fresh workspace: one session, every prompt in it once."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def ask(number: int) -> int:
        payload = claude(
            project, "UserPromptSubmit", "same", prompt=f"prompt {number % 8}", prompt_id=str(number % 8)
        )
        command = [sys.executable, "-m", "holdfast", "hook", "claude"]
        return subprocess.run(
            command, input=json.dumps(payload).encode(), cwd=project, env=environment
        ).returncode

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(16))) == {0}
    assert errors(project) == ""
    with holdfast.open() as workspace:
        assert len(workspace.sessions()) == 1
    assert sorted(message["text"] for message in state()["messages"]["recent"]) == [
        f"prompt {n}" for n in range(8)
    ]


@pytest.mark.parametrize("letter", ["x", "é", "漢", "\U0001f600"])
def test_caps_at_any_size(letter: str, project: Path, call: Call) -> None:
    """A session full of long texts: the injected text stays under every host's limit and begins with the goal."""
    with holdfast.open() as workspace:
        session = workspace.start(letter * 500)
        for number in range(150):
            session.decide(f"{number} {letter * 600}", because=letter * 600, action=letter * 300)
            session.add_loop(f"{number} {letter * 400}")
    for host in NAMES:
        start = "SessionStart"
        if host in ("copilot", "cursor"):
            start = "sessionStart"
        if host == "opencode":
            start = "experimental.chat.system.transform"
        payload: dict[str, Any] = {"session_id": host, "cwd": str(project)}
        if host == "opencode":
            payload = {"hook": start, "directory": str(project), "input": {"sessionID": "x"}}
        said = context(host, call(host, payload, start))
        module = load(host)
        assert 300 < module.size(said) <= module.CAP
        assert letter * 50 in said
    keep = call("claude", {"session_id": "x", "cwd": str(project)}, "PreCompact")
    assert "D-150" in keep
    assert load("claude").size(keep) <= 9_900
    assert DIALECTS.keys() == set(FOLDERS)


def test_a_resumed_conversation_gets_what_is_new(started: Path, call: Call) -> None:
    """A conversation that still has the brief gets only the lines that changed since; after a compaction, all."""
    first = context("claude", call("claude", claude(started, "SessionStart", "one", source="startup")))
    assert "Goal" in first
    assert context("claude", call("claude", claude(started, "SessionStart", "one", source="resume"))) == ""
    with holdfast.open(by="codex") as workspace:
        workspace.session().add_blocker("the disk is full")
    said = context("claude", call("claude", claude(started, "SessionStart", "one", source="resume")))
    assert "the disk is full" in said
    assert "Goal" not in said
    call("claude", claude(started, "PostCompact", "one", trigger="auto", prompt_id="9", compact_summary="s"))
    said = context("claude", call("claude", claude(started, "SessionStart", "one", source="compact")))
    assert "Goal" in said
    call("claude", claude(started, "PreCompact", "one", trigger="auto", prompt_id="10"))
    said = context("claude", call("claude", claude(started, "SessionStart", "one", source="resume")))
    assert "Goal" in said, "a host may not report that the compaction came about"


def test_two_hooks_at_once_give_one_brief(started: Path) -> None:
    """Two settings files whose hooks a host runs at the same time put one brief into the conversation."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    raw = json.dumps(claude(started, "SessionStart", "one", source="startup")).encode()
    command = [sys.executable, "-m", "holdfast", "hook", "claude"]
    both = [
        subprocess.Popen(command, cwd=started, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for child in both:
        assert child.stdin is not None
        child.stdin.write(raw)
    said = [child.communicate()[0] for child in both]
    assert sum(b"Goal" in each for each in said) == 1


def test_decisions_of_another_agent_come_with_the_next_prompt(started: Path, call: Call) -> None:
    """What another agent decides in the session is told once, with the next prompt; one's own is not."""
    call("claude", claude(started, "SessionStart", "one", source="startup"))
    with holdfast.open(by="codex") as workspace:
        workspace.session().decide("Use WAL", because="readers block writers")
    with holdfast.open(by="claude") as workspace:
        workspace.session().decide("Use TOML", because="comments")
    prompt = claude(started, "UserPromptSubmit", "one", prompt="go on", prompt_id="7")
    said = context("claude", call("claude", prompt))
    assert "Use WAL" in said
    assert "readers block writers" in said
    assert "Use TOML" not in said
    prompt = claude(started, "UserPromptSubmit", "one", prompt="and on", prompt_id="8")
    assert "Use WAL" not in context("claude", call("claude", prompt))


def test_orders_that_the_host_shows_are_not_repeated(started: Path, call: Call) -> None:
    """A standing order that is in the file of instructions which the host loads is not in the brief as well."""
    with holdfast.open(origin="human") as workspace:
        workspace.project.order("Never push to main")
        workspace.project.order("Ask before deleting")
    (started / "AGENTS.md").write_text("- Never push to main\n")
    said = context("codex", call("codex", fixture("codex", "SessionStart-startup", started)))
    assert "Ask before deleting" in said
    assert "Never push to main" not in said


@pytest.mark.parametrize(
    "line", ["- a (human x, 3 d ago)", "- a ago) b (x, 3 min ago) ago)", " ago)", "- a, b"]
)
def test_the_age_of_a_line_does_not_make_it_new(line: str) -> None:
    """A line whose age alone has changed counts as delivered; any other change counts."""
    assert line_digest(line.replace("3 ", "4 ")) == line_digest(line)
    assert line_digest(f"{line} more") != line_digest(line)
