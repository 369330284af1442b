"""How full the context is, as the host tells it: in the payload, or at the end of the transcript that it names.

Only the file that the payload names is read, only if it is a regular file, and only its last bytes. What cannot be
read or does not parse counts as unknown.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable

from holdfast.edge.hooks.event import Event, Payload, part, text
from holdfast.typed import Any, Record

TAIL = 256 << 10
"""Bytes of a transcript that are read at first."""
FURTHER = 4 << 20
"""Bytes that are read if those have no usage: a large answer of a tool came last."""
LARGEST = 100_000_000
"""A larger number of tokens is no number of tokens."""
_CLAUDE = (200_000, 1_000_000)
_GEMINI = 1_048_576
_COMPACTED = b'"compact_boundary"'
"""In the line of a compaction in Claude Code's transcript."""


class Usage(Record):
    """A measured context."""

    used: int
    window: int = 0
    """The size of the context; 0 if unknown."""
    model: str = ""


def _tokens(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST else 0


def _claude(line: Payload) -> Usage | None:
    message = part(line, "message")
    if line.get("type") != "assistant" or line.get("isSidechain") is True or not message:
        return None
    usage = part(message, "usage")
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    used = sum(_tokens(usage.get(name)) for name in names)
    model = text(message, "model", cap=80)
    return Usage(used, claude_window(model, used), model) if used else None


def claude_window(model: str, used: int) -> int:
    """The context of a Claude model: one million since the fifth generation, or if it says so, or if more is used."""
    version = [word for word in model.split("-") if word.isdigit()][:1]
    large = "[1m]" in model or (version and int(version[0]) >= 5 and len(version[0]) < 3) or used > _CLAUDE[0]
    if not model.startswith("claude"):
        return 0
    return _CLAUDE[1] if large else _CLAUDE[0]


def _codex(line: Payload) -> Usage | None:
    payload = part(line, "payload")
    if payload.get("type") != "token_count":
        return None
    info = part(payload, "info")
    used = _tokens(part(info, "last_token_usage").get("total_tokens"))
    return Usage(used, _tokens(info.get("model_context_window"))) if used else None


def _gemini(line: Payload) -> Usage | None:
    used = _tokens(part(line, "tokens").get("total"))
    model = text(line, "model", cap=80)
    return Usage(used, _GEMINI if model.startswith("gemini") else 0, model) if used else None


def _copilot(line: Payload) -> Usage | None:
    if line.get("type") != "session.usage_record":
        return None
    usage = part(part(line, "data"), "usage")
    if text(usage, "interactionType") not in ("", "conversation-agent"):
        return None
    used = _tokens(usage.get("inputTokens")) + _tokens(usage.get("outputTokens"))
    return Usage(used, _tokens(usage.get("maxPromptTokens")), text(usage, "model", cap=80)) if used else None


_LINES: dict[str, tuple[bytes, Callable[[Payload], Usage | None]]] = {
    "claude": (b'"usage"', _claude),
    "codex": (b'"token_count"', _codex),
    "gemini": (b'"tokens"', _gemini),
    "copilot": (b'"session.usage_record"', _copilot),
}
"""For each host whose transcript tells it: what a line with the usage contains, and how it is read."""


def in_transcript(host: str, path: str) -> Usage | None:
    """The last usage in a host's transcript; None if there is none or it cannot be read."""
    if host not in _LINES or not os.path.isabs(path):
        return None
    mark, read = _LINES[host]
    try:
        # A fifo must not be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        for length in (TAIL, FURTHER):
            begin = max(0, found.st_size - length)
            usage = _last(os.pread(fd, length, begin), begin > 0, mark, read)
            if usage is not None or begin == 0:
                return usage
    except OSError:
        return None
    finally:
        os.close(fd)
    return None


def _last(data: bytes, cut: bool, mark: bytes, read: Callable[[Payload], Usage | None]) -> Usage | None:
    """The usage of the last line that has one; the first line of a part may be cut."""
    lines = data.split(b"\n")
    for line in reversed(lines[1:] if cut else lines):
        if _COMPACTED in line:
            return None  # what was used before a compaction no longer is
        if mark not in line:
            continue
        try:
            parsed: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        usage = read(parsed) if isinstance(parsed, dict) else None
        if usage is not None:
            return usage
    return None


def measured(host: str, event: Event) -> Usage | None:
    """How full the context of an event's conversation is; None if the host does not tell."""
    found = in_transcript(host, event.transcript) if event.transcript else None
    if found is not None or not event.used:
        return found
    window = event.window or (claude_window(event.model, event.used) if host == "claude" else 0)
    return Usage(event.used, window, event.model)


def told(event: Event, payload: Payload) -> Event:
    """The event with the usage in its payload: of a resumed conversation, or of OpenCode's plug-in."""
    own = part(payload, "usage")
    used = _tokens(own.get("used")) or _tokens(payload.get("context_tokens"))
    window = _tokens(own.get("window"))
    model = text(own, "model", cap=80) or text(payload, "model", cap=80)
    return event._replace(used=used, window=window, model=model) if used else event
