"""Connections of the handshake era over HTTP, which has none of its own."""

from __future__ import annotations

import queue
from base64 import urlsafe_b64encode
from collections import OrderedDict
from os import urandom
from threading import Lock

from holdfast.edge.mcp.protocol import Peer, Server
from holdfast.edge.mcp.wire import Json

MOST = 64
"""Connections that are remembered; the one that was silent longest is forgotten for a new one."""


class Remote(Peer):
    """A client that comes back with its session id, and may hold streams open."""

    def __init__(self) -> None:
        super().__init__(self._pass_on)
        self.streams: list[queue.SimpleQueue[Json]] = []

    def _pass_on(self, message: Json) -> None:
        # One stream, not all: a client that holds two must not hear everything twice. Nobody listens: a notice
        # says only "look again", and whoever opens a stream looks first.
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
