"""Protocol constants (revisions, error codes, keys of ``_meta``) and message shapes."""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.typed import Any, Protocol, Record

Json = dict[str, Any]

MODERN = ("2026-07-28",)
"""Revisions without a handshake: every request names its revision."""
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions with a handshake (``initialize``)."""
BATCHED = "2025-03-26"
"""The one revision with batches: a line may be a list of messages."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""Only with a handshake; later revisions use ``INVALID_PARAMS``."""
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_KEY = "io.modelcontextprotocol/"
VERSION_KEY = f"{_KEY}protocolVersion"
CLIENT_KEY = f"{_KEY}clientInfo"
ABILITIES_KEY = f"{_KEY}clientCapabilities"
SERVER_KEY = f"{_KEY}serverInfo"
SUBSCRIPTION_KEY = f"{_KEY}subscriptionId"
ALWAYS_KEY = "anthropic/alwaysLoad"
"""Of a tool: Claude Code never defers it behind its tool search."""

MESSAGE_CAP = 32 << 20
"""The largest message, in bytes. The largest text that can be stored takes a fifth of it, fully escaped."""


class Failure(Exception):
    """A protocol error, which the model does not see."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class NoResource(Failure):
    """No such resource."""

    def __init__(self, uri: str) -> None:
        super().__init__(INVALID_PARAMS, "There is no such resource.", {"uri": uri[:500]})


class Caller(Record):
    """The caller of a request, and how to notify it during the request."""

    client: str
    notify: Callable[[str, Json], None]
    meta: Json


class Offer(Protocol):
    """The tools, resources and prompts of a server. Must be thread-safe."""

    name: str
    version: str
    instructions: str

    def tools(self) -> list[Json]:
        """The result of ``tools/list``."""

    def call(self, name: str, arguments: Json, caller: Caller) -> Json:
        """Call a tool; a refusal is a result with ``isError``."""

    def resources(self) -> list[Json]:
        """The result of ``resources/list``."""

    def templates(self) -> list[Json]:
        """The result of ``resources/templates/list``."""

    def read(self, uri: str, caller: Caller) -> list[Json]:
        """The contents of a resource; raises ``NoResource``."""

    def mark(self, uri: str) -> Any:
        """A value that changes whenever the resource does; None if the resource cannot exist."""

    def prompts(self) -> list[Json]:
        """The result of ``prompts/list``."""

    def prompt(self, name: str, arguments: Json, caller: Caller) -> Json:
        """One prompt, filled in."""

    def slow(self, method: str, params: Json) -> bool:
        """Whether a request may take long, so that others should not wait for it."""

    def idle(self) -> None:
        """Called while the transport is idle, for deferred work."""


def decode(line: bytes) -> Any:
    """Decode a message. Non-JSON numbers (NaN, Infinity) and excessive nesting are errors."""
    try:
        return _decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Failure(PARSE_ERROR, "The message is not JSON in UTF-8.") from error


def _refuse(name: str) -> float:
    raise ValueError(name)


# Created once: ``json.loads`` and ``json.dumps`` create theirs per call if any option is set.
_decode = json.JSONDecoder(parse_constant=_refuse).decode
compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(message: Json | list[Json]) -> bytes:
    """Encode a message as one line without line feed. An unpaired surrogate is escaped."""
    return compact(message).encode("utf-8", "backslashreplace")


def notification(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def response(request: str | int, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request, "result": result}


def error(request: str | int | None, failure: Failure) -> Json:
    problem: Json = {"code": failure.code, "message": failure.message}
    if failure.data is not None:
        problem["data"] = failure.data
    return {"jsonrpc": "2.0", "id": request, "error": problem}
