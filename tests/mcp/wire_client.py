"""A client that speaks the raw protocol over stdio, with or without handshake, so that a test sees every byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import holdfast
from holdfast.testing.processes import readable

MODERN = "2026-07-28"
SOURCE = str(Path(holdfast.__file__).parents[1])
PROGRAM = f"import sys; sys.path.insert(0, {SOURCE!r}); from holdfast.edge.cli import script; script()"
COMMAND = [sys.executable, "-c", PROGRAM, "mcp"]
"""The server: of the same package that is tested, also where a client hands no environment on."""
PATIENCE = 30.0


def environment(**more: str) -> dict[str, str]:
    """The environment of a server: that of the test, and where the package is."""
    return {**os.environ, "PYTHONPATH": SOURCE, **more}


def envelope(name: str = "wire") -> dict[str, Any]:
    """The ``_meta`` of a request without handshake."""
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


class Refusal(Exception):
    """A protocol error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data = error.get("data")


class WireClient:
    """One server process and one client of it, which speaks the revision ``era``."""

    def __init__(self, folder: Path, era: str, *words: str, name: str = "wire", **variables: str) -> None:
        self.era, self.name = era, name
        self.notices: list[dict[str, Any]] = []
        self.answers: dict[Any, dict[str, Any]] = {}
        self._number = 0
        self._buffer = b""
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            cwd=folder,
            env=environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if era != MODERN:
            about = {"name": name, "version": "1"}
            self.opening = self.ask("initialize", protocolVersion=era, capabilities={}, clientInfo=about)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    # -- bytes --------------------------------------------------------------------------------------------

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def line(self, patience: float = PATIENCE) -> Any:
        """The next message; fails if the server says anything that is not one."""
        assert self.process.stdout is not None
        until = time.monotonic() + patience
        while b"\n" not in self._buffer:
            if not readable(self.process.stdout, until - time.monotonic()):
                raise TimeoutError("the server says nothing")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise EOFError(self.log())
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line)
        assert all(part["jsonrpc"] == "2.0" for part in (message if isinstance(message, list) else [message]))
        return message

    # -- requests -----------------------------------------------------------------------------------------

    def begin(self, method: str, **params: Any) -> int:
        """Send a request without waiting; returns its id."""
        self._number += 1
        if self.era == MODERN and method != "initialize":
            params["_meta"] = {**envelope(self.name), **params.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def wait(self, number: Any) -> dict[str, Any]:
        """The answer to a request, whatever else comes before it."""
        while number not in self.answers:
            message = self.line()
            if "method" in message:
                self.notices.append(message)
            else:
                self.answers[message["id"]] = message
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Refusal(answer["error"])
        result: dict[str, Any] = answer["result"]
        if self.era == MODERN:
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "holdfast"
        else:
            assert "resultType" not in result
        return result

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.wait(self.begin(method, **params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; returns the whole result."""
        return self.ask("tools/call", name=tool, arguments=arguments)

    def do(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; returns its data."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result["content"][0]["text"]
        data: dict[str, Any] = result["structuredContent"]
        return data

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must refuse; returns what it says."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        return text

    def read(self, uri: str) -> str:
        (content,) = self.ask("resources/read", uri=uri)["contents"]
        assert content["uri"] == uri
        text: str = content["text"]
        return text

    def watch(self, *uris: str) -> Any:
        """Subscribe to changes, as the revision does."""
        if self.era != MODERN:
            for uri in uris:
                self.ask("resources/subscribe", uri=uri)
            return None
        number = self.begin("subscriptions/listen", notifications={"resourceSubscriptions": list(uris)})
        acknowledged = self.line()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": list(uris)}
        return number

    def notice(self, patience: float = PATIENCE) -> str:
        """The URI in the next change notification."""
        message = self.notices.pop(0) if self.notices else self.line(patience)
        assert message["method"] == "notifications/resources/updated"
        uri: str = message["params"]["uri"]
        return uri

    # -- the end ------------------------------------------------------------------------------------------

    def log(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read().decode()

    def close(self) -> int:
        """Close the server's input, as a client does when it exits; return its exit status."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        return self.process.wait(PATIENCE)

    def __enter__(self) -> WireClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        finally:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
