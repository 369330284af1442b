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
_STDIN_S = 4
"""How long a hook waits for its payload: a host may leave standard input open."""
_OUTPUT_S = 1
"""The part of the time limit that is left for the output: nobody may be reading it."""
_EARLY = 1 << 20
"""A payload up to this size is complete as soon as it is a whole JSON object, also if the host does not close it."""


def run(arguments: list[str]) -> int:
    """Answer one call; always return 0."""
    from time import monotonic

    try:
        _ignore_interrupts()
        end = monotonic() + SECONDS
        said = answered(arguments, end - _OUTPUT_S)
        with _Deadline(max(end - monotonic(), _OUTPUT_S)):
            sys.stdout.buffer.write(said.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    except BaseException:  # noqa: S110 - the host has stopped listening, and the event is recorded
        pass
    return 0


def _ignore_interrupts() -> None:
    """Ctrl-C at the host reaches its whole process group: what the hook records must not depend on it."""
    import signal

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        pass  # not in the main thread: interrupts do not come here


def answered(arguments: list[str], end: float | None = None) -> str:
    """The output for the calling host, in its own dialect, at the latest at ``end``. Never raises."""
    try:
        from time import monotonic

        end = monotonic() + SECONDS if end is None else end
        raw, unread = _read_payload()
        return _answer(arguments, raw, unread, end)
    except Exception as error:
        _note("", " ".join(arguments[:2]), error)
        return ""


def _read_payload() -> tuple[bytes, Exception | None]:
    """What the host writes to standard input, and the error that ended it."""
    try:
        fd = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or not a file
        return (sys.stdin.buffer.read(LARGEST + 1) if sys.stdin is not None else b""), None
    from select import select
    from time import monotonic

    raw, end = bytearray(), monotonic() + _STDIN_S
    try:
        while len(raw) <= LARGEST:
            if not select([fd], [], [], max(0.0, end - monotonic()))[0]:
                return bytes(raw), _TimedOut(f"standard input stayed open for {_STDIN_S} s")
            more = os.read(fd, _EARLY)
            raw += more
            if not more or (more.rstrip()[-1:] == b"}" and len(raw) <= _EARLY and _is_whole(raw)):
                break
    except OSError as error:
        return bytes(raw), error
    return bytes(raw), None


def _is_whole(raw: bytearray) -> bool:
    import json

    try:
        json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True


def _answer(arguments: list[str], raw: bytes, unread: Exception | None, end: float) -> str:
    from holdfast.edge.hooks import hosts
    from holdfast.edge.hooks.usage import told

    named, name = [*arguments, "", ""][:2]
    if named not in hosts.NAMES:
        raise ValueError(f"unknown host {named[:40]!r}; known hosts: {', '.join(hosts.NAMES)}")
    payload, malformed = _payload(raw)
    caller = hosts.caller(named, payload)
    host = hosts.load(caller)
    event = told(host.read(payload, name[:80]), payload)
    where = _where(host, event)
    if fault := unread if unread is not None and not payload else malformed:
        _note(where, f"{caller} {event.name}", fault)
    said = _handled(caller, host, event, where, end)
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


def _handled(name: str, host: Host, event: Event, where: str, end: float) -> str:
    from time import monotonic

    from holdfast.errors import NoWorkspace

    try:
        from holdfast.edge.hooks.handler import handle
        from holdfast.workspace.discovery import find

        with _Deadline(max(end - monotonic(), _OUTPUT_S)):
            # The host's folder is where the agent works, not a workspace that a person has named.
            return handle(name, host, event, os.environ.get("HOLDFAST_URL") or find(where))
    except NoWorkspace:
        return ""  # no workspace here
    except Exception as error:
        _note(where, f"{name} {event.name}", error)
        return ""


def _note(where: str, what: str, error: Exception) -> None:
    try:
        from holdfast.edge.hooks.log import note

        note(where or os.getcwd(), what, error)
    except Exception:  # noqa: S110 - no module can be loaded, or the folder is gone: there is nowhere to tell it
        pass


class _TimedOut(Exception):
    """The hook took too long."""


class _Deadline:
    """A time limit, for example on waiting for a lock that a stopped process holds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        import signal

        try:
            self._before = signal.signal(signal.SIGALRM, self._expire)
        except ValueError:
            self._before = None  # not in the main thread: the caller has its own time limit
            return
        signal.setitimer(
            signal.ITIMER_REAL, self._seconds, 1
        )  # again, if a handler of errors swallows the first

    def __exit__(self, *_: object) -> None:
        import signal

        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    @staticmethod
    def _expire(*_: object) -> None:
        raise _TimedOut(f"timed out after {SECONDS} s")
