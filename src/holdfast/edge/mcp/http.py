"""MCP over HTTP, on the loopback interface only: one POST per message, and event streams for notifications.

Every request passes three checks: the Host header (against DNS rebinding), the Origin header, and the bearer token.
"""

from __future__ import annotations

import hmac
import queue
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import BoundedSemaphore, Lock, Thread, current_thread, main_thread

from holdfast.edge.mcp import wire
from holdfast.edge.mcp.http_rules import checked_headers, is_modern, is_own_host, is_own_origin, status_of
from holdfast.edge.mcp.http_sessions import Sessions
from holdfast.edge.mcp.http_stream import Stream
from holdfast.edge.mcp.pool import WorkspacePool
from holdfast.edge.mcp.protocol import Peer, Server
from holdfast.edge.mcp.stdio import say
from holdfast.edge.mcp.token import find_token
from holdfast.edge.mcp.wire import Failure, Json
from holdfast.errors import NoWorkspace, Unavailable
from holdfast.typed import Any

PATH = "/mcp"
CONNECTIONS = 64
REST_SECONDS = 0.5


def serve_here(server: Server, pool: WorkspacePool, port: int) -> None:
    """Serve HTTP on the loopback interface until a signal arrives."""
    try:
        folder = pool.folder()
    except NoWorkspace:
        folder = None
    pool.beats = False
    token, told = find_token(folder)
    try:
        listener = Listener(server, port, token)
    except OSError as error:
        raise Unavailable(f"Port {port} cannot be used: {error.strerror}.") from error
    say(f"http://127.0.0.1:{listener.server_port}{PATH}; {told}")
    listener.run()


class Listener(ThreadingHTTPServer):
    """The HTTP server. Without a token (only in tests) it answers every local client."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, server: Server, port: int, token: str | None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.protocol = server
        self.token = token
        self.sessions = Sessions(server)
        self._room = BoundedSemaphore(CONNECTIONS)
        self._resting = True
        self._strangers: dict[Any, None] = {}
        """Connections that have not shown the token yet, oldest first."""
        self._strangers_lock = Lock()

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        Thread(target=self._idle, daemon=True).start()
        try:
            self.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            pass
        finally:
            self._resting = False
            self.server_close()

    def _idle(self) -> None:
        while self._resting:
            time.sleep(REST_SECONDS)
            self.protocol.offer.idle()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False) and not self._make_room():
            self.shutdown_request(request)
            return
        with self._strangers_lock:
            self._strangers[request] = None
        super().process_request(request, client_address)

    def _make_room(self) -> bool:
        """End the oldest connection that has not shown the token yet; False if all have."""
        with self._strangers_lock:
            oldest = next(iter(self._strangers), None)
            if oldest is None:
                return False
            del self._strangers[oldest]
        try:
            oldest.shutdown(SHUT_RDWR)
        except OSError:
            pass  # it has just ended by itself
        return self._room.acquire(timeout=1)

    def is_known(self, request: Any) -> None:
        """The client of a connection has shown the token."""
        with self._strangers_lock:
            self._strangers.pop(request, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.is_known(request)
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            say(f"a connection failed: {type(error).__name__}: {error}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "holdfast", ""
    timeout = 60
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Listener

    # -- checks -------------------------------------------------------------------------------------------

    def _pass(self) -> bool:
        """Whether the request passes all checks; otherwise answer it with an error."""
        if not is_own_host(self.headers.get_all("Host"), self.server.server_port):
            self._refuse(403, "The Host header must be 127.0.0.1 or localhost.")
        elif not is_own_origin(self.headers.get_all("Origin")):
            self._refuse(403, "This origin is not allowed.")
        elif not self._has_token():
            self._refuse(401, "A bearer token is required.", {"WWW-Authenticate": "Bearer"})
        elif self.path.split("?")[0] != PATH:
            self._refuse(404, f"The only path is {PATH}.")
        else:
            self.server.is_known(self.request)
            return True
        return False

    def _has_token(self) -> bool:
        if self.server.token is None:
            return True
        given = self.headers.get_all("Authorization") or []
        kind, _, shown = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        # A constant-time comparison: the time must not reveal how much of the token was right.
        right = hmac.compare_digest(shown.strip().encode("utf-8", "replace"), self.server.token.encode())
        return right and kind.lower() == "bearer"

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        # The body was not read, so the connection cannot be reused.
        self.close_connection = True
        body = wire.encode(wire.error(None, Failure(-32000, message)))
        self._respond(status, body, headers)

    def _respond(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a malformed request or an unknown method."""
        self._refuse(int(code), message or "The request is malformed.")

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests: URLs can contain private text."""

    # -- requests -----------------------------------------------------------------------------------------

    def do_POST(self) -> None:
        if not self._pass():
            return
        body = self._body()
        if body is None:
            return
        message: Any = None
        try:
            message = wire.decode(body)
            modern = is_modern(message, self.headers)
            if modern:
                checked_headers(message, self.headers)
        except Failure as failure:
            request = message.get("id") if isinstance(message, dict) else None
            known = request if isinstance(request, (str, int)) and not isinstance(request, bool) else None
            self._respond(status_of(failure.code), wire.encode(wire.error(known, failure)))
            return
        if modern:
            self._modern(message)
        else:
            self._handshaken(message)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal() or self.headers.get("Transfer-Encoding"):
            self._refuse(411, "Content-Length is required.")
        elif int(length) > wire.MESSAGE_CAP:
            self._refuse(413, f"A message can have at most {wire.MESSAGE_CAP:,} bytes.")
        elif "json" not in self.headers.get("Content-Type", ""):
            self._refuse(415, "Content-Type must be application/json.")
        else:
            return self.rfile.read(int(length))
        return None

    def _modern(self, message: Any) -> None:
        if isinstance(message, dict) and "id" not in message:
            self._respond(202)
            return
        stream = Stream(self)
        peer = Peer(stream.send)
        answer = self.server.protocol.answer(message, peer)
        if peer.listening:
            try:
                stream.hold()
            finally:
                self.server.protocol.leave(peer)
        elif answer is not None:
            self._finish(stream, answer)
        else:
            self._respond(202)

    def _finish(self, stream: Stream, answer: Json) -> None:
        """Send the response: as JSON, or as the last event if the stream has begun."""
        if stream.begun:
            stream.send(answer)
            stream.end()
            return
        code = answer.get("error", {}).get("code")
        self._respond(200 if code is None else status_of(code), wire.encode(answer))

    def _handshaken(self, message: Any) -> None:
        sessions = self.server.sessions
        if isinstance(message, dict) and message.get("method") == "initialize":
            name, peer = sessions.open()
            answer = self.server.protocol.answer(message, peer)
            if peer.version is None:
                sessions.close(name)
                self._respond(400, wire.encode(answer or {}))
            else:
                self._respond(200, wire.encode(answer or {}), {"Mcp-Session-Id": name})
            return
        found = sessions.find(self.headers.get("Mcp-Session-Id"))
        if found is None:
            self._no_session()
            return
        stream = Stream(self)
        if isinstance(message, list):
            self._batch(message, found)
            return
        answer = self.server.protocol.answer(message, found, stream.notify)
        if answer is None:
            self._respond(202)
        elif stream.begun:
            self._finish(stream, answer)
        else:
            self._respond(200, wire.encode(answer))

    def _batch(self, messages: list[Any], peer: Peer) -> None:
        if peer.version != wire.BATCHED or not messages:
            failure = Failure(wire.INVALID_REQUEST, "A message must be a JSON-RPC 2.0 object.")
            self._respond(400, wire.encode(wire.error(None, failure)))
            return
        answers = [self.server.protocol.answer(message, peer) for message in messages]
        found = [answer for answer in answers if answer is not None]
        self._respond(200 if found else 202, wire.encode(found) if found else b"")

    def _no_session(self) -> None:
        given = self.headers.get("Mcp-Session-Id")
        said = "This session has ended: initialize again." if given else "Mcp-Session-Id is missing."
        failure = Failure(wire.INVALID_REQUEST, said)
        self._respond(404 if given else 400, wire.encode(wire.error(None, failure)))

    def do_GET(self) -> None:
        if not self._pass():
            return
        if self.headers.get("MCP-Protocol-Version") in wire.MODERN:
            self._respond(405, headers={"Allow": "POST"})
            return
        if "text/event-stream" not in self.headers.get("Accept", ""):
            self._respond(406)
            return
        found = self.server.sessions.find(self.headers.get("Mcp-Session-Id"))
        if found is None:
            self._no_session()
            return
        waiting: queue.SimpleQueue[Json] = queue.SimpleQueue()
        found.streams.append(waiting)
        try:
            Stream(self).hold(waiting)
        finally:
            found.streams.remove(waiting)

    def do_DELETE(self) -> None:
        if not self._pass():
            return
        name = self.headers.get("Mcp-Session-Id")
        if self.headers.get("MCP-Protocol-Version") in wire.MODERN:
            self._respond(405, headers={"Allow": "POST"})
        elif self.server.sessions.find(name) is None:
            self._no_session()
        else:
            self.server.sessions.close(name or "")
            self._respond(200)

    def do_OPTIONS(self) -> None:
        if self._pass():
            self._respond(405, headers={"Allow": "GET, POST, DELETE"})
