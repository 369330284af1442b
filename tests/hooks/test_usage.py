"""The context is measured: transcripts of every host as recorded, and files that are none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.hooks.usage import TAIL, claude_window, in_transcript
from holdfast.workspace.capture import measured
from holdfast.workspace.handover import make_brief

from .conftest import Call, context, errors, fixture, own_process, state

LINES: dict[str, dict[str, Any]] = {
    "claude": {
        "type": "assistant",
        "isSidechain": False,
        "message": {
            "role": "assistant",
            "model": "claude-opus-5-5",
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 2_000,
                "cache_read_input_tokens": 397_000,
                "output_tokens": 990,
                "iterations": [],
            },
        },
    },
    "codex": {
        "type": "event_msg",
        "payload": {
            "type": "token_count",
            "info": {
                "total_token_usage": {"total_tokens": 9_000_000},
                "last_token_usage": {
                    "input_tokens": 100_000,
                    "output_tokens": 3_360,
                    "total_tokens": 103_360,
                },
                "model_context_window": 258_400,
            },
        },
    },
    "gemini": {
        "id": "1",
        "type": "gemini",
        "content": "All done.",
        "tokens": {"input": 400_000, "output": 19_431, "cached": 0, "total": 419_431},
        "model": "gemini-2.5-flash",
    },
    "copilot": {
        "type": "session.usage_record",
        "data": {
            "usage": {
                "model": "gpt-5.4",
                "inputTokens": 368_000,
                "outputTokens": 800,
                "interactionType": "conversation-agent",
                "maxPromptTokens": 922_000,
            }
        },
    },
}
"""A line of each host's transcript with the usage, in its recorded form; each context is 40 % full."""
EXPECTED = {
    "claude": (400_000, 1_000_000),
    "codex": (103_360, 258_400),
    "gemini": (419_431, 1_048_576),
    "copilot": (368_800, 922_000),
}
STOPS = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent", "copilot": "agentStop"}


def transcript(path: Path, host: str, *after: object) -> Path:
    """A transcript whose last usage is followed by other lines."""
    lines = [{"type": "user", "message": {"content": "hello"}}, LINES[host], {"type": "system"}, *after]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


@pytest.mark.parametrize("host", LINES)
def test_the_last_usage_of_a_transcript(host: str, tmp_path: Path) -> None:
    """The tokens and the size of the context, also behind large lines; nothing of another host's file."""
    path = transcript(tmp_path / "t.jsonl", host)
    found = in_transcript(host, str(path))
    assert found is not None
    assert (found.used, found.window) == EXPECTED[host]
    path = transcript(tmp_path / "large.jsonl", host, {"type": "user", "message": "x" * (TAIL + 1_000)})
    assert in_transcript(host, str(path)) == found
    for other in set(LINES) - {host}:
        assert in_transcript(other, str(path)) is None


def test_what_a_compaction_removed_is_not_counted(tmp_path: Path) -> None:
    """Claude Code marks a compaction in its transcript: the usage before it says nothing any more."""
    path = transcript(tmp_path / "t", "claude", {"type": "system", "subtype": "compact_boundary"})
    assert in_transcript("claude", str(path)) is None


def test_files_that_are_no_transcript(tmp_path: Path) -> None:
    """A missing file, a folder, a fifo, a relative path and broken lines are no measurement, and nobody waits."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "broken").write_bytes(b'{"usage": \xff\n[' + b"[" * 100_000 + b'"usage"\n\x00"usage"')
    (tmp_path / "odd").write_text(
        '{"type":"assistant","message":{"usage":{"input_tokens":"many"}}}\n[1,"usage"]\n'
    )
    for name in ("missing", "fifo", "broken", "odd", "."):
        assert in_transcript("claude", str(tmp_path / name)) is None
    assert in_transcript("claude", "t.jsonl") is None
    assert in_transcript("claude", "/a\0b") is None
    assert in_transcript("cursor", str(tmp_path / "odd")) is None


@pytest.mark.parametrize(
    ("model", "used", "window"),
    [
        ("claude-opus-5-5", 1, 1_000_000),
        ("claude-sonnet-4-5-20250929", 1, 200_000),
        ("claude-sonnet-4-5[1m]", 1, 1_000_000),
        ("claude-3-5-haiku-20241022", 1, 200_000),
        ("claude-sonnet-4-5", 300_000, 1_000_000),
        ("fake", 5, 0),
    ],
)
def test_the_context_of_claude_models(model: str, used: int, window: int) -> None:
    """By generation, by the mark in the name, or because more is used; unknown for others."""
    assert claude_window(model, used) == window


@pytest.mark.parametrize("host", LINES)
def test_a_turn_measures_the_context(
    host: str, started: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replayed through the recorded payload of a turn's end: state, STATE.md and brief show the measured context, and
    a second turn that changes little writes nothing about it."""
    path = transcript(tmp_path / "t.jsonl", host)
    key = "transcriptPath" if host == "copilot" else "transcript_path"
    payload = {**fixture(host, STOPS[host], started), key: str(path)}
    with own_process(monkeypatch):
        call(host, payload, STOPS[host])
        budget = state()["budget"]
        assert (budget["used"], budget["measured"]["window"]) == EXPECTED[host]
        assert budget["zone"] == "warning"
        with holdfast.open() as workspace:
            commits = workspace.session().version
        call(host, payload, STOPS[host])
    with holdfast.open() as workspace:
        assert workspace.session().version == commits
        page = (started / ".state" / "sessions" / workspace.session().name / "STATE.md").read_text()
        brief = make_brief(workspace.session()).text
    assert "(40%) - warning, measured" in page
    assert "(40 %, measured), warning: Load nothing more" in brief
    start = fixture(host, "sessionStart-new" if host == "copilot" else "SessionStart-startup", started)
    start["sessionId" if host == "copilot" else "session_id"] = "another conversation"
    said = context(host, call(host, start))
    assert "MARK-7" in said
    assert "measured" not in said, "the context of a new conversation is empty"
    assert errors(started) == ""


@pytest.mark.parametrize("host", ["claude", "codex", "copilot", "opencode"])
def test_a_compaction_starts_over(host: str, started: Path, call: Call) -> None:
    """What was measured before a compaction is not shown after it; a total that was set is counted as before."""
    with holdfast.open() as workspace:
        measured(workspace.session(), 190_000, 200_000, "fake")
    assert state()["budget"]["zone"] == "stop"
    names = {"copilot": ["preCompact-manual"], "opencode": ["event-session.compacted"]}
    for name in names.get(host, ["PreCompact-auto", "PostCompact-auto"]):
        call(host, fixture(host, name, started))
    budget = state()["budget"]
    assert (budget["used"], budget["zone"], budget["measured"]) == (0, "comfortable", None)
    assert errors(started) == ""


def test_the_plug_in_of_opencode_tells_the_usage(started: Path, call: Call) -> None:
    """OpenCode has no transcript file: the plug-in sends the tokens of the last answer with the end of a turn."""
    usage = {"used": 150_000, "window": 200_000, "model": "fake"}
    call("opencode", {**fixture("opencode", "event-session.idle", started), "usage": usage})
    budget = state()["budget"]
    assert (budget["used"], budget["zone"]) == (150_000, "stop")


def test_a_resumed_conversation_tells_its_context(started: Path, call: Call) -> None:
    """Claude Code says at a resume how full the context is; the settings say how large it is."""
    (started / ".state" / "config.toml").write_text("[tokens]\nwindow = 1000\n")
    call("claude", fixture("claude", "SessionStart-resume", started))
    budget = state()["budget"]
    assert (budget["used"], budget["measured"]["window"], budget["zone"]) == (110, 1_000, "comfortable")


def test_a_day_leaves_few_measurements(started: Path, call: Call, tmp_path: Path) -> None:
    """A context that fills over two hundred turns is recorded in steps, not with every turn."""
    path = tmp_path / "t.jsonl"
    for number in range(1, 201):
        line = json.loads(json.dumps(LINES["claude"]))
        line["message"]["usage"]["cache_read_input_tokens"] = number * 4_000
        path.write_text(json.dumps(line) + "\n")
        call(
            "claude",
            {
                **fixture("claude", "UserPromptSubmit", started),
                "prompt": f"step {number}",
                "prompt_id": str(number),
                "transcript_path": str(path),
            },
        )
    with holdfast.open() as workspace:
        events = [event.type for commit in workspace.session().log() for event in commit.events]
    assert events.count("message.added") == 200
    assert 10 <= events.count("budget.measured") <= 25
    assert events.count("budget.crossed") == 3
