"""The protocol without a transport: one message in, one response out, with and without handshake.

A request whose ``_meta`` names a protocol version is self-contained (modern). Any other belongs to a connection that
``initialize`` opened (handshake). Both kinds may share a connection.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from holdfast.edge.mcp import wire
from holdfast.edge.mcp.notices import Notices
from holdfast.edge.mcp.wire import Caller, Failure, Json, Offer
from holdfast.typed import Any

Notify = Callable[[str, Json], None]
LISTS_FRESH_MS = 3_600_000
"""How long a client may cache the lists: they do not change while a server runs."""


class Peer:
    """One client of a transport."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self.send = send
        self.version: str | None = None
        """The revision that ``initialize`` negotiated; None before."""
        self.client = ""
        self.listening: set[str | int] = set()
        """Open ``subscriptions/listen`` requests."""


class Server:
    """Answers the messages of any number of peers from one offer."""

    def __init__(self, offer: Offer) -> None:
        self.offer = offer
        self.notices = Notices(offer.mark)
        self._info = {"name": offer.name, "version": offer.version}

    # -- messages -----------------------------------------------------------------------------------------

    def answer(self, message: Any, peer: Peer, notify: Notify | None = None) -> Json | None:
        """The response to a message; None for a notification, and for a request that stays open.

        ``notify`` sends notifications during the request, if they take another route than the peer's own.
        """
        request = message.get("id") if isinstance(message, dict) else None
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise Failure(wire.INVALID_REQUEST, "A message must be a JSON-RPC 2.0 object.")
            method, params = message.get("method"), message.get("params", {})
            if method is None and ("result" in message or "error" in message):
                return None  # this server sends no requests, so it expects no responses
            if not isinstance(method, str) or not isinstance(params, dict):
                raise Failure(
                    wire.INVALID_REQUEST, "A message must have a method and an object of parameters."
                )
            if "id" not in message:
                self._notified(method, params, peer)
                return None
            if not isinstance(request, (str, int)) or isinstance(request, bool):
                request = None
                raise Failure(wire.INVALID_REQUEST, "The id of a request must be a string or an integer.")
            result = self._result(request, method, params, peer, notify or _notifier(peer))
            return None if result is None else wire.response(request, result)
        except Failure as failure:
            return wire.error(request if isinstance(request, (str, int)) else None, failure)
        except Exception:
            _log_trace()
            broken = Failure(wire.INTERNAL_ERROR, "The server failed; its log has the details.")
            return wire.error(request if isinstance(request, (str, int)) else None, broken)

    def leave(self, peer: Peer) -> None:
        """Forget a peer and its subscriptions."""
        self.notices.remove(peer)
        peer.listening.clear()

    def _notified(self, method: str, params: Json, peer: Peer) -> None:
        if method == "notifications/cancelled" and params.get("requestId") in peer.listening:
            peer.listening.discard(params["requestId"])
            self.notices.remove(peer, params["requestId"])

    def _result(
        self, request: str | int, method: str, params: Json, peer: Peer, notify: Notify
    ) -> Json | None:
        meta = params.get("_meta")
        if method != "initialize" and isinstance(meta, dict) and wire.VERSION_KEY in meta:
            checked_envelope(params)
            return self._modern(request, method, params, peer, notify)
        return self._handshaken(method, params, peer, notify)

    # -- without handshake --------------------------------------------------------------------------------

    def _modern(
        self, request: str | int, method: str, params: Json, peer: Peer, notify: Notify
    ) -> Json | None:
        meta: Json = params["_meta"]
        stamp = {wire.SERVER_KEY: self._info}
        if method == "subscriptions/listen":
            self._listen(request, params, peer)
            return None
        if method == "server/discover":
            result: Json = {
                "supportedVersions": list(wire.MODERN),
                "capabilities": self._abilities(),
                "instructions": self.offer.instructions,
            }
        else:
            client = meta.get(wire.CLIENT_KEY)
            name = client.get("name") if isinstance(client, dict) else None
            caller = Caller(name if isinstance(name, str) else "", notify, meta)
            result = self._common(method, params, caller)
        if method == "resources/read":
            result = {**result, "ttlMs": 0, "cacheScope": "private"}
        elif method.endswith("/list") or method == "server/discover":
            result = {**result, "ttlMs": LISTS_FRESH_MS, "cacheScope": "private"}
        return {**result, "resultType": "complete", "_meta": {**result.get("_meta", {}), **stamp}}

    def _listen(self, request: str | int, params: Json, peer: Peer) -> None:
        """Open a stream of notifications: exactly the acknowledged subscriptions are sent."""
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise Failure(wire.INVALID_PARAMS, "subscriptions/listen takes an object of notifications.")
        uris = wanted.get("resourceSubscriptions") or []
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise Failure(wire.INVALID_PARAMS, "resourceSubscriptions must be a list of URIs.")
        stamp = {wire.SUBSCRIPTION_KEY: request}

        def tell(uri: str) -> None:
            peer.send(wire.notification("notifications/resources/updated", {"uri": uri, "_meta": stamp}))

        known = self.notices.add(peer, request, uris, tell)
        peer.listening.add(request)
        honoured = {"resourceSubscriptions": known} if known else {}
        said = {"notifications": honoured, "_meta": stamp}
        peer.send(wire.notification("notifications/subscriptions/acknowledged", said))
        self.notices.begin(peer, request)

    # -- with handshake -----------------------------------------------------------------------------------

    def _handshaken(self, method: str, params: Json, peer: Peer, notify: Notify) -> Json:
        if method == "initialize":
            return self._initialize(params, peer)
        if method == "ping":
            return {}
        if method not in _COMMON and method not in ("resources/subscribe", "resources/unsubscribe"):
            raise Failure(wire.METHOD_NOT_FOUND, f"There is no method {method[:80]}.", method[:200])
        if peer.version is None:
            raise Failure(
                wire.INVALID_REQUEST,
                f"Call initialize first, or name the revision in _meta under {wire.VERSION_KEY}.",
            )
        if method.endswith("subscribe"):
            return self._subscribe(method, params, peer)
        meta = params.get("_meta")
        caller = Caller(peer.client, notify, meta if isinstance(meta, dict) else {})
        try:
            return self._common(method, params, caller)
        except wire.NoResource as failure:
            raise Failure(wire.RESOURCE_NOT_FOUND, failure.message, failure.data) from failure

    def _initialize(self, params: Json, peer: Peer) -> Json:
        wanted, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(wanted, str) or not isinstance(client, dict):
            raise Failure(wire.INVALID_PARAMS, "initialize takes protocolVersion and clientInfo.")
        peer.version = wanted if wanted in wire.HANDSHAKE else wire.HANDSHAKE[-1]
        name = client.get("name")
        peer.client = name if isinstance(name, str) else ""
        return {
            "protocolVersion": peer.version,
            "capabilities": self._abilities(),
            "serverInfo": self._info,
            "instructions": self.offer.instructions,
        }

    def _subscribe(self, method: str, params: Json, peer: Peer) -> Json:
        uri = _text(params, "uri")
        if method == "resources/unsubscribe":
            self.notices.remove(peer, uri)
            return {}

        def tell(changed: str) -> None:
            peer.send(wire.notification("notifications/resources/updated", {"uri": changed}))

        if not self.notices.add(peer, uri, [uri], tell):
            raise Failure(wire.RESOURCE_NOT_FOUND, "There is no such resource.", {"uri": uri[:500]})
        self.notices.begin(peer, uri)
        return {}

    # -- common to both -----------------------------------------------------------------------------------

    def _abilities(self) -> Json:
        return {"tools": {}, "resources": {"subscribe": True}, "prompts": {}}

    def _common(self, method: str, params: Json, caller: Caller) -> Json:
        run = _COMMON.get(method)
        if run is None:
            raise Failure(wire.METHOD_NOT_FOUND, f"There is no method {method[:80]}.", method[:200])
        result = run(self.offer, params, caller)
        if method == "tools/call":
            self.notices.poke()
        return result


def checked_envelope(params: Json) -> str:
    """The revision of a request without handshake; raises if its ``_meta`` is incomplete."""
    meta = params.get("_meta")
    missing = [
        key for key in (wire.VERSION_KEY, wire.ABILITIES_KEY) if not isinstance(meta, dict) or key not in meta
    ]
    if not isinstance(meta, dict) or missing:
        raise Failure(wire.INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    version = meta[wire.VERSION_KEY]
    if not isinstance(version, str) or not isinstance(meta[wire.ABILITIES_KEY], dict):
        raise Failure(wire.INVALID_PARAMS, "The version must be a string and the capabilities an object.")
    if version not in wire.MODERN:
        data = {"supported": list(wire.MODERN), "requested": version[:80]}
        raise Failure(wire.UNSUPPORTED_VERSION, "This protocol revision is not supported.", data)
    return version


def _notifier(peer: Peer) -> Notify:
    return lambda method, params: peer.send(wire.notification(method, params))


def _text(params: Json, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Failure(wire.INVALID_PARAMS, f"The parameter {name} must be a string.")
    return value


def _object(params: Json, name: str) -> Json:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Failure(wire.INVALID_PARAMS, f"The parameter {name} must be an object.")
    return value


def _one_page(params: Json) -> None:
    """Every list has one page, so no cursor is valid."""
    if params.get("cursor") is not None:
        raise Failure(wire.INVALID_PARAMS, "The cursor is invalid.")


def _tools(offer: Offer, params: Json, caller: Caller) -> Json:
    _one_page(params)
    return {"tools": offer.tools()}


def _resources(offer: Offer, params: Json, caller: Caller) -> Json:
    _one_page(params)
    return {"resources": offer.resources()}


def _templates(offer: Offer, params: Json, caller: Caller) -> Json:
    _one_page(params)
    return {"resourceTemplates": offer.templates()}


def _prompts(offer: Offer, params: Json, caller: Caller) -> Json:
    _one_page(params)
    return {"prompts": offer.prompts()}


_COMMON: dict[str, Callable[[Offer, Json, Caller], Json]] = {
    "tools/list": _tools,
    "tools/call": lambda offer, p, caller: offer.call(_text(p, "name"), _object(p, "arguments"), caller),
    "resources/list": _resources,
    "resources/templates/list": _templates,
    "resources/read": lambda offer, p, caller: {"contents": offer.read(_text(p, "uri"), caller)},
    "prompts/list": _prompts,
    "prompts/get": lambda offer, p, caller: offer.prompt(_text(p, "name"), _object(p, "arguments"), caller),
}


def _log_trace() -> None:
    import traceback

    traceback.print_exc(file=sys.stderr)
