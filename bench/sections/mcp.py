"""One call of an MCP tool on a warm server, against the same library call: both durable, interleaved.

The official SDK is measured too: with a tool that does nothing, which is the cost of its protocol alone, and with the
same durable call.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from bench import stats
from bench.contender import missing
from bench.ours import GOAL, USER
from bench.settings import Settings

LIBRARY_NOTE, LIBRARY_DECIDE = "library: note", "library: decide + settle"
TOOL_NOTE, TOOL_DECIDE = "holdfast mcp: note", "holdfast mcp: decide + settle"
EMPTY = "holdfast mcp: ping"
SDK_EMPTY, SDK_NOTE = "official SDK: empty tool", "official SDK: note"
START, SDK_START = "holdfast mcp: start to first answer", "official SDK: start to first answer"
TEXT = "The export has two kinds of invoice, and nobody knows why; see the March folder. " * 2
_WARM = 3
"""Rounds that are not counted: the first calls of a server load what it needs."""

_OURS = "from holdfast.edge.cli import script; script()"
_SDK = """
import sys, holdfast
from mcp.server import MCPServer
server = MCPServer("bench", version="1")
session = holdfast.open(sys.argv[1], user="bench").session()
@server.tool()
def empty(text: str) -> dict[str, int]:
    return {"version": len(text)}
@server.tool()
def note(text: str) -> dict[str, int]:
    return {"version": session.note(text).version}
server.run()
"""


class Client:
    """A minimal client of a server process."""

    def __init__(self, *argv: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOLDFAST_USER": USER},
        )
        self._number = 0
        about = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        result: dict[str, Any] = json.loads(self.process.stdout.readline())["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        data: dict[str, Any] = result["structuredContent"]
        return data

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def run(settings: Settings, folder: str, say: Callable[[str], None]) -> dict[str, Any]:
    import holdfast
    from holdfast.workspace import scaffold

    # A separate workspace for each: two processes on one history would wait for each other.
    places = {}
    for name in ("library", "tool", "sdk"):
        places[name] = os.path.join(folder, "mcp", name)
        scaffold.create(os.path.join(places[name], ".state"))
        with holdfast.open(places[name], user=USER) as workspace:
            workspace.start(GOAL)
    gone = missing(("mcp.server.mcpserver",))
    started: dict[str, list[float]] = {START: [], SDK_START: []}
    for turn in range(settings.mcp_rounds // 4 + 1):
        say(f"mcp: start {turn}")
        started[START].append(_start("-c", _OURS, "mcp", "--workspace", places["tool"]))
        if not gone and turn < 5:
            started[SDK_START].append(_start("-c", _SDK, places["sdk"]))
    clients = [Client("-c", _OURS, "mcp", "--workspace", places["tool"])]
    if not gone:
        clients.append(Client("-c", _SDK, places["sdk"]))
    workspace = holdfast.open(places["library"], user=USER)
    try:
        blocks = _take_turns(settings, workspace.session(), *clients)
    finally:
        workspace.close()
        for client in clients:
            client.close()
    return {"rows": [*_rows(blocks, gone), *_start_rows(started, gone)]}


def _start(*argv: str) -> float:
    """Microseconds from nothing to the first answer."""
    began = perf_counter_ns()
    client = Client(*argv)
    took = perf_counter_ns() - began
    client.close()
    return took / 1e3


def _take_turns(
    settings: Settings, session: Any, tool: Client, sdk: Client | None = None
) -> dict[str, list[list[float]]]:
    def library_decide() -> None:
        session.settle(session.decide(TEXT, because=TEXT).id, TEXT)

    def tool_decide() -> None:
        tool.call("settle", id=tool.call("decide", text=TEXT, because=TEXT)["id"], outcome=TEXT)

    steps: dict[str, Callable[[], object]] = {
        LIBRARY_NOTE: lambda: session.note(TEXT),
        TOOL_NOTE: lambda: tool.call("note", text=TEXT),
        LIBRARY_DECIDE: library_decide,
        TOOL_DECIDE: tool_decide,
        EMPTY: lambda: tool.ask("ping", {}),
    }
    if sdk is not None:
        steps[SDK_EMPTY] = lambda: sdk.call("empty", text=TEXT)
        steps[SDK_NOTE] = lambda: sdk.call("note", text=TEXT)
    blocks: dict[str, list[list[float]]] = {name: [] for name in steps}
    order = list(steps)
    shuffle = random.Random(5).shuffle
    for turn in range(settings.mcp_rounds + _WARM):
        shuffle(order)
        for name in order:
            block = []
            for _ in range(settings.append_block):
                began = perf_counter_ns()
                steps[name]()
                block.append((perf_counter_ns() - began) / 1e3)
            if turn >= _WARM:
                blocks[name].append(block)
    return blocks


def _rows(blocks: dict[str, list[list[float]]], gone: str | None) -> list[dict[str, Any]]:
    against = {
        TOOL_NOTE: LIBRARY_NOTE,
        TOOL_DECIDE: LIBRARY_DECIDE,
        EMPTY: LIBRARY_NOTE,
        SDK_EMPTY: LIBRARY_NOTE,
        SDK_NOTE: LIBRARY_NOTE,
    }
    rows = []
    for name in (LIBRARY_NOTE, TOOL_NOTE, LIBRARY_DECIDE, TOOL_DECIDE, EMPTY, SDK_EMPTY, SDK_NOTE):
        if name not in blocks:
            rows.append({"call": name, "status": gone})
            continue
        base = blocks[against.get(name, name)]
        ratio = stats.paired([stats.median(b) for b in blocks[name]], [stats.median(b) for b in base])
        rows.append({"call": name, "ratio": ratio, "us": stats.blocks_summary(blocks[name])})
    return rows


def _start_rows(started: dict[str, list[float]], gone: str | None) -> list[dict[str, Any]]:
    return [
        {"call": name, "ratio": None, "us": stats.blocks_summary([[time] for time in times])}
        if times
        else {"call": name, "status": gone}
        for name, times in started.items()
    ]


def ratio_of(result: dict[str, Any], name: str) -> float | None:
    """The cost of a tool call in this run, as a multiple of a library call."""
    for row in result.get("mcp", {}).get("rows", ()):
        if row["call"] == name and row.get("ratio"):
            found: float = row["ratio"]["median"]
            return found
    return None
