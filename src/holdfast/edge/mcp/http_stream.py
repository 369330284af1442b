"""An HTTP response that becomes an event stream if a notification precedes the result."""

from __future__ import annotations

import queue
import select
import socket
import time
from http.server import BaseHTTPRequestHandler
from threading import Lock

from holdfast.edge.mcp import wire
from holdfast.edge.mcp.wire import Json

PING_SECONDS = 15
"""Proxies close a stream that is silent longer."""
_LOOK_SECONDS = 1


class Stream:
    """The response to one request."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self._lock = Lock()
        self.begun = False

    def notify(self, method: str, params: Json) -> None:
        self.send(wire.notification(method, params))

    def send(self, message: Json) -> None:
        self._write(b"event: message\ndata: " + wire.encode(message) + b"\n\n")

    def _write(self, data: bytes) -> None:
        with self._lock:
            if not self.begun:
                self._begin()
            self._handler.wfile.write(data)
            self._handler.wfile.flush()

    def _begin(self) -> None:
        self.begun = True
        handler = self._handler
        handler.close_connection = True  # the end of the stream is the end of the connection
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Cache-Control", "no-store")
        handler.send_header("Connection", "close")
        handler.end_headers()

    def end(self) -> None:
        with self._lock:
            self._handler.wfile.flush()

    def hold(self, waiting: queue.SimpleQueue[Json] | None = None) -> None:
        """Keep the stream open and forward queued messages until the client disconnects."""
        source: queue.SimpleQueue[Json] = waiting if waiting is not None else queue.SimpleQueue()
        try:
            self._write(b": open\n\n")
            last = time.monotonic()
            while not self._gone():
                try:
                    self.send(source.get(timeout=_LOOK_SECONDS))
                    last = time.monotonic()
                except queue.Empty:
                    if time.monotonic() - last > PING_SECONDS:
                        self._write(b": ping\n\n")
                        last = time.monotonic()
        except OSError:
            pass  # the client is gone

    def _gone(self) -> bool:
        """Whether the client closed the connection. It sends nothing more on it, so any input means that."""
        connection: socket.socket = self._handler.connection
        poll = select.poll()  # no limit on descriptors, unlike select()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0)) and not connection.recv(1, socket.MSG_PEEK)
