"""Everything that answers from stored text: each command as text and as JSON, the hooks, and MCP."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from holdfast.edge import hooks
from holdfast.edge.cli import main
from holdfast.edge.mcp.offer import WorkspaceOffer
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.protocol import Peer, Server
from holdfast.testing.foreign_commits import Answer, Surface

COMMANDS: tuple[str, ...] = (
    "status",
    "resume",
    "brief",
    "sessions",
    "recover",
    "decisions",
    "why src/a.py",
    "search this",
    "search --kind decision,session,note,message,own",
    "sql select*from(texts)",
    "sql select*from(sessions)",
    "index status",
    "index rebuild",
    "goal show",
    "goal focus here",
    "goal status working",
    "goal set further",
    "phase list",
    "phase declare one two",
    "phase enter one",
    "phase complete",
    "phase skip two --because why",
    "task list",
    "task list --results",
    "task add more",
    "task start T-105",
    "task done T-105",
    "task skip T-106 --because why",
    "task block T-107 --because why",
    "task unblock T-107",
    "plan show",
    "plan propose more",
    "plan approve PLAN-105",
    "plan reject PLAN-106 --because why",
    "plan edit text --id PLAN-107",
    "checkpoint here",
    "discuss topic",
    "return",
    "do /status",
    "note after",
    "loop list",
    "loop add more",
    "loop explore LOOP-105",
    "loop close LOOP-105 done",
    "next list",
    "next add more",
    "next done N-105",
    "blocker list",
    "blocker add more",
    "blocker close B-105 done",
    "risk list",
    "risk add more",
    "risk close R-105 done",
    "error list",
    "error add more",
    "error remedy E-105 done",
    "legal text --outcome fine",
    "message recent",
    "message add agent text",
    "message summarize text",
    "ref list",
    "ref check",
    "ref drop absent",
    "budget show",
    "budget set 100000",
    "budget add name --tokens 100",
    "budget include name",
    "budget exclude name",
    "budget drop name",
    "backlog list",
    "backlog ready",
    "backlog add more",
    "backlog start BL-105",
    "backlog done BL-105",
    "backlog edit BL-106 --priority high",
    "order list",
    "order accept SO-108",
    "order add more",
    "order lift SO-105",
    "fact list",
    "fact add more",
    "fact drop F-105",
    "control",
    "control name what",
    "prefer",
    "prefer key",
    "prefer key value",
    "agents-md block",
    "agents-md prune",
    "log",
    "log --limit 5000",
    "log --project",
    "log --user",
    "show",
    "show D-105",
    "show --at 100",
    "diff 1 400",
    "view STATE.md",
    "view state.json",
    "export session-state.json",
    "export events.yaml",
    "export session-decisions-index.yaml",
    "export catch-log.tsv",
    "export backlog.yaml",
    "decide this --because that",
    "capture list",
    "capture confirm C-105",
    "capture correct C-106 text",
    "capture drop C-107",
    "decisions",
    "decisions --open",
    "search OBEYME",
    "search --kind fact,error OBEYME",
    "why a.py",
    "why x",
    "sql 'select * from events'",
    "sql 'select * from decisions'",
    "index status",
    "index rebuild",
    "index delete",
    "settle D-105 done",
    "who",
    "claim path",
    "release path",
    "doctor",
    "doctor --fix",
    "heal",
    "validate",
    "lint",
    "verify",
    "sync",
    "advise --steps yes --users no",
    "record x.own {}",
    "compaction",
    "batch status",
    "batch retry BATCH-105",
    "batch release BATCH-105 host",
    "batch abandon BATCH-106 why",
    "handoff",
    "pause",
    "continue",
    "complete",
    "archive list",
    "archive prune",
    "archive rotate",
    "archive",
    "restore",
    "switch",
    "start more",
)
"""In an order in which each finds something to do. What ends the session comes last."""
NOT_ASKED = {
    "init": "makes a workspace",
    "install": "about hosts, not about the workspace",
    "uninstall": "about hosts, not about the workspace",
    "import": "reads files, not commits",
    "schema": "prints a constant",
    "completion": "prints a constant",
    "help": "prints a constant",
    "mcp": "asked as MCP",
    "hook": "asked as hooks",
    "hook-commit-message": "writes to a file of git",
    "ref add": "reads a file of the project",
    "index delete": "prints a constant",
    "batch create": "reads items",
    "batch run": "runs a command of the caller",
    "batch resume": "runs a command of the caller",
    "run": "runs a command of the caller",
}
FENCED = ("resume", "brief")
"""Commands whose answer a model reads as a prompt."""
NO_SESSION = [
    "sessions",
    "recover",
    "backlog",
    "order",
    "fact",
    "control",
    "prefer",
    "agents-md",
    "who",
    "claim",
    "release",
    "doctor",
    "heal",
    "validate",
    "lint",
    "sync",
    "archive",
    "restore",
    "switch",
    "start",
]
HOOKS = (
    ("claude", "SessionStart"),
    ("claude", "UserPromptSubmit"),
    ("claude", "PreCompact"),
    ("claude", "Stop"),
    ("codex", "SessionStart"),
    ("gemini", "SessionStart"),
    ("copilot", "sessionStart"),
    ("cursor", "sessionStart"),
    ("opencode", "session.created"),
)
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
RESOURCES = (
    "sessions",
    *(f"current/{name}" for name in ("STATE.md", "state.json", "handoff.md", "brief.md", "log/1", "log/2")),
)
TOOLS: dict[str, dict[str, Any]] = {
    "brief": {},
    "status": {},
    "search": {"text": "OBEYME", "limit": 100},
    "decide": {"text": "this", "because": "that"},
    "settle": {"id": "D-108", "outcome": "done"},
    "checkpoint": {"message": "here"},
    "note": {"text": "more"},
    "loop": {"do": "add", "text": "more"},
    "task": {"do": "add", "text": "more"},
    "phase": {"do": "enter", "name": "one"},
    "handoff": {},
    "act": {"action": "/status"},
}


def surfaces() -> Iterator[Surface]:
    """Commands that end the session or its being the current one come last."""
    last = COMMANDS.index("complete")
    yield from _commands(COMMANDS[:last])
    for host, event in HOOKS:
        yield Surface(f"hook {host} {event}", _hook(host, event), fenced=True)
    for tool, arguments in TOOLS.items():
        asked = {"name": tool, "arguments": arguments}
        yield Surface(f"mcp {tool}", _mcp("tools/call", asked), fenced=tool in ("brief", "search", "act"))
    for uri in RESOURCES:
        yield Surface(f"mcp {uri}", _mcp("resources/read", {"uri": f"holdfast://{uri}"}), "brief" in uri)
    for name in ("continue", "status"):
        yield Surface(f"mcp /{name}", _mcp("prompts/get", {"name": name, "arguments": {}}), fenced=True)
    yield from _commands(COMMANDS[last:])


def _commands(lines: tuple[str, ...]) -> Iterator[Surface]:
    for line in lines:
        words = shlex.split(line)
        yield Surface(line, _command(words), words[0] in FENCED, words[0] == "export")
        yield Surface(f"{line} --json", _command([*words, "--json"]))


def _command(words: list[str]) -> Any:
    def ask(workspace: str, session: str) -> Answer:
        out, err = io.StringIO(), io.StringIO()
        named = [] if words[0] in NO_SESSION else ["--session", session]
        target = [session] if words[0] in ("restore", "switch") else []
        with redirect_stdout(out), redirect_stderr(err):
            status = main([*words, *target, "--workspace", workspace, *named])
        if status == 2:
            raise AssertionError(f"{' '.join(words)}: {err.getvalue() or out.getvalue()}")
        return Answer(out.getvalue(), err.getvalue())

    return ask


def _hook(host: str, event: str) -> Any:
    def ask(workspace: str, session: str) -> Answer:
        payload = {"session_id": "s-1", "cwd": workspace, "hook_event_name": event, "source": "startup"}
        payload["prompt"] = "go on"
        before, err = sys.stdin, io.StringIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode()))
        try:
            with redirect_stderr(err):
                answer = hooks.answered([host, event])
        finally:
            sys.stdin = before
        log = os.path.join(workspace, ".state", "local", "hooks.log")
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                raise AssertionError(file.read())
        return Answer("\n".join(_texts(answer)), err.getvalue())

    return ask


def _texts(answer: str) -> list[str]:
    """All texts in the JSON of a host, or the answer itself."""
    try:
        found = json.loads(answer)
    except ValueError:
        return [answer]
    pending, texts = [found], []
    while pending:
        match pending.pop():
            case str(text):
                texts.append(text)
            case dict(fields):
                pending += fields.values()
            case list(items):
                pending += items
    return texts


def _mcp(method: str, params: dict[str, Any]) -> Any:
    def ask(workspace: str, session: str) -> Answer:
        pool, err = WorkspacePool(workspace, session), io.StringIO()
        server, peer = Server(WorkspaceOffer(pool)), Peer(lambda message: None)
        with redirect_stderr(err):
            for number, (name, given) in enumerate((("initialize", CLIENT), (method, params))):
                request = {"jsonrpc": "2.0", "id": number, "method": name, "params": given}
                answer = server.answer(request, peer)
            pool.close()
        assert answer is not None
        assert "error" not in answer, (answer, err.getvalue())
        return Answer("\n".join(_shown(answer["result"])), err.getvalue())

    return ask


def _shown(result: dict[str, Any]) -> list[str]:
    """The texts of an answer that a model reads."""
    parts = [*result.get("content", ()), *result.get("contents", ())]
    parts += [message["content"] for message in result.get("messages", ())]
    return [part["text"] for part in parts]
