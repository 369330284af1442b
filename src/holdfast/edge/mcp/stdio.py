"""MCP over standard input and output: one message per line, nothing else on standard output."""

from __future__ import annotations

import os
import select
import sys
from threading import Lock, Semaphore, Thread

from holdfast.edge.mcp import wire
from holdfast.edge.mcp.protocol import Peer, Server
from holdfast.edge.mcp.wire import Failure, Json
from holdfast.typed import Any

IDLE_SECONDS = 0.2
SLOW_AT_ONCE = 4
"""The most slow requests that run in the background; further ones are answered in order."""


def serve(server: Server) -> None:
    """Serve until standard input ends."""
    if os.isatty(0):
        say("this is a server for MCP clients, which speak over standard input; see `holdfast mcp --help`")
    out = os.dup(1)
    # Nothing that prints, here or in a library, may end up among the messages.
    os.dup2(2, 1)
    for descriptor in (0, out):
        os.set_blocking(descriptor, True)  # some clients hand over non-blocking descriptors
    Stdio(server, 0, out).run()


class Stdio:
    """One client on two file descriptors."""

    def __init__(self, server: Server, source: int, target: int) -> None:
        self._server = server
        self._source, self._target = source, target
        self._writing = Lock()
        self._slow = Semaphore(SLOW_AT_ONCE)
        self._peer = Peer(self._send)
        self._workers: list[Thread] = []

    def run(self) -> None:
        """Answer lines until the client closes its end."""
        buffer = bytearray()
        skipping = False
        try:
            while chunk := self._read():
                start = 0
                while (end := chunk.find(b"\n", start)) >= 0:
                    buffer += chunk[start:end]
                    if not skipping and buffer.strip():
                        self._take(bytes(buffer))
                    buffer.clear()
                    skipping, start = False, end + 1
                if not skipping:
                    buffer += chunk[start:]
                if len(buffer) > wire.MESSAGE_CAP:
                    buffer.clear()
                    skipping = True
                    failure = Failure(
                        wire.INVALID_REQUEST, f"A message can have at most {wire.MESSAGE_CAP:,} bytes."
                    )
                    self._send(wire.error(None, failure))
            if buffer.strip():
                self._take(bytes(buffer))
            for worker in self._workers:
                worker.join()
        except BrokenPipeError:
            pass  # the client is gone
        finally:
            self._server.leave(self._peer)
            self._server.offer.idle()

    def _read(self) -> bytes:
        """The next bytes. While none arrive, do deferred work."""
        ready, _, _ = select.select([self._source], [], [], IDLE_SECONDS)
        if not ready:
            self._server.offer.idle()
        return os.read(self._source, 1 << 16)

    def _take(self, line: bytes) -> None:
        try:
            message = wire.decode(line)
        except Failure as failure:
            self._send(wire.error(None, failure))
            return
        if isinstance(message, list):
            self._take_batch(message)
        elif self._is_slow(message) and self._slow.acquire(blocking=False):
            worker = Thread(target=self._in_background, args=(message,), daemon=True)
            self._workers = [known for known in self._workers if known.is_alive()] + [worker]
            worker.start()
        else:
            self._reply(self._server.answer(message, self._peer))

    def _is_slow(self, message: Any) -> bool:
        if not isinstance(message, dict) or not isinstance(message.get("params"), dict):
            return False
        return self._server.offer.slow(str(message.get("method")), message["params"])

    def _in_background(self, message: Any) -> None:
        try:
            self._reply(self._server.answer(message, self._peer))
        except BrokenPipeError:
            pass
        finally:
            self._slow.release()

    def _take_batch(self, messages: list[Any]) -> None:
        if self._peer.version != wire.BATCHED or not messages:
            self._send(
                wire.error(None, Failure(wire.INVALID_REQUEST, "A message must be a JSON-RPC 2.0 object."))
            )
            return
        answers = [self._server.answer(message, self._peer) for message in messages]
        found = [answer for answer in answers if answer is not None]
        if found:
            self._write(wire.encode(found))

    def _reply(self, message: Json | None) -> None:
        if message is not None:
            self._send(message)

    def _send(self, message: Json) -> None:
        self._write(wire.encode(message))

    def _write(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        with self._writing:
            while rest:
                rest = rest[os.write(self._target, rest) :]


def say(text: str) -> None:
    """Write a line to the log, which is standard error."""
    sys.stderr.write(f"holdfast mcp: {text}\n")
