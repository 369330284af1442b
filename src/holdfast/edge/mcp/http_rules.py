"""What HTTP adds to the protocol: allowed hosts and origins, headers that mirror the body, status codes."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import Message

from holdfast.edge.mcp import wire
from holdfast.edge.mcp.wire import Failure
from holdfast.typed import Any

_OWN = ("127.0.0.1", "localhost", "[::1]")
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose ``Mcp-Name`` header mirrors a parameter."""
_BAD_REQUEST = (
    wire.PARSE_ERROR,
    wire.INVALID_REQUEST,
    wire.INVALID_PARAMS,
    wire.HEADER_MISMATCH,
    wire.MISSING_CAPABILITY,
    wire.UNSUPPORTED_VERSION,
)


def status_of(code: int) -> int:
    """The HTTP status for a protocol error."""
    if code == wire.METHOD_NOT_FOUND:
        return 404
    return 400 if code in _BAD_REQUEST else 200


def is_own_host(given: Sequence[str] | None, port: int) -> bool:
    """Whether the only Host header names the loopback interface with our port."""
    if given is None or len(given) != 1:
        return False
    return given[0].strip().lower() in [f"{name}:{port}" for name in _OWN]


def is_own_origin(given: Sequence[str] | None) -> bool:
    """Whether a request has no Origin header or a local origin."""
    if not given:
        return True
    scheme, _, rest = given[0].strip().lower().partition("://")
    name, _, port = rest.rpartition(":")
    if not name or not (port.isascii() and port.isdecimal()):
        name = rest
    return len(given) == 1 and scheme in ("http", "https") and name in _OWN


def is_modern(message: Any, headers: Message) -> bool:
    """Whether a POST is of a revision without handshake: by its version header, or by ``_meta`` in its body."""
    version = _trimmed(headers, "MCP-Protocol-Version")
    if version is not None:
        return version not in wire.HANDSHAKE
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and wire.VERSION_KEY in meta and message.get("method") != "initialize"


def checked_headers(message: Any, headers: Message) -> None:
    """Raise unless the routing headers match the body."""
    from holdfast.edge.mcp.protocol import checked_envelope

    if not isinstance(message, dict):
        raise Failure(wire.INVALID_REQUEST, "A message must be a JSON-RPC 2.0 object.")
    version = _trimmed(headers, "MCP-Protocol-Version")
    if "id" not in message:
        if version not in wire.MODERN:
            checked_envelope({"_meta": {wire.VERSION_KEY: version or "", wire.ABILITIES_KEY: {}}})
        return
    for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"):
        if len(headers.get_all(name) or ()) > 1:
            raise Failure(wire.HEADER_MISMATCH, f"The header {name} is repeated.")
    params, method = message.get("params"), message.get("method")
    if not isinstance(params, dict) or not isinstance(params.get("_meta"), dict):
        checked_envelope({})
    assert isinstance(params, dict)
    missing = [key for key in (wire.VERSION_KEY, wire.ABILITIES_KEY) if key not in params["_meta"]]
    if missing:
        checked_envelope(params)
    if version is None or version != params["_meta"][wire.VERSION_KEY]:
        raise Failure(wire.HEADER_MISMATCH, "MCP-Protocol-Version does not match the version in _meta.")
    if _trimmed(headers, "Mcp-Method") != method:
        raise Failure(wire.HEADER_MISMATCH, "Mcp-Method does not match the method.")
    repeated = _NAMED.get(method) if isinstance(method, str) else None
    if (
        repeated
        and params.get(repeated) is not None
        and _plain(_trimmed(headers, "Mcp-Name")) != params[repeated]
    ):
        raise Failure(wire.HEADER_MISMATCH, f"Mcp-Name does not match the {repeated}.")
    checked_envelope(params)
    if method == "initialize":
        raise Failure(wire.METHOD_NOT_FOUND, "This revision of the protocol has no handshake.", method)


def _trimmed(headers: Message, name: str) -> str | None:
    """A header without surrounding white space."""
    value = headers.get(name)
    return value.strip(" \t") if value is not None else None


def _plain(value: str | None) -> str | None:
    """The value of a header, decoded from base64 if it was not plain ASCII."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    from base64 import b64decode, b64encode

    payload = value[len("=?base64?") : -2]
    try:
        decoded = b64decode(payload, validate=True)
        return decoded.decode() if b64encode(decoded).decode() == payload else None
    except ValueError:
        return None
