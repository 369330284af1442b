"""MCP sessions over HTTP, for protocol revisions with a handshake."""

from __future__ import annotations

import queue
from base64 import urlsafe_b64encode
from collections import OrderedDict
from os import urandom
from threading import Lock

from holdfast.edge.mcp.protocol import Peer, Server
from holdfast.edge.mcp.wire import Json

MOST = 64
"""The most sessions kept; a new one evicts the one idle longest."""


class Remote(Peer):
    """A client with a session id and possibly open streams."""

    def __init__(self) -> None:
        super().__init__(self._pass_on)
        self.streams: list[queue.SimpleQueue[Json]] = []

    def _pass_on(self, message: Json) -> None:
        # One stream, not all: a client with two must not get a message twice. Without a stream the notification is
        # dropped: it only says "read again", and a client reads when it opens a stream.
        for stream in self.streams[-1:]:
            stream.put(message)


class Sessions:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = Lock()
        self._known: OrderedDict[str, Remote] = OrderedDict()

    def open(self) -> tuple[str, Remote]:
        name = urlsafe_b64encode(urandom(24)).decode()
        remote = Remote()
        with self._lock:
            forgotten = self._known.popitem(last=False)[1] if len(self._known) >= MOST else None
            self._known[name] = remote
        if forgotten is not None:
            self._server.leave(forgotten)
        return name, remote

    def find(self, name: str | None) -> Remote | None:
        with self._lock:
            found = self._known.get(name or "")
            if found is not None:
                self._known.move_to_end(name or "")
            return found

    def close(self, name: str) -> None:
        with self._lock:
            found = self._known.pop(name, None)
        if found is not None:
            self._server.leave(found)
