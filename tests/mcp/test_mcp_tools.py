"""Every tool in every revision: what it writes, what it returns, and its refusals."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from wire_client import MODERN, Refusal, WireClient

import holdfast
from holdfast.core.tokens import estimate, exact
from holdfast.edge.mcp.tools import BY_NAME, TOOLS


def events(project: Path) -> list[str]:
    """The types of all events in the current session's log."""
    with holdfast.open(project) as workspace:
        return [event.type for commit in workspace.session().log() for event in commit.events]


def fits(value: Any, schema: dict[str, Any], where: str = "") -> None:
    """Assert that a value matches an output schema."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    assert isinstance(value, kinds[schema["type"]]), f"{where}: {value!r}"
    assert schema["type"] != "integer" or not isinstance(value, bool), where
    if schema["type"] == "object" and "properties" in schema:
        assert set(schema.get("required", ())) <= set(value), where
        assert set(value) <= set(schema["properties"]), f"{where}: {sorted(value)}"
        for name, inner in value.items():
            fits(inner, schema["properties"][name], f"{where}.{name}")
    if schema["type"] == "array":
        for item in value:
            fits(item, schema["items"], f"{where}[]")


def test_every_result_matches_its_schema(working: WireClient, project: Path) -> None:
    """A whole session through the tools: each result matches its schema, and the log has every step."""
    promised = {tool["name"]: tool["outputSchema"] for tool in working.ask("tools/list")["tools"]}

    def do(tool: str, **arguments: Any) -> dict[str, Any]:
        result = working.call(tool, **arguments)
        assert result["isError"] is False, result
        fits(result["structuredContent"], promised[tool], tool)
        data: dict[str, Any] = result["structuredContent"]
        return data

    made = do(
        "decide", text="Use SQLite", because="one file", action="write the schema", alternatives=["files"]
    )
    assert made["id"] == "D-1"
    assert do("brief")["unsettled"] == ["D-1"]
    do("settle", id="D-1", outcome="works", ok=True)
    do("checkpoint", message="Half way", last_completed="schema", pending=["migrate"], instruction="Run it.")
    do("note", text="The export has two types of invoice.")
    loop = do("loop", do="add", text="Do types mix?", context="the March export")["id"]
    do("loop", do="explore", id=loop)
    closed = do("loop", do="close", id=loop, text="They never mix", decide="One table for all")
    assert closed["decision"] == "D-2"
    first = do("task", do="add", text="Write it")["id"]
    second = do("task", do="add", text="Run it", depends_on=[first])["id"]
    assert do("task", do="start")["current"] == first
    assert do("task", do="done", text="214 rows")["current"] == second
    do("task", do="block", id=second, text="no access")
    do("task", do="unblock", id=second)
    do("task", do="skip", id=second, text="not needed")
    entered = do("phase", do="enter", name="build")
    assert (entered["phase"], entered["allowed"]) == ("build", ["look", "prove"])
    do("phase", do="enter", name="look")
    assert do("phase", do="complete")["phase"] == "build"
    assert do("phase", do="skip_to", name="look", because="a new case")["phase"] == "look"
    do("phase", do="declare", names=["look", "end"])
    given = do("handoff", message="D-2 is next")
    assert (project / "handoff" / "latest.md").exists()
    assert given["path"].endswith("handoff/latest.md")
    do("handoff", do="claim")
    menu = do("act")["menu"]
    assert "/pause [NOTE]" in menu
    do("act", action="/pause Waiting for review")
    assert do("status")["state"]["status"] == "paused"
    do("act", action="/continue")
    assert "Ship the billing rewrite" in do("act", action="/status")["text"]
    found = do("search", text="invoice")["events"]
    assert [event["type"] for event in found] == ["note"]
    about = {event["type"] for event in do("search", id="D-2")["events"]}
    assert about == {"loop.closed", "decision.made"}
    written = events(project)
    for wanted in [
        "session.started",
        "decision.made",
        "decision.settled",
        "checkpoint.saved",
        "note.added",
        "loop.added",
        "loop.explored",
        "loop.closed",
        "task.added",
        "task.started",
        "task.completed",
        "task.blocked",
        "task.unblocked",
        "task.skipped",
        "phase.entered",
    ]:
        assert wanted in written, wanted


def test_the_tool_list_is_small() -> None:
    """All tools together cost a model less than 3,000 tokens, by our estimate and by a real vocabulary."""
    shown = json.dumps([tool.shown() for tool in TOOLS], ensure_ascii=False, separators=(",", ":"))
    assert estimate(shown) < 3_000
    assert exact("o200k_base")(shown) < 2_500


def test_decide_and_settle_are_always_loaded(server: WireClient) -> None:
    """Claude Code has these two in every request; the others cost nothing until they are looked up."""
    listed = server.ask("tools/list")["tools"]
    always = [tool["name"] for tool in listed if tool.get("_meta", {}).get("anthropic/alwaysLoad") is True]
    assert always == ["decide", "settle"]
    assert all("_meta" not in tool for tool in listed if tool["name"] not in always)


def test_read_only_tools_are_marked_and_none_is_destructive(server: WireClient) -> None:
    """Read-only tools are marked as such, and no tool is destructive."""
    hints = {tool["name"]: tool["annotations"] for tool in server.ask("tools/list")["tools"]}
    readers = {name for name, hint in hints.items() if hint.get("readOnlyHint")}
    assert readers == {"brief", "status", "search"}
    for name in hints.keys() - readers:
        assert hints[name]["destructiveHint"] is False, name
    words = ("delete", "remove", "erase", "prune", "forget", "reset", "archive")
    assert not [name for name in hints if any(word in name for word in words)]


def test_read_only_tools_write_nothing(working: WireClient, project: Path) -> None:
    """A tool marked as read-only leaves the log unchanged."""
    before = working.do("status")["version"]
    for name in ("brief", "status", "search"):
        working.do(name)
    assert working.do("status")["version"] == before


def test_an_operation_id_makes_a_call_idempotent(working: WireClient) -> None:
    """The same op twice is one commit, and the second result equals the first."""
    first = working.do("decide", text="Use SQLite", because="one file", op="turn-7")
    again = working.do("decide", text="Use SQLite", because="one file", op="turn-7")
    assert (again["id"], again["repeated"]) == (first["id"], True)
    assert working.do("status")["state"]["decisions"]["made"] == 1
    begun = working.do("start", goal="Another", op="turn-8")
    assert working.do("start", goal="Another", op="turn-8")["session"] == begun["session"]


def test_a_refusal_says_what_is_allowed(working: WireClient) -> None:
    """A refusal is a result that the model can read and act on, not a protocol error."""
    said = working.refused("phase", do="enter", name="prove")
    assert "Allowed now: build" in said
    assert "do=skip_to" in said
    assert "D-99" in working.refused("settle", id="D-99", outcome="x")
    assert "do=close needs text" in working.refused("loop", do="close", id="LOOP-001")
    assert "/approve-plan is not possible now" in working.refused("act", action="/approve-plan")


def test_a_secret_is_refused_and_not_echoed(working: WireClient, project: Path) -> None:
    """A text with a token is an error that names the kind, not the value, and nothing is stored."""
    token = "ghp_" + "a1B2" * 9
    said = working.refused("decide", text=f"push with {token}", because="it is quick")
    assert "github" in said.lower()
    assert token not in said
    assert not any(token.encode() in path.read_bytes() for path in project.rglob("*") if path.is_file())


def test_without_a_session_the_tools_name_start(server: WireClient) -> None:
    """On a fresh workspace every tool but start names start."""
    for name, tool in BY_NAME.items():
        if name != "start":
            given = {"id": "x", "outcome": "x", "text": "x", "because": "x", "message": "x", "do": "complete"}
            wanted = {key: value for key, value in given.items() if key in tool.required}
            if name in ("loop", "task"):
                wanted["do"] = "add" if name == "loop" else "start"
            assert "The tool start(goal=…) starts one" in server.refused(name, **wanted), name


def test_without_a_workspace_the_server_runs_and_says_what_to_do(tmp_path: Path, era: str) -> None:
    """Without a workspace the lists work, each call names `holdfast init`, and after it the same server works."""
    from holdfast.workspace.setup import init

    with WireClient(tmp_path, era, HOLDFAST_HOME=str(tmp_path)) as client:
        assert len(client.ask("tools/list")["tools"]) == len(TOOLS)
        assert "holdfast init" in client.refused("brief")
        with pytest.raises(Refusal) as missing:
            client.read("holdfast://current/STATE.md")
        assert "holdfast init" in str(missing.value)
        init(str(tmp_path), given=True)
        client.do("start", goal="Now it works")


def test_the_actor_is_the_client_unless_the_agent_is_named(project: Path, era: str) -> None:
    """Commits carry the client's name; HOLDFAST_AGENT takes precedence."""
    with WireClient(project, era, name="some-editor") as client:
        client.do("start", goal="x")
        client.do("note", text="by the client")
    with WireClient(project, era, name="some-editor", HOLDFAST_AGENT="reviewer") as client:
        client.do("note", text="by the agent")
    with holdfast.open(project) as workspace:
        commits = list(workspace.session().log())
    assert [commit.by for commit in commits] == ["some-editor", "some-editor", "reviewer"]
    assert {commit.origin for commit in commits} == {"agent"}


def test_a_call_can_name_its_session(working: WireClient, project: Path) -> None:
    """`session` selects another session for a call; `HOLDFAST_SESSION` and `--session` for a whole server."""
    first = working.do("status")["session"]
    second = working.do("start", goal="Another")["session"]
    assert working.do("note", text="here")["session"] == second
    assert working.do("note", text="there", session=first)["session"] == first
    assert "no session" in working.refused("note", text="x", session="2020-01-01-aaaaaaaa")
    with WireClient(project, working.era, HOLDFAST_SESSION=first) as client:
        assert client.do("note", text="x")["session"] == first
    with WireClient(project, working.era, "--session", first) as client:
        assert client.do("note", text="x")["session"] == first


def test_a_server_follows_the_current_session(working: WireClient, project: Path) -> None:
    """The next call sees a session that another process started or completed."""
    first = working.do("status")["session"]
    with holdfast.open(project) as workspace:
        second = workspace.start("By another process").id
    assert working.do("note", text="x")["session"] == second
    with holdfast.open(project) as workspace:
        workspace.session().complete("done")
    assert working.do("note", text="x")["session"] == first


def test_views_are_regenerated_when_idle(working: WireClient, project: Path) -> None:
    """Shortly after the last call the views show it, while the server still runs."""
    working.do("note", text="The last word.")
    version = working.do("status")["version"]
    until = time.monotonic() + 10
    while [
        json.loads(view.read_text())["commits"] for view in project.glob(".state/sessions/*/*/state.json")
    ] != [version]:
        assert time.monotonic() < until, "the view stays stale"
        time.sleep(0.05)


def test_the_arguments_of_a_tool_are_checked_before_it_runs(working: WireClient) -> None:
    """Missing, unknown and wrong arguments are reported by name, and nothing is written."""
    before = working.do("status")["version"]
    assert "because is missing" in working.refused("decide", text="x")
    assert "unknown argument 'reason'" in working.refused("decide", text="x", because="y", reason="z")
    assert "text must be a string, not a number" in working.refused("note", text=7)
    assert "must be a list of strings" in working.refused("decide", text="x", because="y", alternatives="one")
    assert "must be one of add, explore, close" in working.refused("loop", do="drop")
    assert "must be at least 300" in working.refused("brief", budget=2)
    assert "must be from 1 to 100" in working.refused("search", limit=1_000_000)
    assert "true or false" in working.refused("settle", id="D-1", outcome="x", ok="yes")
    working.do("note", text="null is absent", op=None)
    assert working.do("status")["version"] == before + 1


def test_an_unknown_tool_is_a_protocol_error(server: WireClient) -> None:
    """The error lists the tools that exist."""
    with pytest.raises(Refusal) as wrong:
        server.call("drop_everything")
    assert wrong.value.code == -32602
    assert "brief" in str(wrong.value)


def test_the_revision_is_negotiated(server: WireClient) -> None:
    """Discovery names the current revision; the handshake agrees on the one that the client asked for."""
    if server.era == MODERN:
        found = server.ask("server/discover")
        assert found["supportedVersions"] == [MODERN]
        assert "brief" in found["instructions"]
    else:
        assert server.opening["protocolVersion"] == server.era
        assert server.opening["capabilities"]["resources"] == {"subscribe": True}


def test_a_database_is_served_like_a_folder(tmp_path: Path, era: str) -> None:
    """The workspace can be a URL: tools, resources, the list of sessions and notifications work the same."""
    where = f"sqlite:///{tmp_path / 'memory.db'}"
    with WireClient(tmp_path, era, "--workspace", where) as client:
        client.do("start", goal="Ship it")
        client.watch("holdfast://current/log/1", "holdfast://sessions")
        made = client.do("decide", text="x", because="y", action="z")
        assert client.notice() == "holdfast://current/log/1"
        assert client.do("search", id=made["id"])["events"][0]["type"] == "decision.made"
        assert "Ship it" in client.read("holdfast://sessions")
        assert client.do("handoff")["text"].startswith("---")
    with WireClient(tmp_path, era, HOLDFAST_URL=where) as client:
        assert client.do("brief")["unsettled"] == ["D-1"]


def test_a_workspace_that_comes_back_is_found_again(working: WireClient, project: Path) -> None:
    """While the folder is missing calls are refused with a reason; when it is back, the same server works."""
    (project / ".state").rename(project / "away")
    assert "HF-" in working.refused("note", text="x")
    (project / "away").rename(project / ".state")
    working.do("note", text="back again")


def test_captures_are_settled_by_the_tools_that_are_always_loaded(server: WireClient, project: Path) -> None:
    """settle confirms or drops several at once; decide corrects one."""
    from holdfast.core.concepts import capture

    server.do("start", goal="Ship the billing rewrite")
    with holdfast.open(project) as workspace:
        texts = ("use WAL mode", "drop the old table", "who owns the export", "cents are whole numbers")
        found = [capture.Candidate("decision", text) for text in texts]
        lineage = capture.Lineage("summary", "claude", "claude")
        workspace.session().commit(lambda state, mint: capture.propose(state, mint, found, lineage))
    assert server.do("settle", id="C-1, C-2", outcome="right")["id"] == "D-2"
    server.do("settle", id="C-3", outcome="only an idea", ok=False)
    server.do("decide", text="Store cents", because="floats lose them", supersedes="C-4")
    with holdfast.open(project) as workspace:
        settled = workspace.session().captures
    assert [(entry.outcome, entry.became) for entry in settled.recent] == [
        ("confirmed", "D-1"),
        ("confirmed", "D-2"),
        ("dropped", None),
        ("confirmed", "D-3"),
    ]
    assert settled.open == ()
