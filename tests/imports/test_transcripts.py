"""Importing transcripts of agent hosts: what was said and done becomes a session, once, with its own times."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.core.foreign import Left
from holdfast.edge.cli import main
from holdfast.edge.transcripts import LINE_CAP, NAMES, read
from holdfast.edge.transcripts.finding import find, lines
from holdfast.workspace.transcripts import import_transcript

SECRET = "AKIA" + "QWERTYUIOPASDFGH"


def at(minute: int) -> str:
    return f"2026-03-14T09:{minute:02d}:00.000Z"


def claude(project: Path) -> list[dict[str, Any]]:
    """A conversation of Claude Code: two turns, an edit, a command that fails and one that is fixed, a summary."""

    def line(kind: str, content: Any, minute: int, **more: Any) -> dict[str, Any]:
        message = {"role": kind, "content": content}
        return {
            "type": kind,
            "sessionId": "c-1",
            "cwd": str(project),
            "timestamp": at(minute),
            "message": message,
        } | more

    def used(name: str, key: str, given: Any, minute: int) -> dict[str, Any]:
        return line("assistant", [{"type": "tool_use", "id": key, "name": name, "input": given}], minute)

    def result(key: str, said: str, minute: int, *, error: bool = False) -> dict[str, Any]:
        return line(
            "user", [{"type": "tool_result", "tool_use_id": key, "content": said, "is_error": error}], minute
        )

    return [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "c-1"},
        line("user", "hello", 1),
        line("assistant", [{"type": "text", "text": "Hi. What shall we do?"}], 2),
        line("user", "Sort the price list. Never change the file format.", 3),
        used(
            "Edit", "t1", {"file_path": str(project / "prices.py"), "old_string": "a", "new_string": "b"}, 4
        ),
        result("t1", "done", 4),
        used("Bash", "t2", {"command": "pytest -q"}, 5),
        result("t2", "Exit code 1\nE       assert [2, 1] == [1, 2]", 5, error=True),
        used("Bash", "t3", {"command": "make lint"}, 6),
        result("t3", "Exit code 2\nprices.py:1: error: unused", 6, error=True),
        used("Bash", "t4", {"command": "make lint 2>&1 | tail -5"}, 7),
        result("t4", "fine", 7),
        line("user", "<command-name>/model</command-name>", 8),
        line("assistant", [{"type": "text", "text": "subagent talk"}], 8, isSidechain=True),
        line(
            "assistant",
            [
                {
                    "type": "text",
                    "text": "I decided to sort by number, because names repeat. One test still fails.",
                }
            ],
            9,
        ),
        line("user", "DECISION: sort by number\nBECAUSE: names repeat", 10, isCompactSummary=True),
        line("user", f"use the key {SECRET} for the upload", 11),
    ]


def encoded(entries: Iterable[Any]) -> list[bytes]:
    return [json.dumps(entry).encode() + b"\n" for entry in entries]


@pytest.fixture
def opened(project: Path) -> Any:
    (project / "prices.py").write_text("b\n")
    with holdfast.open(project) as workspace:
        yield workspace


def test_a_conversation_becomes_a_session(opened: holdfast.Workspace, project: Path) -> None:
    """Prompts, last words, files, what still fails and the summary are there, with the times of the conversation."""
    found = import_transcript(opened, "c.jsonl", "claude", read("claude", encoded(claude(project))))
    assert found.left == []
    assert found.taken == {"prompt": 3, "final": 2, "edit": 1, "ran": 1, "summary": 1}
    state = opened.session(found.session).state
    assert state["registers"]["goal"]["value"].startswith("Sort the price list.")
    assert [message["at"] for message in state["messages"]["recent"]] == [at(1), at(2), at(3), at(9), at(11)]
    (failing,) = state["errors"]["open"].values()
    assert failing["text"] == "`pytest -q` failed: E assert [2, 1] == [1, 2]"
    assert failing["at"] == at(5)
    assert list(state["references"]["open"]) == ["prices.py"]
    assert state["compactions"]["last"]["at"] == at(10)
    captured = {entry["text"]: entry["kind"] for entry in state["captures"]["open"].values()}
    assert "decision" in captured.values()
    assert any("Never change the file format" in text for text in captured)


def test_a_secret_is_not_imported(opened: holdfast.Workspace, project: Path) -> None:
    """A placeholder takes the place of a secret, and its line is reported."""
    found = import_transcript(opened, "c.jsonl", "claude", read("claude", encoded(claude(project))))
    assert [left.line for left in found.secrets] == [17]
    for path in (project / ".state").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_again_adds_nothing(opened: holdfast.Workspace, project: Path) -> None:
    """A second import finds everything known; a grown transcript adds what is new to the same session."""
    whole = encoded(claude(project))
    first = import_transcript(opened, "c.jsonl", "claude", read("claude", whole[:15]))
    version = opened.session(first.session).version
    again = import_transcript(opened, "c.jsonl", "claude", read("claude", whole[:15]))
    assert (again.session, again.taken) == (first.session, {})
    assert opened.session(first.session).version == version
    grown = import_transcript(opened, "c.jsonl", "claude", read("claude", whole))
    assert grown.session == first.session
    assert grown.taken == {"prompt": 1, "summary": 1}
    assert len(opened.sessions()) == 1


def test_the_current_session_stays(opened: holdfast.Workspace, project: Path) -> None:
    """An import does not take the place of the session that is worked on."""
    mine = opened.start("Something else")
    import_transcript(opened, "c.jsonl", "claude", read("claude", encoded(claude(project))))
    assert opened.session().id == mine.id


@pytest.mark.parametrize("host", NAMES)
def test_broken_lines_are_reported(host: str, opened: holdfast.Workspace) -> None:
    """No JSON, no object, too long: each line is named, and the rest is read."""
    raw = [b"{broken\n", b"[1, 2]\n", b'"text"\n', b"x" * (LINE_CAP + 1) + b"\n", b"\n", b"\xff\xfe{}\n"]
    found = list(read(host, raw))
    assert [left.line for left in found if isinstance(left, Left)] == [1, 2, 3, 4, 6]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["type", "message", "content", "payload", "data", "info", "parts", "text", "role", "timestamp", "toolCalls",
             "$set", "messages", "arguments", "output", "state", "input", "command", "id", "sessionId", "name"]
        ),
        inside,
        max_size=6,
    ),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize("host", NAMES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(entries=st.lists(st.dictionaries(st.sampled_from(
    ["type", "message", "payload", "data", "info", "parts", "timestamp", "$set", "messages", "toolCalls", "content"]
), json_values | st.sampled_from(
    ["user", "assistant", "response_item", "compacted", "session_meta", "gemini", "user.message",
     "assistant.message", "tool.execution_complete", "session.start"]
), max_size=6), max_size=5))  # fmt: skip
def test_wrong_types_never_stop_a_reader(host: str, entries: list[dict[str, Any]]) -> None:
    """Whatever the fields hold, every line is read or reported."""
    for item in read(host, encoded(entries)):
        assert 1 <= item.line <= len(entries)


def test_a_huge_line_is_not_held_in_memory(tmp_path: Path) -> None:
    """A line over the limit is skipped while it is read, and the next one is read."""
    path = tmp_path / "c.jsonl"
    with path.open("wb") as file:
        file.write(b'{"type": "user", "x": "' + b"y" * (3 * LINE_CAP) + b'"}\n')
        file.write(json.dumps(claude(tmp_path)[3]).encode() + b"\n")
    found = list(read("claude", lines("claude", str(path))))
    assert [item.line for item in found] == [1, 2, 2]
    assert "longer than" in found[0].why  # type: ignore[union-attr]


def test_a_transcript_without_a_prompt_is_refused(opened: holdfast.Workspace) -> None:
    """Nothing is written for a file that is no transcript of that host."""
    with pytest.raises(holdfast.Refused, match="no prompt"):
        import_transcript(opened, "c.jsonl", "codex", read("codex", encoded(claude(Path("/p")))))
    assert opened.sessions() == []


def test_listed_and_imported_on_the_command_line(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file the transcripts of this project are listed; --latest imports the newest."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert main(["import", "--from", "claude"]) == 0
    assert "no transcript of claude" in capsys.readouterr().out
    folder = tmp_path / "claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(project))
    folder.mkdir(parents=True)
    (folder / "c-1.jsonl").write_bytes(b"".join(encoded(claude(project))))
    (folder / "empty.jsonl").write_bytes(b"")
    assert main(["import", "--from", "claude"]) == 0
    said = capsys.readouterr().out
    assert "1 transcript of claude" in said
    assert f"holdfast import --from claude {folder / 'c-1.jsonl'}" in said
    assert [found.asked for found in find("claude", str(project))] == ["hello"]
    assert main(["import", "--from", "claude", "--latest", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["imports"]
    assert report["taken"]["prompt"] == 3
    assert main(["brief"]) == 0
    said = capsys.readouterr().out
    assert "Sort the price list" in said
    assert "One test still fails" in said
    assert "make lint" not in said


def test_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file or a host is needed, and --format is not for transcripts."""
    assert main(["import"]) == 2
    assert main(["import", "--latest"]) == 2
    assert main(["import", "--from", "claude", "--format", "state-md"]) == 2
    assert main(["import", "--from", "claude", "/nowhere.jsonl"]) == 4
    assert main(["import", "--from", "opencode", "ses_unknown"]) == 4
    assert "Traceback" not in capsys.readouterr().err
