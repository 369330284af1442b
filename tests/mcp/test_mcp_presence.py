"""Who is present when a host runs an MCP server and hooks: the host, once, and never a stranger to itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HOST = """\
import json, os, subprocess, sys
program = [sys.executable, "-m", "holdfast"]
path = sys.argv[1]

def hook(**more):
    payload = {"session_id": sys.argv[2], "cwd": os.getcwd(), "transcript_path": "/t", **more}
    done = subprocess.run(["sh", "-c", "\\"$0\\" -m holdfast hook claude", sys.executable],
                          input=json.dumps(payload), capture_output=True, text=True)
    return done.stdout

server = subprocess.Popen([*program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
asked = [
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
     "clientInfo": {"name": "claude-code", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "note", "arguments": {"text": "hello"}}},
    {"id": 3, "method": "tools/call", "params": {"name": "brief", "arguments": {}}},
]
said = hook(hook_event_name="UserPromptSubmit", prompt="edit the page")
answers = []
for message in asked:
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    server.stdin.flush()
    if "id" in message:
        answers.append(json.loads(server.stdout.readline()))
open(path, "a").write("one\\n")
edit = {"tool_name": "Edit", "tool_input": {"file_path": os.path.abspath(path)}, "tool_response": {}}
said += hook(hook_event_name="PostToolUse", tool_use_id="t", **edit)
server.stdin.close()
server.wait()
who = subprocess.run([*program, "who", "--json"], capture_output=True, text=True).stdout
found = {"pid": os.getpid(), "leader": os.getsid(0), "said": said, "who": json.loads(who), "answers": answers}
print(json.dumps(found))
sys.stdout.flush()
sys.stdin.readline()
"""


def start(project: Path, script: Path, conversation: str) -> subprocess.Popen[str]:
    """A host in a terminal of its own, which runs until its input ends."""
    words = ["sh", "-c", '"$@"; :', "sh", sys.executable, str(script), "page.txt", conversation]
    return subprocess.Popen(
        words, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def report(host: subprocess.Popen[str]) -> dict[str, Any]:
    assert host.stdout is not None
    found: dict[str, Any] = json.loads(host.stdout.readline())
    return found


def test_a_host_is_present_and_not_warned_of_itself(project: Path, tmp_path: Path) -> None:
    """Server and hooks stand for the host and not for its terminal; another host on the same file is named."""
    subprocess.run([sys.executable, "-m", "holdfast", "start", "Write the page"], cwd=project, check=True)
    script = tmp_path / "host.py"
    script.write_text(HOST)
    first = start(project, script, "one")
    second = None
    try:
        found = report(first)
        assert found["pid"] != found["leader"]
        people = [each for each in found["who"]["people"] if each["process"][3] == found["pid"]]
        assert [each["by"] for each in people] == ["claude"], "hooks, server and commands are one agent"
        assert people[0]["me"], "`who` was run by the host itself"
        assert "also working" not in found["said"]
        assert "hello" in json.dumps(found["answers"][2])
        assert "also" not in json.dumps(found["answers"][2]), "the brief does not warn of its reader"
        second = start(project, script, "two")
        assert "claude is also working on «page.txt»" in report(second)["said"]
    finally:
        for host in (first, second):
            if host is not None:
                host.communicate("\n")
