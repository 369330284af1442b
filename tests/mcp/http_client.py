"""An HTTP server, and raw requests to it."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from wire_client import COMMAND, MODERN, PATIENCE, envelope, environment


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


class HttpServer:
    """``holdfast mcp --http`` on a port of its own choice."""

    def __init__(self, folder: Path, *words: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--http", "--port", "0", *words],
            cwd=folder,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.said)
        assert found, self.said + self.process.stderr.read().decode()
        self.port = int(found[1])
        self.url = found[0]
        kept = folder / ".state" / "local" / "mcp-token"
        self.token = variables.get("HOLDFAST_MCP_TOKEN") or (
            kept.read_text().strip() if kept.exists() else ""
        )

    def request(
        self, method: str, body: bytes | None = None, path: str = "/mcp", **headers: str | None
    ) -> Answer:
        """One request. Headers are given with underscores; None omits one."""
        wanted: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in wanted.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            data = response.read()
            return Answer(response.status, dict(response.getheaders()), json.loads(data) if data else None)
        finally:
            connection.close()

    def ask(self, method: str, params: dict[str, Any] | None = None, **headers: str | None) -> Answer:
        """A request without handshake, with its headers."""
        given = {"_meta": envelope(), **(params or {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
        usual: dict[str, str | None] = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
        if named := given.get("name") or given.get("uri"):
            usual["Mcp_Name"] = named
        return self.request("POST", json.dumps(message).encode(), **{**usual, **headers})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert answer.status == 200, answer
        result: dict[str, Any] = answer.body["result"]
        return result

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
