"""Hostile payloads: the host is never broken, nothing is lost, nothing grows without bound."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.edge import hooks
from holdfast.edge.hooks import claude, codex, copilot, cursor, gemini, opencode, vscode
from holdfast.edge.hooks.hosts import NAMES, caller, load
from holdfast.edge.hooks.log import LARGEST
from holdfast.testing.hostile import TEXTS
from holdfast.workspace import capture

from .conftest import Call, context, errors, fixture, state

MODULES = {
    "claude": claude,
    "codex": codex,
    "copilot": copilot,
    "cursor": cursor,
    "gemini": gemini,
    "opencode": opencode,
    "vscode": vscode,
}
GARBAGE = {
    "nothing": b"",
    "blank": b" \n",
    "cut off": b'{"session_id": "x", "cwd": "/',
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "no UTF-8": b"\xff\xfe{}",
    "deep": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "zero bytes": b"\0" * 100,
    "empty object": b"{}",
    "huge number": b'{"session_id": ' + b"9" * 10_000 + b"}",
}


def valid(host: str, answer: str) -> str:
    """The text in an answer that the host understands."""
    return answer if host == "claude" and answer[:1] not in ("", "{") else context(host, answer)


@pytest.mark.parametrize("host", NAMES)
@pytest.mark.parametrize("name", GARBAGE)
def test_garbage(host: str, name: str, started: Path, call: Call) -> None:
    """Any input gets a valid answer, and the existing decision stays."""
    valid(host, call(host, GARBAGE[name]))
    assert list(state()["decisions"]["open"]) == ["D-1"]


@pytest.mark.parametrize("host", NAMES)
def test_a_payload_that_cannot_be_read_still_gets_the_brief(host: str, started: Path, call: Call) -> None:
    """If the command names the event, a new conversation gets the brief even with a broken payload."""
    event = {
        "copilot": "sessionStart",
        "cursor": "sessionStart",
        "opencode": "experimental.chat.system.transform",
    }
    said = context(host, call(host, b'{"cut', event.get(host, "SessionStart")))
    assert "D-1" in said
    assert "JSONDecodeError" in errors(started)


FIELDS = sorted(
    {
        *(
            "session_id",
            "sessionId",
            "cwd",
            "hook_event_name",
            "hookEventName",
            "source",
            "prompt",
            "trigger",
            "timestamp",
        ),
        *(
            "tool_name",
            "tool_input",
            "tool_response",
            "toolName",
            "toolArgs",
            "toolResult",
            "tool_result",
            "hook",
            "input",
        ),
        *(
            "output",
            "directory",
            "workspace_roots",
            "conversation_id",
            "compact_summary",
            "last_assistant_message",
        ),
        *(
            "background_tasks",
            "error",
            "turn_id",
            "file_path",
            "status",
            "transcript_path",
            "type",
            "properties",
        ),
    }
)
_NAMES = sorted(
    {name for module in MODULES.values() for name in getattr(module, "KINDS", {})} | set(opencode.HOOKS)
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(_NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(FIELDS), _ANY, max_size=8),
    st.sampled_from(NAMES),
    st.sampled_from(["", *_NAMES]),
)
def test_any_types_are_read(payload: dict[str, Any], named: str, event: str) -> None:
    """Fields of any type under any known name: the caller is found, the event is read, the texts are texts."""
    host = caller(named, payload)
    read = load(host).read(payload, event)
    for field in (
        "name",
        "host_session",
        "folder",
        "key",
        "source",
        "prompt",
        "summary",
        "message",
        "command",
        "output",
    ):
        assert isinstance(getattr(read, field), str)
    assert all(isinstance(path, str) for path in (*read.edited, *read.in_flight))
    load(host).answer(read, "text")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    payload=st.dictionaries(st.sampled_from(FIELDS), _ANY, max_size=8),
    named=st.sampled_from(NAMES),
    event=st.sampled_from(_NAMES),
)
def test_any_types_are_handled(
    started: Path, call: Call, payload: dict[str, Any], named: str, event: str
) -> None:
    """The same through the whole handler, in a workspace: no error, and nothing is lost."""
    call(named, {**payload, "cwd": str(started)}, event)
    assert errors(started) == ""
    with holdfast.open() as workspace:
        assert workspace.recover()[0].decision.id == "D-1"


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_any_text_is_stored_as_data(text: str, started: Path, call: Call) -> None:
    """Hostile texts as prompt, message and summary: stored or dropped, never an error, always fenced."""
    base = {"session_id": "s", "cwd": str(started)}
    call("claude", {**base, "hook_event_name": "UserPromptSubmit", "prompt": text, "prompt_id": "p"})
    call("claude", {**base, "hook_event_name": "Stop", "last_assistant_message": text})
    call("claude", {**base, "hook_event_name": "PostCompact", "compact_summary": text, "prompt_id": "p"})
    assert errors(started) == ""
    said = context("claude", call("claude", {**base, "hook_event_name": "SessionStart", "source": "resume"}))
    assert "D-1" in said
    assert said.count("«") == said.count("»")


def test_an_unpaired_surrogate(started: Path, call: Call) -> None:
    """A text that a host cut inside a surrogate pair does not lose the event."""
    raw = json.dumps({"session_id": "s", "cwd": str(started), "prompt": "hi \ud83d"}).encode()
    call("claude", raw, "UserPromptSubmit")
    assert errors(started) == ""
    assert state()["messages"]["recent"][-1]["text"].startswith("hi ")


def test_a_huge_payload(started: Path, call: Call) -> None:
    """Ten megabytes of output and a path of a megabyte: what is stored stays small."""
    payload = fixture("claude", "PostToolUseFailure-Bash-failed", started)
    payload["tool_input"]["command"] = "make " + "x" * 5_000_000
    payload["error"] = "Exit code 2\n" + "y" * 5_000_000
    call("claude", payload)
    call(
        "claude",
        {
            **fixture("claude", "PostToolUse-Write", started),
            "tool_input": {"file_path": "/" + "z" * 1_000_000},
        },
    )
    assert errors(started) == ""
    (error,) = state()["errors"]["open"].values()
    assert len(error["text"]) < 1_000
    assert sum(path.stat().st_size for path in (started / ".state").rglob("*.jsonl")) < 10_000


def test_a_payload_over_the_limit(started: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A payload over the limit is reported in the log."""
    monkeypatch.setattr(hooks, "LARGEST", 1_000)
    assert call("claude", {"prompt": "x" * 2_000}, "UserPromptSubmit") == ""
    assert "not a JSON object" in errors(started)


def test_an_unknown_host(started: Path, call: Call) -> None:
    """An unknown host gets no answer and a line in the log; nothing is raised."""
    assert call("emacs", {}) == ""
    assert "unknown host 'emacs'" in errors(started)


def test_errors_are_shown_by_doctor_and_bounded(
    started: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken handler: every call still exits with 0, doctor reports it, and the log is bounded."""

    def broken(*_: object) -> str:
        raise RuntimeError("broken " + "x" * 300)

    monkeypatch.setattr("holdfast.edge.hooks.handler.handle", broken)
    for _ in range(400):
        assert call("claude", fixture("claude", "Stop", started)) == ""
    log = started / ".state" / "local" / "hooks.log"
    assert LARGEST // 3 < log.stat().st_size <= LARGEST
    with holdfast.open() as workspace:
        (fault,) = workspace.doctor()
    assert fault.harmless
    assert "errors in hooks" in fault.what
    assert "RuntimeError" in fault.what


def test_damage_does_not_break_a_host(started: Path, call: Call) -> None:
    """A segment that is garbage from its first byte: the hook says nothing, or what is left."""
    for path in (started / ".state" / "events").rglob("*.jsonl"):
        path.write_bytes(os.urandom(4_000))
    for name in ("SessionStart-startup", "UserPromptSubmit", "Stop", "PreCompact-manual", "SessionEnd-other"):
        valid("claude", call("claude", fixture("claude", name, started)))


def test_a_workspace_that_cannot_be_written(started: Path) -> None:
    """A read-only workspace: status 0, a valid answer."""
    for folder in [started, *started.parents]:
        if folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o755)
    (started / ".state").chmod(0o555)
    raw = json.dumps(fixture("claude", "UserPromptSubmit", started)).encode()
    # Root writes everywhere, so the hook runs as somebody else, once its modules are loaded.
    code = """
import os, sys
from holdfast.edge import hooks
from holdfast.edge.hooks import claude, handler, log
from holdfast.workspace import capture, presence
if os.geteuid() == 0:
    os.setuid(65534)
sys.exit(hooks.run(["claude"]))
"""
    done = subprocess.run([sys.executable, "-c", code], input=raw, cwd=started, capture_output=True)
    (started / ".state").chmod(0o755)
    assert done.returncode == 0
    valid("claude", done.stdout.decode())


def test_a_lock_that_is_never_released(started: Path, tmp_path: Path) -> None:
    """A stopped process holds the stream's lock: the hook times out with status 0."""
    holder = tmp_path / "holder.py"
    holder.write_text(
        "import fcntl, glob, os, signal\n"
        "fds = [os.open(p, os.O_RDWR) for p in glob.glob('.state/local/locks/*.lock')]\n"
        "assert fds\n"
        "[fcntl.flock(fd, fcntl.LOCK_EX) for fd in fds]\n"
        "print('held', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, str(holder)], cwd=started, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        code = (
            "import sys; from holdfast.edge import hooks; hooks.SECONDS = 1; sys.exit(hooks.run(['claude']))"
        )
        raw = json.dumps(fixture("claude", "UserPromptSubmit", started)).encode()
        before = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=raw,
            cwd=started,
            env=environment,
            capture_output=True,
            timeout=30,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert time.monotonic() - before < 10
        assert "timed out after 1 s" in errors(started)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_nothing_grows_without_bound(started: Path, call: Call) -> None:
    """A thousand files and failures: the state keeps the newest of each, and what a person referred to stays."""
    (started / "kept.txt").write_text("by a person")
    with holdfast.open() as workspace:
        workspace.session().refer("kept.txt")
        workspace.session().add_error("by a person")
    base = {"session_id": "s", "cwd": str(started)}
    for number in range(0, capture.FILES + 40, 20):
        files = [f"file-{number + each:04}.txt" for each in range(20)]
        for name in files:
            (started / name).write_text(name)
        call(
            "claude",
            {
                **base,
                "hook_event_name": "PostToolUse",
                "tool_name": "editFiles",
                "tool_input": {"files": files},
            },
        )
    for number in range(capture.ERRORS + 15):
        bash = {"tool_name": "Bash", "tool_input": {"command": f"make {number}"}, "error": "Exit code 2\nno"}
        call("claude", {**base, "hook_event_name": "PostToolUseFailure", **bash})
    found = state()
    assert len(found["references"]["open"]) == capture.FILES + 1
    assert "kept.txt" in found["references"]["open"]
    assert f"file-{capture.FILES + 39:04}.txt" in found["references"]["open"]
    assert len(found["errors"]["open"]) == capture.ERRORS + 1
    assert errors(started) == ""


def test_files_outside_of_the_project_are_ignored(started: Path, call: Call, tmp_path: Path) -> None:
    """Neither a file elsewhere nor a link out of the project becomes a reference."""
    (tmp_path / "elsewhere.txt").write_text("x")
    (started / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    for path in (
        str(tmp_path / "elsewhere.txt"),
        str(started / "link.txt"),
        "../elsewhere.txt",
        "/etc/passwd",
    ):
        payload = fixture("claude", "PostToolUse-Write", started)
        call("claude", {**payload, "tool_input": {"file_path": path}})
    assert state()["references"]["open"] == {}
    assert errors(started) == ""


def test_the_environment_is_never_stored(started: Path) -> None:
    """A marker in the host's environment is nowhere in the project afterwards, for any event."""
    marker = "ENVIRONMENT-MARKER-31337"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CLAUDE_CODE_MESSAGING_TOKEN": marker,
        "ANTHROPIC_API_KEY": marker,
    }
    for name in (
        "SessionStart-startup",
        "UserPromptSubmit",
        "PostToolUse-Write",
        "PreCompact-auto",
        "Stop",
        "SessionEnd-other",
    ):
        raw = json.dumps(fixture("claude", name, started)).encode()
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "hook", "claude"],
            input=raw,
            cwd=started,
            env=environment,
            capture_output=True,
        )
        assert marker.encode() not in done.stdout
    subprocess.run(
        [sys.executable, "-m", "holdfast", "hook", "claude"], input=b"{broken", cwd=started, env=environment
    )
    found = [path for path in started.rglob("*") if path.is_file() and marker.encode() in path.read_bytes()]
    assert found == []


def test_secrets_are_redacted(started: Path, call: Call) -> None:
    """A token in a prompt, a command or a summary is stored as a placeholder, even where the text is truncated."""
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    base = {"session_id": "s", "cwd": str(started)}
    for cut in (0, capture.PROMPT_LENGTH - 20):
        call(
            "claude",
            {**base, "hook_event_name": "UserPromptSubmit", "prompt": "x" * cut + f" use {token} please"},
        )
    call("claude", {**base, "hook_event_name": "PostCompact", "compact_summary": f"the token is {token}"})
    failure = {
        "tool_name": "Bash",
        "tool_input": {"command": f"curl -H {token}"},
        "error": f"Exit code 2\n{token}",
    }
    call("claude", {**base, "hook_event_name": "PostToolUseFailure", **failure})
    assert errors(started) == ""
    stored = b"".join(path.read_bytes() for path in (started / ".state").rglob("*") if path.is_file())
    assert token.encode() not in stored
    assert token[:16].encode() not in stored
    assert stored.count(b"[secret:") >= 3
