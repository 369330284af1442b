"""A project, and hosts that call the hook in it."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.hooks import answered

PAYLOADS = Path(__file__).parents[1] / "hosts" / "payloads"
FOLDERS = sorted(path.name for path in PAYLOADS.iterdir() if path.is_dir())
NESTED, TOP, OWN = "nested", "top", "own"
DIALECTS = {
    "claude": NESTED,
    "codex": NESTED,
    "gemini": NESTED,
    "vscode": NESTED,
    "copilot": TOP,
    "copilot-claude-settings": TOP,
    "cursor": "additional_context",
    "opencode": "context",
}
ASKED_AS = {"copilot-claude-settings": "claude"}
"""Whose settings the hook stands in, where that is not the host itself."""

Call = Callable[..., str]


def fixture(folder: str, name: str, project: Path) -> dict[str, Any]:
    """A recorded payload, in this project."""
    text = (PAYLOADS / folder / f"{name}.json").read_text().replace("{project}", str(project))
    payload: dict[str, Any] = json.loads(text)
    if folder == "opencode":
        hook = name.partition("-")[0]
        payload = {"hook": hook, "directory": str(project), **payload}
    return payload


def names(folder: str) -> list[str]:
    """The names of a host's recorded payloads."""
    return sorted(path.stem for path in (PAYLOADS / folder).glob("*.json") if path.stem != "sequence")


def event_of(name: str) -> str:
    """The event in the name of a recorded payload."""
    return name.partition("-")[0]


def context(folder: str, answer: str) -> str:
    """The text that an answer injects; the answer must be one that the host honours."""
    if not answer:
        return ""
    said = json.loads(answer)
    dialect = DIALECTS[folder]
    if dialect == NESTED:
        assert set(said) == {"hookSpecificOutput"}
        assert set(said["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        return str(said["hookSpecificOutput"]["additionalContext"])
    key = "additionalContext" if dialect == TOP else dialect
    assert set(said) <= {key}
    return str(said.get(key, ""))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    """Call the hook in this process, as a host would: ``call("claude", payload, "Stop")``."""

    class Stdin:
        buffer = io.BytesIO()

    monkeypatch.setattr("sys.stdin", Stdin)

    def act(host: str, payload: object, event: str = "") -> str:
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        Stdin.buffer = io.BytesIO(raw)
        return answered([host, event])

    return act


@contextmanager
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Within the scope, hooks are called by a host with a process of its own, which ends with it."""
    process = subprocess.Popen(["sleep", "1000"])
    try:
        with monkeypatch.context() as patch:
            patch.setenv("HOLDFAST_PID", str(process.pid))
            yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def started(project: Path) -> Path:
    """A project with a session that has an unsettled decision."""
    with holdfast.open() as workspace:
        session = workspace.start("Move the tables")
        session.decide("Copy before deleting MARK-7", because="no way back", action="copy")
    return project


def state() -> dict[str, Any]:
    """The state of the current session."""
    with holdfast.open() as workspace:
        return workspace.session().state


def errors(project: Path) -> str:
    """The error log of hooks."""
    log = project / ".state" / "local" / "hooks.log"
    return log.read_text() if log.exists() else ""
