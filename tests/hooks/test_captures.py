"""What hooks take from conversations without anybody calling us: decisions, plans, commits, results of subagents."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import holdfast

from .conftest import Call, context, errors, state

SUMMARY = (
    "<analysis>DECISION: a draft</analysis><summary>We worked on the importer.\n\n"
    "- **DECISION:** amounts are integers of cents **BECAUSE:** floats lose cents\n"
    "- CONSTRAINT: csv only, no pandas\nOPEN: who owns the March export?\nIN FLIGHT: parser tests, half written\n"
    "</summary>"
)
SAID = "Done.\n\nI chose a streaming parser over loading the file because exports reach 2 GB.\n\n```\nDecision: no\n```"


def claude(project: Path, event: str, **more: Any) -> dict[str, Any]:
    return {"session_id": "s", "cwd": str(project), "hook_event_name": event, "transcript_path": "/t", **more}


def tool(project: Path, name: str, given: object, response: object = None, **more: Any) -> dict[str, Any]:
    return claude(
        project, "PostToolUse", tool_name=name, tool_input=given, tool_response=response or {}, **more
    )


def captured() -> list[tuple[str, str, str]]:
    found = state()["captures"]["open"].values()
    return [(entry["kind"], entry["text"], entry["source"]) for entry in found]


def tasks() -> dict[str, str]:
    part = state()["tasks"]
    closed = {entry["title"]: str(entry["outcome"]) for entry in part["closed"]}
    return closed | {entry["title"]: entry["status"] for entry in part["open"].values()}


def count() -> int:
    with holdfast.open() as workspace:
        return workspace.session().version


def test_a_summary_becomes_proposals(started: Path, call: Call) -> None:
    """The summariser is asked for lines, and what comes back is proposed, once; the brief shows it with its step."""
    asked = call("claude", claude(started, "PreCompact", trigger="auto", prompt_id="p"))
    assert "DECISION: what was decided BECAUSE: why" in asked
    for _ in range(2):
        call("claude", claude(started, "PostCompact", trigger="auto", compact_summary=SUMMARY, prompt_id="p"))
    assert captured() == [
        ("decision", "amounts are integers of cents", "summary"),
        ("constraint", "csv only, no pandas", "summary"),
        ("open", "who owns the March export?", "summary"),
        ("in-flight", "parser tests, half written", "summary"),
    ]
    brief = context("claude", call("claude", claude(started, "SessionStart", source="compact")))
    assert "## Captured, not confirmed" in brief
    assert "C-1 decision «amounts are integers of cents» because «floats lose cents» (tool claude" in brief
    assert "holdfast capture confirm|drop ID" in brief
    assert errors(started) == ""


def test_messages_and_prompts_become_proposals(started: Path, call: Call) -> None:
    """The agent's statements are decisions; the user's demands constraints, marked as the user's words."""
    prompt = "Write the importer.\n\nUse csv, not pandas. Never touch db/migrations.\n\n> never quoted things"
    call("claude", claude(started, "UserPromptSubmit", prompt=prompt))
    for _ in range(2):
        call("claude", claude(started, "Stop", last_assistant_message=SAID))
    assert captured() == [
        ("constraint", "Use csv, not pandas", "prompt"),
        ("constraint", "Never touch db/migrations", "prompt"),
        ("decision", "I chose a streaming parser over loading the file", "message"),
    ]
    entry = state()["captures"]["open"]["C-1"]
    assert (entry["host"], entry["agent"], entry["origin"]) == ("claude", "claude", "tool")
    assert list(state()["decisions"]["open"]) == ["D-1"], "a capture never counts as an unsettled action"


@pytest.mark.parametrize(
    ("host", "payload"),
    [
        ("codex", {"hook_event_name": "Stop", "turn_id": "t", "last_assistant_message": SAID}),
        (
            "gemini",
            {"hook_event_name": "AfterAgent", "timestamp": "2026-01-21", "prompt_response": SAID},
        ),
        ("vscode", {"hookEventName": "Stop", "last_assistant_message": SAID}),
    ],
)
def test_final_messages_of_other_hosts(started: Path, call: Call, host: str, payload: dict[str, Any]) -> None:
    """Every host that shows the final message gives proposals from it."""
    call(host, {"session_id": "s", "cwd": str(started), **payload})
    assert ("decision", "I chose a streaming parser over loading the file", "message") in captured()


def test_codex_keeps_the_summary_in_its_transcript(started: Path, call: Call, tmp_path: Path) -> None:
    """Its hooks do not get the summary; its transcript has it."""
    rollout = tmp_path / "rollout.jsonl"
    lines = [{"type": "response_item", "payload": {}}, {"type": "compacted", "payload": {"message": SUMMARY}}]
    rollout.write_text("\n".join([*map(json.dumps, lines), '{"type": "compacted", torn']))
    payload = claude(started, "PostCompact", trigger="auto", turn_id="t") | {"transcript_path": str(rollout)}
    call("codex", payload)
    assert ("decision", "amounts are integers of cents", "summary") in captured()


def test_a_list_of_tasks_is_taken_over(started: Path, call: Call) -> None:
    """Added, started, completed and dropped as the host's list says; the same list again writes nothing."""
    first = [{"content": "Parse", "status": "in_progress"}, {"content": "Load", "status": "pending"}]
    second = [{"content": "Parse", "status": "completed"}, {"content": "Report", "status": "in_progress"}]
    for listed, wanted in (
        (first, {"Parse": "working", "Load": "pending"}),
        (second, {"Parse": "done", "Load": "skipped", "Report": "working"}),
    ):
        call("claude", tool(started, "TodoWrite", {"todos": listed}))
        after = count()
        call("claude", tool(started, "TodoWrite", {"todos": listed}))
        assert count() == after
        assert tasks() == wanted
    assert {entry["origin"] for entry in state()["tasks"]["open"].values()} == {"tool"}


OF_HOSTS: list[tuple[str, dict[str, Any]]] = [
    (
        "gemini",
        {
            "session_id": "s",
            "hook_event_name": "AfterTool",
            "timestamp": "2026-11-18T08:02:09.782Z",
            "tool_name": "write_todos",
            "tool_input": {"todos": [{"description": "Write the parser", "status": "in_progress"}]},
            "tool_response": {"llmContent": "Successfully updated the todo list."},
        },
    ),
    (
        "opencode",
        {
            "hook": "tool.execute.after",
            "input": {
                "tool": "todowrite",
                "sessionID": "ses_1",
                "callID": "call_0002",
                "args": {"todos": [{"content": "Write the parser", "status": "in_progress", "id": "1"}]},
            },
            "output": {"title": "1 todos", "output": "[]", "metadata": {"truncated": False}},
        },
    ),
    (
        "codex",
        {
            "session_id": "s",
            "turn_id": "t",
            "hook_event_name": "PostToolUse",
            "tool_name": "update_plan",
            "tool_input": {"plan": [{"step": "Write the parser", "status": "in_progress"}]},
        },
    ),
    (
        "copilot",
        {
            "sessionId": "s",
            "timestamp": 1794988929630,
            "toolName": "sql",
            "toolArgs": {
                "query": "INSERT INTO todos (id,title,status) VALUES ('a','Write the parser','in_progress')"
            },
            "toolResult": {"resultType": "success", "textResultForLlm": "1 row(s) inserted."},
        },
    ),
]


@pytest.mark.parametrize(("host", "payload"), OF_HOSTS, ids=[host for host, _ in OF_HOSTS])
def test_task_lists_of_other_hosts(started: Path, call: Call, host: str, payload: dict[str, Any]) -> None:
    """Payloads as the hosts send them, twice."""
    for _ in range(2):
        call(host, {**payload, "cwd": str(started), "directory": str(started)}, "postToolUse")
    assert tasks() == {"Write the parser": "working"}
    assert state()["tasks"]["opened"] == 1
    assert errors(started) == ""


def test_tasks_of_claude_code_by_number(started: Path, call: Call) -> None:
    """TaskCreate and TaskUpdate, with the number that the host gave."""
    call(
        "claude", tool(started, "TaskCreate", {"subject": "Parse"}, {"task": {"id": "1", "subject": "Parse"}})
    )
    call("claude", tool(started, "TaskCreate", {"subject": "Load"}, "Task #2 created successfully: Load"))
    call("claude", tool(started, "TaskUpdate", {"taskId": "1", "status": "completed"}))
    call("claude", tool(started, "TaskUpdate", {"taskId": "2", "status": "deleted"}))
    call("claude", tool(started, "TaskUpdate", {"taskId": "7", "status": "completed"}))
    assert tasks() == {"Parse": "done", "Load": "skipped"}


def test_tasks_of_others_are_never_touched(started: Path, call: Call) -> None:
    """A list of the host neither changes nor repeats a person's task, nor takes the work from it."""
    with holdfast.open() as workspace:
        workspace.session().add_task("Parse")
        workspace.session().start_task("T-1")
    call("claude", tool(started, "TodoWrite", {"todos": [{"content": "Parse", "status": "completed"}]}))
    call("claude", tool(started, "TodoWrite", {"todos": [{"content": "Load", "status": "in_progress"}]}))
    call("claude", tool(started, "TodoWrite", {"todos": []}))
    assert tasks() == {"Parse": "working", "Load": "skipped"}
    assert state()["registers"]["task"]["value"] == "T-1"


def test_a_host_cannot_fill_the_memory_with_tasks(started: Path, call: Call) -> None:
    """Thousands of entries leave a few."""
    todos = [{"content": f"step {n} " + "x" * 5_000, "status": "pending"} for n in range(3_000)]
    call("claude", tool(started, "TodoWrite", {"todos": todos}))
    assert 0 < len(state()["tasks"]["open"]) <= 40


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH 'stolen.db' AS x; INSERT INTO todos (id,title) VALUES ('a','b')",
        "CREATE TABLE todos2 (id); INSERT INTO todos SELECT * FROM sqlite_master",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) INSERT INTO todos (id) SELECT i FROM n",
        "UPDATE todos SET title = zeroblob(1000000000)",
        "PRAGMA writable_schema=1; DELETE FROM todos",
        "SELECT load_extension('x'), * FROM todos",
        "not sql at all: todos",
    ],
)
def test_a_statement_reaches_nothing_but_the_copy_of_its_table(
    started: Path, call: Call, query: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No file, no other table, no endless work; the task list stays."""
    monkeypatch.chdir(started)
    call("copilot", {**OF_HOSTS[3][1], "cwd": str(started)}, "postToolUse")
    call("copilot", {**OF_HOSTS[3][1], "cwd": str(started), "toolArgs": {"query": query}}, "postToolUse")
    assert tasks() == {"Write the parser": "working"}
    assert not (started / "stolen.db").exists()


def test_plans_goals_and_topics(started: Path, call: Call) -> None:
    """An approved plan is a record; a goal or topic of the host is set unless somebody has set one."""
    for _ in range(2):
        call("claude", tool(started, "ExitPlanMode", {"plan": "# Import in two steps\n1. parse\n2. load"}))
    (plan,) = state()["plans"]["closed"]
    assert (plan["title"], plan["outcome"]) == ("Import in two steps", "approved")
    topic = {"title": "Importer", "strategic_intent": "ship it"}
    call("claude", tool(started, "update_topic", topic))
    assert state()["registers"]["focus"]["value"] == "Importer: ship it"
    before = state()["registers"]["goal"]["value"]
    call("claude", tool(started, "create_goal", {"objective": "Something else"}))
    assert state()["registers"]["goal"]["value"] == before, "a person set it"


def git(project: Path, *words: str) -> None:
    who = ["-c", "user.email=a@example.org", "-c", "user.name=ann"]
    subprocess.run(["git", *who, *words], cwd=project, check=True, capture_output=True)


def test_commits_are_linked(started: Path, call: Call) -> None:
    """Commits of the session are in the state once, in the brief and in the search; older ones are not."""
    git(started, "init", "-q", ".")
    git(started, "commit", "-q", "--allow-empty", "-m", "old", "--date", "2020-01-01T00:00:00Z")
    log = started / ".git" / "logs" / "HEAD"
    log.write_text(log.read_text().replace(log.read_text().split("> ")[1].split(" ")[0], "1500000000"))
    git(started, "commit", "-q", "--allow-empty", "-m", "Stream the parser")
    git(started, "checkout", "-q", "-b", "next")
    git(started, "commit", "-q", "--allow-empty", "-m", "Test the parser")
    for _ in range(2):
        call("claude", claude(started, "Stop", last_assistant_message="All done here."))
    assert [made["subject"] for made in state()["git"]["last"]] == ["Stream the parser", "Test the parser"]
    assert state()["git"]["last"][-1]["branch"] == "next"
    brief = context("claude", call("claude", claude(started, "SessionStart", source="compact")))
    assert "«Test the parser» on «next»" in brief
    sha = state()["git"]["last"][-1]["sha"]
    with holdfast.open() as workspace:
        assert [hit.kind for hit in workspace.search(sha[:12]).hits] == ["git"]


def test_subagents_are_briefed_and_report(started: Path, call: Call) -> None:
    """A small brief at the start; the result is kept under the subagent's name, and is not the agent's last word."""
    who = {"agent_id": "a1", "agent_type": "Explore"}
    said = context("claude", call("claude", claude(started, "SubagentStart", **who)))
    assert said.startswith("holdfast: session ")
    assert len(said) < 3_000
    call("claude", claude(started, "Stop", last_assistant_message="Delegated."))
    for _ in range(2):
        call("claude", claude(started, "SubagentStop", last_assistant_message=SAID, **who))
    (message,) = [m for m in state()["messages"]["recent"] if m["role"] == "subagent"]
    assert (message["by"], message["tool"]) == ("claude.Explore", "Explore")
    assert captured() == [("decision", "I chose a streaming parser over loading the file", "subagent")]
    assert state()["recovery"]["last_action"] == "Delegated."


def test_the_nudge_comes_once_and_can_be_turned_off(started: Path, call: Call) -> None:
    """After many edited files without a decision; not again in the conversation, and not if it is turned off."""

    def edit(number: int, session: str = "s") -> str:
        (started / f"f{number}.py").write_text(str(number))
        payload = tool(started, "Write", {"file_path": str(started / f"f{number}.py")}) | {
            "session_id": session
        }
        return context("claude", call("claude", payload))

    told = [number for number in range(25) if "many files were edited" in edit(number)]
    assert len(told) == 1
    config = started / ".state" / "config.toml"
    config.write_text(f"{config.read_text() if config.exists() else ''}\n[hooks]\nnudge = false\n")
    assert "many files" not in edit(99, session="another")


def test_a_confirmed_capture_shows_its_lineage(started: Path, call: Call) -> None:
    """The decision has the person's origin; its record names the capture, the host and whose words it was."""
    call("claude", claude(started, "Stop", last_assistant_message=SAID))
    with holdfast.open() as workspace:
        session = workspace.session()
        receipt = session.confirm_capture("C-1")
        assert receipt.id == "D-2"
        assert session.captures.recent[-1].became == "D-2"
        assert session.captures.recent[-1].source == "message"


def test_the_plug_in_of_opencode_adds_what_events_lack(started: Path, call: Call) -> None:
    """The agent's last words at the end of a turn, and the summary after a compaction; each is taken once."""
    for kind, said in (("session.idle", SAID), ("session.summarised", SUMMARY)):
        event = {"type": kind, "properties": {"sessionID": "ses_1", "said": said}}
        for _ in range(2):
            call("opencode", {"hook": "event", "directory": str(started), "input": event})
    assert ("decision", "I chose a streaming parser over loading the file", "message") in captured()
    assert ("constraint", "csv only, no pandas", "summary") in captured()
    assert state()["captures"]["opened"] == 5
    assert state()["compactions"]["count"] == 0


def _turn(prompt: str, said: str, stopped: int) -> str:
    """The lines that Copilot CLI writes into its transcript for one turn."""
    lines = [
        {"type": "user.message", "data": {"content": prompt}},
        {"type": "assistant.message", "data": {"content": said, "toolRequests": []}},
        {"type": "assistant.turn_end", "data": {}},
        {"type": "hook.start", "data": {"hookType": "agentStop", "input": {"timestamp": stopped}}},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("at", [1767225600000, "2026-01-01T00:00:00.000Z"])
def test_the_last_words_are_those_of_this_turn(
    at: int | str, started: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copilot CLI calls the hook before it has written the turn: an earlier turn is not taken for it."""
    monkeypatch.setattr("holdfast.edge.hooks.copilot._LOOKS", 2)
    transcript = tmp_path / "events.jsonl"
    stop = {
        "sessionId": "c",
        "cwd": str(started),
        "transcriptPath": str(transcript),
        "stopReason": "end_turn",
        "timestamp": at,
    }
    earlier = _turn("check it", "It fails.", 1767225500000)
    end = json.dumps({"type": "session.shutdown", "data": {}}) + "\n"
    for stale in ("", earlier, earlier + end):
        transcript.write_text(stale)
        call("copilot", stop, "agentStop")
        assert state()["recovery"]["last_action"] is None, stale
    transcript.write_text(earlier + end + _turn("mend it", "It passes now.", 1767225600000))
    call("copilot", stop, "agentStop")
    assert state()["recovery"]["last_action"] == "It passes now."
    assert errors(started) == ""
