"""A model on loopback for tests of real agent hosts: scripted answers, every request kept.

It answers only by script, so a host run against it is deterministic: a rule fires when the last message of
the user holds its trigger, and its replies follow one another as the tool results come back. It listens on
the loopback interface at a free port and opens no connection itself.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

from holdfast.testing.processes import readable

from .dialects import Body, Dialect, Reply, ToolCall, Turn, dialect_of, wants_stream

__all__ = ["FakeModel", "Reply", "Request", "ToolCall", "Turn"]


class Request(NamedTuple):
    """One request that a host made."""

    dialect: str
    path: str
    body: Body
    text: str
    turns: tuple[Turn, ...]
    tools: tuple[str, ...]

    @property
    def prompt(self) -> str:
        """The last message of the user."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")

    @property
    def results(self) -> int:
        """How many tool results followed the last message of the user."""
        count = 0
        for turn in reversed(self.turns):
            if turn.role == "user":
                break
            count += turn.role == "tool"
        return count


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, model: FakeModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A host that was killed mid-turn leaves a broken pipe, as the test intends."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep test output clean."""

    def _json(self, data: Body, status: int = 200) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def do_HEAD(self) -> None:
        self._json({})

    def do_CONNECT(self) -> None:
        """Hosts get this server as their proxy: outside requests are recorded and refused."""
        self.server.model.note_stray(f"CONNECT {self.path}")
        self._json({"error": {"message": "tests run offline"}}, 403)

    def do_GET(self) -> None:
        self.server.model.note_stray(f"GET {self.path}")
        if self.path.split("?")[0].endswith("/models"):
            return self._json({"object": "list", "data": [], "models": []})
        return self._json({"error": {"message": "no such thing"}}, 404)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        dialect = dialect_of(self.path)
        if dialect is None:
            self.server.model.note_stray(f"POST {self.path}")
            if "ountTokens" in self.path or "count_tokens" in self.path:
                return self._json({"input_tokens": 100, "totalTokens": 100})
            return self._json({"error": {"message": "no such thing"}}, 404)
        return self._answer(dialect, raw.decode())

    def _answer(self, dialect: Dialect, text: str) -> None:
        body = json.loads(text)
        turns, tools = tuple(dialect.turns(body)), tuple(dialect.tools(body))
        request = Request(dialect.name, self.path, body, text, turns, tools)
        reply, number = self.server.model.take(request)
        if reply.status != 200:
            return self._json(
                {"type": "error", "error": {"type": "fault", "message": reply.text}}, reply.status
            )
        if not wants_stream(self.path, body):
            if reply.hang:
                return self._hang()
            return self._json(dialect.whole(body, reply, number))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in dialect.stream(body, reply, number):
            self.wfile.write(chunk.encode())
            self.wfile.flush()
            if reply.hang:
                return self._hang()
        return None

    def _hang(self) -> None:
        """Keep the turn open until the host goes away or the server closes."""
        model = self.server.model
        model.hanging.set()
        self.close_connection = True
        while not model.closing.is_set():
            if readable(self.connection, 0.05) and not self.connection.recv(1, socket.MSG_PEEK):
                return


class FakeModel:
    """The scripted model. Use as a context manager; `url` is its address."""

    def __init__(self) -> None:
        self.default = Reply()
        self.requests: list[Request] = []
        self.strays: list[str] = []
        self.hanging = threading.Event()
        self.closing = threading.Event()
        self._rules: list[tuple[str, Sequence[Reply]]] = []
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The base address, without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, trigger: str, *replies: Reply) -> None:
        """When the user's last message holds the trigger, give these replies, one per tool result so far.

        After the last of them the default answer ends the turn. Later rules win over earlier ones.
        """
        with self._lock:
            self._rules.insert(0, (trigger, replies))

    def take(self, request: Request) -> tuple[Reply, int]:
        """Keep a request and choose its reply.

        A tool call, and a reply that hangs, answer only a request that offers tools: hosts also ask for titles and
        summaries. The call need not be one of the tools offered, because some hosts keep those of MCP servers back
        until searched for.
        """
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            for trigger, replies in self._rules:
                if trigger in request.prompt and request.results < len(replies):
                    reply = replies[request.results]
                    if request.tools or (reply.call is None and not reply.hang):
                        return reply, number
            return self.default, number

    def note_stray(self, line: str) -> None:
        """Record a request that is no model call, such as a list of models."""
        with self._lock:
            self.strays.append(line)

    def wait_for(self, count: int, seconds: float = 20.0) -> bool:
        """Wait until at least so many requests were made."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                if len(self.requests) >= count:
                    return True
            time.sleep(0.02)
        return False

    def __enter__(self) -> FakeModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
