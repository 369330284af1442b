"""``holdfast hook HOST [EVENT]``: called by an agent host at every event, with its JSON on standard input.

A host must never be broken by its memory: whatever goes wrong here, the status is 0, the answer is a valid one of
that host, and one line goes into ``local/hooks.log``, which ``holdfast doctor`` shows. The host's environment, which
holds its keys, is never stored.

This is a way in of its own, beside the command line: no argument parser is loaded.
"""

from __future__ import annotations

import os
import sys

from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.edge.hooks.event import Event, Payload
    from holdfast.edge.hooks.hosts import Host

LARGEST = 64 << 20
"""Bytes of a payload that are read."""
SECONDS = 8
"""A hook that waits longer gives up: the host waits for it."""


def run(arguments: list[str]) -> int:
    """Answer one call; always 0."""
    sys.stdout.buffer.write(answered(arguments).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    return 0


def answered(arguments: list[str]) -> str:
    """What to say to the host that calls, in its own dialect. Never raises."""
    try:
        return _answer(arguments, sys.stdin.buffer.read(LARGEST + 1))
    except Exception as error:
        _note(os.getcwd(), " ".join(arguments[:2]), error)
        return ""


def _answer(arguments: list[str], raw: bytes) -> str:
    from holdfast.edge.hooks import hosts

    named, name = [*arguments, "", ""][:2]
    if named not in hosts.NAMES:
        raise ValueError(f"there is no host {named[:40]!r}; there are: {', '.join(hosts.NAMES)}")
    payload, unread = _payload(raw)
    caller = hosts.caller(named, payload)
    host = hosts.load(caller)
    event = host.read(payload, name[:80])
    where = _where(host, event)
    if unread is not None:
        _note(where, f"{caller} {event.name}", unread)
    said = _handled(caller, host, event, where)
    if said:
        return host.answer(event, said)
    return "{}" if caller in ("cursor", "opencode") else ""


def _payload(raw: bytes) -> tuple[Payload, Exception | None]:
    """The object that the host sent; an empty one and the reason if there is none."""
    import json

    if not raw.strip():
        return {}, None  # a host that died before it wrote; or a person who tries it out
    try:
        found: Any = json.loads(raw.decode("utf-8", "replace")) if len(raw) <= LARGEST else None
    except (ValueError, RecursionError) as error:
        return {}, error
    if not isinstance(found, dict):
        return {}, ValueError(f"the payload of {len(raw):,} bytes is no JSON object")
    return found, None


def _where(host: Host, event: Event) -> str:
    """The folder that the host works in: the project's, whatever folder the agent has moved to."""
    for folder in (os.environ.get(host.PROJECT) if host.PROJECT else None, event.folder):
        if folder and os.path.isabs(folder) and os.path.isdir(folder):
            return folder
    return os.getcwd()


def _handled(name: str, host: Host, event: Event, where: str) -> str:
    from holdfast.errors import NoWorkspace

    try:
        from holdfast.edge.hooks.handler import handle

        with _Deadline():
            return handle(name, host, event, os.environ.get("HOLDFAST_URL") or where)
    except NoWorkspace:
        return ""  # no memory is kept here
    except Exception as error:
        _note(where, f"{name} {event.name}", error)
        return ""


def _note(where: str, what: str, error: Exception) -> None:
    from holdfast.edge.hooks.log import note

    note(where, what, error)


class _Late(Exception):
    """The hook took too long."""


class _Deadline:
    """Ends what takes too long, such as the wait for a lock that a stopped process holds."""

    def __enter__(self) -> None:
        import signal

        try:
            self._before = signal.signal(signal.SIGALRM, self._ring)
        except ValueError:
            self._before = None  # not in the main thread: whoever calls has a deadline of its own
            return
        signal.alarm(SECONDS)

    def __exit__(self, *_: object) -> None:
        import signal

        if self._before is not None:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, self._before)

    @staticmethod
    def _ring(*_: object) -> None:
        raise _Late(f"no end after {SECONDS} seconds")
