"""Every recorded payload of every host: a valid answer and the right record, whichever settings the hook came from."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main

from .conftest import (
    ASKED_AS,
    FOLDERS,
    PAYLOADS,
    Call,
    context,
    errors,
    event_of,
    fixture,
    names,
    own_process,
    state,
)

BRIEFED = {
    "claude": {"SessionStart", "SubagentStart"},
    "codex": {"SessionStart"},
    "gemini": {"SessionStart"},
    "copilot": {"sessionStart"},
    "copilot-claude-settings": {"SessionStart"},
    "vscode": {"SessionStart"},
    "cursor": {"sessionStart"},
    "opencode": {"experimental.chat.system.transform"},
}
SUMMARISED = {"claude": "PreCompact", "opencode": "experimental.session.compacting"}
"""The hosts whose summariser reads what the hook says, and the event."""
COMPACTIONS = {
    "claude": 2,
    "codex": 1,
    "copilot": 1,
    "copilot-claude-settings": 1,
    "cursor": 1,
    "gemini": 0,  # it does not tell whether it compacted
    "opencode": 1,
    "vscode": 1,
}
EVERY = [(folder, name) for folder in FOLDERS for name in names(folder)]


@pytest.mark.parametrize(("folder", "name"), EVERY)
def test_every_recorded_payload(folder: str, name: str, started: Path, call: Call) -> None:
    """The answer is one that the host honours; the brief comes only at the start, and there are no errors."""
    (started / "made.txt").write_text("two\n")
    event = event_of(name)
    answer = call(ASKED_AS.get(folder, folder), fixture(folder, name, started), event)
    if folder == "claude" and event == "PreCompact":
        assert "D-1" in answer
        assert "MARK-7" in answer
        assert not answer.startswith("{")
    else:
        said = context(folder, answer)
        if event in BRIEFED[folder] or SUMMARISED.get(folder) == event:
            assert "D-1" in said
            assert "MARK-7" in said
        else:
            assert said == ""
    assert errors(started) == ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_whole_day(folder: str, project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded sequence of a host makes one session with the prompt, the file and the failure."""
    order = json.loads((PAYLOADS / folder / "sequence.json").read_text())
    (project / "made.txt").write_text("two\n")
    for names_ in order.values():
        with own_process(monkeypatch):  # each step is one run of the host
            for name in names_:
                # A payload was recorded once, in whichever conversation it came first.
                text = re.sub(r"ses_0+[1-9]", "ses_1", json.dumps(fixture(folder, name, project)))
                call(ASKED_AS.get(folder, folder), json.loads(text), event_of(name))
    assert errors(project) == ""
    with holdfast.open() as workspace:
        assert len(workspace.sessions()) == 1
        assert workspace.doctor() == []
    found = state()
    asked = [message["text"] for message in found["messages"]["recent"] if message["role"] == "user"]
    assert asked
    assert all("<" not in text for text in asked)
    assert list(found["references"]["open"]) == ["made.txt"]
    if folder not in ("codex", "cursor"):  # those do not tell
        assert any("exit 3" in error["text"] for error in found["errors"]["open"].values())
    assert found["checkpoint"]["message"].startswith("Before a compaction: ")
    assert found["compactions"]["count"] == COMPACTIONS[folder]


@pytest.mark.parametrize("folder", FOLDERS)
def test_through_the_real_program(folder: str, started: Path) -> None:
    """One payload of each event through the installed entry point: status 0, nothing on stderr, a valid answer."""
    seen: set[str] = set()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for name in names(folder):
        event = event_of(name)
        if event in seen:
            continue
        seen.add(event)
        command = [sys.executable, "-m", "holdfast", "hook", ASKED_AS.get(folder, folder), event]
        raw = json.dumps(fixture(folder, name, started)).encode()
        done = subprocess.run(command, input=raw, capture_output=True, cwd=started, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        if not (folder == "claude" and event == "PreCompact"):
            context(folder, done.stdout.decode())
    assert errors(started) == ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_a_workspace_nothing_happens(folder: str, tmp_path: Path, call: Call) -> None:
    """In a project without a workspace a hook outputs and creates nothing."""
    for name in names(folder):
        answer = call(ASKED_AS.get(folder, folder), fixture(folder, name, tmp_path), event_of(name))
        assert answer in ("", "{}")
    assert list(tmp_path.iterdir()) == []


def test_the_same_by_the_command_line(
    started: Path, call: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hook` is also an ordinary command: with help, and with --json the answer in one object."""
    raw = json.dumps(fixture("claude", "SessionStart-startup", started)).encode()
    monkeypatch.setattr("sys.stdin.buffer", io.BytesIO(raw))
    assert main(["hook", "claude", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert "D-1" in context("claude", printed["answer"])
    assert main(["hook", "--help"]) == 0
    assert "always exits with 0" in " ".join(capsys.readouterr().out.split())
