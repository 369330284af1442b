"""``holdfast hook HOST [EVENT]``: called by an agent host at every event, with its JSON on standard input.

A hook must never break its host: on any error the exit status is 0, the output is valid for that host, and one line
goes to ``local/hooks.log``, which ``holdfast doctor`` shows. The host's environment, which contains its keys, is never
stored.

A separate entry point from the command line: no argument parser is loaded.
"""

from __future__ import annotations

import os
import sys

from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.edge.hooks.event import Event, Payload
    from holdfast.edge.hooks.hosts import Host

LARGEST = 64 << 20
"""The most bytes of a payload that are read."""
SECONDS = 8
"""The time limit of a hook: the host waits for it."""


def run(arguments: list[str]) -> int:
    """Answer one call; always return 0."""
    sys.stdout.buffer.write(answered(arguments).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    return 0


def answered(arguments: list[str]) -> str:
    """The output for the calling host, in its own dialect. Never raises."""
    try:
        return _answer(arguments, sys.stdin.buffer.read(LARGEST + 1))
    except Exception as error:
        _note(os.getcwd(), " ".join(arguments[:2]), error)
        return ""


def _answer(arguments: list[str], raw: bytes) -> str:
    from holdfast.edge.hooks import hosts

    named, name = [*arguments, "", ""][:2]
    if named not in hosts.NAMES:
        raise ValueError(f"unknown host {named[:40]!r}; known hosts: {', '.join(hosts.NAMES)}")
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
    """Parse the payload; an empty object and the error if it is invalid."""
    import json

    if not raw.strip():
        return {}, None  # the host died before it wrote, or a person tries the command
    try:
        found: Any = json.loads(raw.decode("utf-8", "replace")) if len(raw) <= LARGEST else None
    except (ValueError, RecursionError) as error:
        return {}, error
    if not isinstance(found, dict):
        return {}, ValueError(f"the payload of {len(raw):,} bytes is not a JSON object")
    return found, None


def _where(host: Host, event: Event) -> str:
    """The project folder of the host, even if the agent changed directory."""
    for folder in (os.environ.get(host.PROJECT) if host.PROJECT else None, event.folder):
        if folder and os.path.isabs(folder) and os.path.isdir(folder):
            return folder
    return os.getcwd()


def _handled(name: str, host: Host, event: Event, where: str) -> str:
    from holdfast.errors import NoWorkspace

    try:
        from holdfast.edge.hooks.handler import handle
        from holdfast.workspace.discovery import find

        with _Deadline():
            # The host's folder is where the agent works, not a workspace that a person has named.
            return handle(name, host, event, os.environ.get("HOLDFAST_URL") or find(where))
    except NoWorkspace:
        return ""  # no workspace here
    except Exception as error:
        _note(where, f"{name} {event.name}", error)
        return ""


def _note(where: str, what: str, error: Exception) -> None:
    from holdfast.edge.hooks.log import note

    note(where, what, error)


class _TimedOut(Exception):
    """The hook took too long."""


class _Deadline:
    """A time limit, for example on waiting for a lock that a stopped process holds."""

    def __enter__(self) -> None:
        import signal

        try:
            self._before = signal.signal(signal.SIGALRM, self._expire)
        except ValueError:
            self._before = None  # not in the main thread: the caller has its own time limit
            return
        signal.alarm(SECONDS)

    def __exit__(self, *_: object) -> None:
        import signal

        if self._before is not None:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, self._before)

    @staticmethod
    def _expire(*_: object) -> None:
        raise _TimedOut(f"timed out after {SECONDS} s")
