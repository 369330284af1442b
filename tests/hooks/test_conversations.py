"""Sessions that begin and end: who shares one, what starts a new one, what becomes of those that nobody ended."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.edge.cli import main
from holdfast.edge.hooks import answered
from holdfast.fs.process import identify
from holdfast.workspace.conversations import RECENT, is_live, limits_of
from holdfast.workspace.setup import init

from .conftest import Call, context, errors, own_process, state

DAY_MS = 86_400_000


def claude(project: Path, event: str, session: str, **more: Any) -> dict[str, Any]:
    """A payload of Claude Code."""
    return {
        "session_id": session,
        "cwd": str(project),
        "hook_event_name": event,
        "transcript_path": "/t",
        **more,
    }


def ask(call: Call, project: Path, session: str, prompt: str, number: str = "") -> str:
    """Submit a prompt; returns what the model is told."""
    asked = claude(project, "UserPromptSubmit", session, prompt=prompt, prompt_id=number or prompt)
    return context("claude", call("claude", asked))


def start(call: Call, project: Path, session: str, source: str = "startup") -> str:
    """Start a conversation; returns what the model is told."""
    return context("claude", call("claude", claude(project, "SessionStart", session, source=source)))


def sessions() -> list[str]:
    with holdfast.open() as workspace:
        return workspace.sessions()


def goal(name: str | None = None) -> tuple[str, str]:
    """The goal of a session, and the origin of it."""
    with holdfast.open() as workspace:
        register = workspace.session(name).state["registers"]["goal"]
    return register["value"], register["origin"]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Move the wall clock of this process on by some milliseconds."""
    from holdfast.workspace import clock

    now, ahead = clock.wall_clock, [0]

    def move(by: int) -> None:
        ahead[0] += by
        for module in list(sys.modules.values()):
            if getattr(module, "wall_clock", None) is not None and module.__name__.startswith("holdfast."):
                monkeypatch.setattr(module, "wall_clock", lambda: now() + ahead[0])

    return move


# -- the goal ------------------------------------------------------------------------------------------------


def test_the_goal_follows_the_work(project: Path, call: Call) -> None:
    """A greeting is no goal; the first request is, then a clearly larger one; all are guessed until one is set."""
    ask(call, project, "one", "hi there!")
    assert goal() == ("Work in project", "tool")
    ask(call, project, "one", "yes")
    ask(call, project, "one", "Hello, fix the login page\nit is slow")
    assert goal() == ("fix the login page", "tool")
    ask(call, project, "one", "try the tests again")
    assert goal()[0] == "fix the login page"
    ask(call, project, "one", "Write release notes for version two of the mobile client")
    assert goal()[0] == "Write release notes for version two of the mobile client"
    with holdfast.open() as workspace:
        workspace.session().set_goal("Ship version two")
    ask(call, project, "one", "Translate every invoice template into Portuguese")
    assert goal() == ("Ship version two", "agent")
    texts = [message["text"] for message in state()["messages"]["recent"]]
    assert texts[0] == "hi there!"
    assert len(texts) == 6, "every prompt is kept, whatever the goal"


def test_a_guessed_goal_is_shown_as_guessed(
    project: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brief, status, sessions, goal and STATE.md say so, in text and in JSON; after `goal set` they no longer do."""
    ask(call, project, "one", "Fix the login page")

    def shown() -> list[bool]:
        found = []
        for words in (["status"], ["sessions"], ["goal", "show"], ["brief"]):
            assert main(words) == 0
            found.append("(guessed)" in capsys.readouterr().out)
        for words in (["status", "--json"], ["goal", "show", "--json"], ["sessions", "--json"]):
            assert main(words) == 0
            said = json.loads(capsys.readouterr().out)
            found.append((said.get("state") or (said.get("sessions") or [said])[0])["goal_guessed"])
        page = next((project / ".state").rglob("STATE.md")).read_text()
        return [*found, "guessed from a request" in page]

    assert set(shown()) == {True}
    assert main(["goal", "set", "Ship it"]) == 0
    capsys.readouterr()
    assert set(shown()) == {False}


def test_new_work_beside_a_goal_that_was_set_is_asked_about(project: Path, call: Call) -> None:
    """A request about something else than the set goal changes nothing, and the agent is asked, once."""
    with holdfast.open() as workspace:
        workspace.start("Fix the login page")
    said = ask(call, project, "one", "Write release notes for version two of the mobile client")
    assert "this request is not about the goal of the session, «Fix the login page»" in said
    assert len(sessions()) == 1
    said = ask(call, project, "one", "Translate every invoice template into Portuguese")
    assert "not about the goal" not in said


# -- what starts a new session -------------------------------------------------------------------------------


def test_clear_starts_a_linked_session(project: Path, call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """After /clear the brief has the project's memory and what was left open; the next request starts a session that
    follows the old one."""
    ask(call, project, "one", "Fix the login page")
    with holdfast.open() as workspace:
        old = workspace.session()
        old.decide("Cache the page", because="it is slow", action="add the cache")
        workspace.project.order("Never push to main")
    call("claude", claude(project, "SessionEnd", "one", reason="clear"))
    for _ in range(2):  # two settings files
        said = start(call, project, "two", "clear")
        if said:
            assert "No session is open" in said
            assert "Cache the page" in said
            assert "Never push to main" in said
            assert f"{old.name} [working] «Fix the login page» (guessed)" in said
    assert len(sessions()) == 1
    said = ask(call, project, "two", "Write the release notes")
    assert f"it follows {old.name}" in said
    assert goal() == ("Write the release notes", "tool")
    assert state()["previous"] == old.name
    assert main(["status"]) == 0
    assert f"follows  {old.name}" in capsys.readouterr().out
    assert main(["brief"]) == 0
    assert "Cache the page" in capsys.readouterr().out
    said = start(call, project, "one", "resume")
    assert old.name in said, "the cleared conversation, resumed, has its session still"


def test_a_new_topic_after_a_break(
    project: Path, call: Call, later: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a night, a request about the same work continues the session, another topic starts a new one."""
    with own_process(monkeypatch):
        ask(call, project, "one", "Fix the login page")
    later(10 * 3_600_000)
    with own_process(monkeypatch):
        assert "Fix the login page" in start(call, project, "two")
        ask(call, project, "two", "Is the login page faster than before on old phones?")
    assert len(sessions()) == 1
    later(10 * 3_600_000)
    with own_process(monkeypatch):
        start(call, project, "three")
        said = ask(call, project, "three", "Translate every invoice template into Portuguese")
        assert "a new topic after a break" in said
    assert len(sessions()) == 2
    assert state()["previous"] == sorted(sessions(), key=lambda name: goal(name)[0])[0]


def test_another_branch_and_another_worktree(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new conversation on another branch gets a session of its own, a running one takes its session along; another
    worktree has its own."""
    top = tmp_path / "repository"
    top.mkdir()
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    for variable in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{variable}_NAME", "alice")
        monkeypatch.setenv(f"GIT_{variable}_EMAIL", "a@b.c")

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=top, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    init(str(top), given=True)
    monkeypatch.chdir(top)
    git("add", "-A")
    git("commit", "-qm", "begin")
    with own_process(monkeypatch):
        ask(call, top, "one", "Fix the login page")
        git("checkout", "-q", "-b", "login")
        ask(call, top, "one", "now measure it on old phones")
    assert len(sessions()) == 1
    with own_process(monkeypatch):
        assert "Fix the login page" in start(call, top, "two"), "the branch is that of the session"
    git("add", "-A")
    git("commit", "-qm", "work")
    git("branch", "release")
    git("worktree", "add", "-q", "../other", "release")
    git("checkout", "-q", "release", "--ignore-other-worktrees")
    with own_process(monkeypatch):
        said = start(call, top, "three")
        assert "No session is open" in said
        assert "Fix the login page" in said, "what was left open is named"
        assert "it follows" in ask(call, top, "three", "Tag the release")
    assert len(sessions()) == 2
    other = tmp_path / "other"
    monkeypatch.chdir(other)
    with own_process(monkeypatch):
        assert "No session is open" in start(call, other, "four")
        ask(call, other, "four", "Write the announcement")
        assert goal()[0] == "Write the announcement"
    assert errors(top) == errors(other) == ""


# -- two conversations at once -------------------------------------------------------------------------------


def test_two_conversations_do_not_share_a_session(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two live hosts in one worktree: each has its own session, commands in each host's shell go there under the host's
    name, decisions of one are told to the other, and what one leaves the next continues."""
    other = own_process(monkeypatch)
    with own_process(monkeypatch):
        ask(call, project, "one", "Fix the login page")
        first = state()["session"]
        with other as second_host:
            assert "No session is open" in start(call, project, "two")
            ask(call, project, "two", "Fix the signup page")
            second = state()["session"]
            assert second != first
            assert main(["decide", "Use WAL", "--because", "readers block"]) == 0
            made = state()["decisions"]["closed"][-1]
            assert (made["text"], made["by"], made["origin"]) == ("Use WAL", "claude", "agent")
            assert second_host
        capsys.readouterr()
        # The second host has ended: its decision was made while the first one was live.
        assert state()["session"] == first
    with own_process(monkeypatch):
        assert second in start(call, project, "three"), "the last conversation here was in the second session"


def test_decisions_of_the_other_conversation_are_told(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a live conversation decides in its own session comes with the next prompt of the other one, once."""
    with own_process(monkeypatch) as host:
        ask(call, project, "one", "Fix the login page")
        with own_process(monkeypatch):
            ask(call, project, "two", "Fix the signup page")
            with holdfast.open(by="claude") as workspace:
                workspace.session().decide("Use WAL", because="readers block")
            monkeypatch.setenv("HOLDFAST_PID", str(host))
            assert "Use WAL" in ask(call, project, "one", "go on")
            assert "Use WAL" not in ask(call, project, "one", "and on")


def test_a_conversation_joins_by_switching(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that switches to the other's session works there too, also at its next prompts."""
    with own_process(monkeypatch):
        ask(call, project, "one", "Fix the login page")
        first = state()["session"]
        with own_process(monkeypatch):
            ask(call, project, "two", "Fix the signup page")
            assert main(["switch", first]) == 0
            assert state()["session"] == first
            ask(call, project, "two", "and the password page")
            assert state()["session"] == first
    texts = [message["text"] for message in state()["messages"]["recent"]]
    assert texts == ["Fix the login page", "and the password page"]


def test_a_conversation_joins_by_claiming(project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that claims a handoff through MCP works on that session from then on, as after `resume --claim`."""
    with own_process(monkeypatch):
        ask(call, project, "one", "Fix the login page")
        first = state()["session"]
        assert main(["handoff", "the form is left"]) == 0
        with own_process(monkeypatch):
            ask(call, project, "two", "Fix the signup page")
            assert state()["session"] != first
            info = {"name": "claude-code", "version": "1"}
            asked = [
                {
                    "id": 1,
                    "method": "initialize",
                    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info},
                },
                {"method": "notifications/initialized"},
                {
                    "id": 2,
                    "method": "tools/call",
                    "params": {"name": "handoff", "arguments": {"do": "claim", "session": first}},
                },
            ]
            lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in asked)
            done = subprocess.run(
                [sys.executable, "-m", "holdfast", "mcp"],
                input=lines,
                capture_output=True,
                text=True,
                check=True,
            )
            assert json.loads(done.stdout.splitlines()[-1])["result"]["isError"] is False
            assert state()["session"] == first
            ask(call, project, "two", "and the password page")
            assert state()["session"] == first


def test_conversations_that_start_at_the_same_time(project: Path) -> None:
    """Eight hosts at once in a project with one session that was left: one continues it, the others get their own."""
    with holdfast.open() as workspace:
        workspace.start("Left alone")
    hosts = [subprocess.Popen(["sleep", "1000"]) for _ in range(8)]

    def run(number: int) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOLDFAST_PID": str(hosts[number].pid),
        }
        for payload in (
            claude(project, "SessionStart", f"c{number}", source="startup"),
            claude(project, "UserPromptSubmit", f"c{number}", prompt=f"Fix page {number}", prompt_id="1"),
        ):
            subprocess.run(
                [sys.executable, "-m", "holdfast", "hook", "claude"],
                input=json.dumps(payload).encode(),
                cwd=project,
                env=environment,
                check=True,
                capture_output=True,
            )

    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(8)))
        assert shared(project) == []
        assert errors(project) == ""
    finally:
        for host in hosts:
            host.kill()
            host.wait()
    assert len(sessions()) == 8
    assert sorted(prompts()) == [f"Fix page {number}" for number in range(8)]


def shared(project: Path) -> list[str]:
    """The sessions that two live conversations work on although neither joined."""
    with holdfast.open(project) as workspace:
        entries = json.loads(workspace.store.get(RECENT) or b"{}").values()
        limits, here = limits_of(workspace), identify()
        from holdfast.workspace.clock import wall_clock

        live = [
            entry["session"]
            for entry in entries
            if entry["session"] and not entry["joined"] and is_live(entry, wall_clock(), limits, here)
        ]
    return [name for name in live if live.count(name) > 1]


def prompts() -> list[str]:
    """Every prompt in the logs of all sessions."""
    with holdfast.open() as workspace:
        return [
            str(event.data["text"])
            for name in workspace.sessions()
            for commit in workspace.session(name).log()
            for event in commit.events
            if event.type == "message.added" and event.data["role"] == "user"
        ]


PROMPTS = (
    "hi",
    "Fix the login page",
    "continue",
    "Translate every invoice template into Portuguese",
    "run it again",
)
EVENTS = st.one_of(
    st.tuples(st.just("start"), st.sampled_from(["startup", "resume", "clear", "fork", "compact"])),
    st.tuples(st.just("prompt"), st.sampled_from(PROMPTS)),
    st.tuples(st.sampled_from(["stop", "end", "compact", "kill", "switch", "complete"]), st.just("")),
)
STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), EVENTS), min_size=1, max_size=14)


@pytest.fixture(scope="module")
def pids() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that stand for hosts; a killed one is replaced."""
    found = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
    yield found
    for process in found:
        process.kill()
        process.wait()


@given(steps=STEPS, host=st.sampled_from(["claude", "codex"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_events(
    steps: list[tuple[int, int, tuple[str, str]]], host: str, pids: list[subprocess.Popen[bytes]]
) -> None:
    """Whatever hosts start, resume, clear, end, die and ask: no two live conversations are in one session unless one
    joined it, every prompt is stored exactly once, and no hook fails."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        project = Path(folder) / "project"
        project.mkdir()
        patch.setenv("HOLDFAST_USER", "alice")
        patch.chdir(project)
        init(str(project), given=True)
        asked = 0
        for number, (process, conversation, (kind, detail)) in enumerate(steps):
            patch.setenv("HOLDFAST_PID", str(pids[process].pid))
            # A conversation belongs to one process, as in a host; a resumed one may be anywhere.
            name = f"{conversation}"
            payload = claude(project, "", name, turn_id=f"t{number}")
            if kind == "kill":
                pids[process].kill()
                pids[process].wait()
                pids[process] = subprocess.Popen(["sleep", "1000"])
                continue
            if kind in ("switch", "complete"):
                with holdfast.open() as workspace:
                    known = workspace.sessions()
                    if known and kind == "switch":
                        workspace.switch(known[number % len(known)])
                    elif (
                        known
                        and workspace.session(known[0]).state["registers"]["status"]["value"] == "working"
                    ):
                        workspace.session(known[0]).complete()
                continue
            if kind == "start":
                payload |= {"hook_event_name": "SessionStart", "source": detail}
            elif kind == "prompt":
                asked += 1
                payload |= {"hook_event_name": "UserPromptSubmit", "prompt": f"{detail} #{asked}"}
            elif kind == "compact":
                payload |= {"hook_event_name": "PreCompact", "trigger": "auto"}
            else:
                payload |= {"hook_event_name": "Stop" if kind == "stop" else "SessionEnd", "reason": "other"}
            for _ in range(2):
                with patch.context() as inner:
                    inner.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode())))
                    answered([host, ""])
            assert shared(project) == [], (number, kind, detail)
        assert errors(project) == ""
        assert sorted(text.rpartition("#")[2] for text in prompts()) == sorted(map(str, range(1, asked + 1)))
        os.chdir(before)


# -- sessions that nobody ended ------------------------------------------------------------------------------


def test_an_abandoned_session(
    project: Path, call: Call, later: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a week without a commit: `sessions` and `status` say so, the next conversation closes it and is told of
    it, its unsettled decision stays listed, and `continue` opens it again."""
    with own_process(monkeypatch):
        ask(call, project, "one", "Fix the login page")
        with holdfast.open() as workspace:
            workspace.session().decide("Drop the cache", because="stale", action="drop it")
            old = workspace.session().name
    later(8 * DAY_MS)
    for words in (["sessions"], ["status"]):
        assert main(words) == 0
        assert "--close-abandoned" in capsys.readouterr().out
    with own_process(monkeypatch):
        said = start(call, project, "two")
        assert f"{old} [abandoned]" in said
        assert "Drop the cache" in said
        ask(call, project, "two", "Write the docs")
    with holdfast.open() as workspace:
        assert workspace.session().name != old
        assert workspace.session().state["previous"] == old
        assert [entry.decision.text for entry in workspace.recover()] == ["Drop the cache"]
        assert workspace.session(old).state["registers"]["status"]["value"] == "abandoned"
    assert main(["--session", old, "continue"]) == 0
    with holdfast.open() as workspace:
        assert workspace.session(old).state["registers"]["status"]["value"] == "working"


def test_closing_all_abandoned_sessions(
    project: Path, later: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sessions --close-abandoned` closes what nobody ended, names what waits in it, and leaves the rest."""
    with holdfast.open() as workspace:
        workspace.start("done").complete()
        workspace.start("left").decide("Copy it", because="safe", action="copy")
    later(8 * DAY_MS)
    with holdfast.open() as workspace:
        workspace.start("new")
    assert main(["sessions", "--close-abandoned"]) == 0
    said = capsys.readouterr().out
    assert said.count("Closed ") == 1
    assert "1 unsettled decision" in said
    assert main(["sessions", "--close-abandoned"]) == 0
    assert "No abandoned sessions." in capsys.readouterr().out


# -- what every brief says -----------------------------------------------------------------------------------


def test_what_waits_is_in_every_brief(
    project: Path,
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Unsettled actions and waiting handoffs of all sessions and users: right after `start`, without a session, and
    in a clone whose user has none."""
    with holdfast.open(user="bob", by="bob") as workspace:
        session = workspace.start("Move the tables")
        session.decide("Copy before deleting", because="no way back", action="copy")
        session.hand_off("Start with table seven")
    with own_process(monkeypatch):
        with holdfast.open() as workspace:
            workspace.start("Something else")
        said = start(call, project, "one")
        assert "Copy before deleting" in said
        assert "Start with table seven" in said
    assert main(["brief"]) == 0
    assert "Start with table seven" in capsys.readouterr().out
    clone = tmp_path / "clone"
    subprocess.run(["cp", "-r", str(project), str(clone)], check=True)
    subprocess.run(["rm", "-rf", str(clone / ".state" / "local")], check=True)
    monkeypatch.setenv("HOLDFAST_USER", "carol")
    monkeypatch.chdir(clone)
    said = start(call, clone, "two")
    assert "No session is open" in said
    assert "Copy before deleting" in said
    assert "Start with table seven" in said
