"""Transcripts that agent hosts wrote: found on this machine, and read into records.

One module per host turns a transcript into steps. Every line is accounted for: it becomes (part of) a step, is the
host's own bookkeeping, or is skipped with a reason. A reader never stops at a line that it cannot read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import import_module

from holdfast.core import timestamps
from holdfast.core.foreign import Left
from holdfast.edge.hooks import tools
from holdfast.errors import Usage
from holdfast.typed import Any, Protocol
from holdfast.workspace.transcripts import Step

NAMES = ("claude", "codex", "opencode", "gemini", "copilot")
LINE_CAP = 16 << 20
"""Bytes of one line that are read; a longer one is skipped and reported."""
TEXT_CAP = 100_000
"""Characters of one text that are used."""
_SHOWN = 200

Payload = dict[str, Any]
Item = Step | Left
Numbered = tuple[int, Payload]


class Reader(Protocol):
    """The module of a host."""

    def read(self, lines: Iterable[Numbered | Left]) -> Iterator[Item]: ...


def read(host: str, lines: Iterable[bytes]) -> Iterator[Item]:
    """The steps of a transcript, in order, and the lines that could not be read."""
    if host not in NAMES:
        raise Usage(f"{host[:40]!r} is not a host; known hosts: {', '.join(NAMES)}.")
    module: Any = import_module(f"holdfast.edge.transcripts.{host}")
    reader: Reader = module
    yield from reader.read(objects(lines))


def objects(lines: Iterable[bytes]) -> Iterator[Numbered | Left]:
    """The JSON objects of the lines, numbered from 1; anything else is skipped with a reason."""
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        if len(raw) > LINE_CAP:
            yield Left(number, _shown(raw), f"longer than {LINE_CAP:,} bytes")
            continue
        try:
            found = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            yield Left(number, _shown(raw), "not JSON")
            continue
        if isinstance(found, dict):
            yield number, found
        else:
            yield Left(number, _shown(raw), "not a JSON object")


def _shown(raw: bytes) -> str:
    return raw[:_SHOWN].decode("utf-8", "replace").strip()


def part(found: object, *names: str) -> Payload:
    """The object under a path of names; empty for anything else."""
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def parts(found: object) -> list[Payload]:
    """The objects of a list; empty for anything else."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def text(found: object) -> str:
    """A string; empty for anything else."""
    return found[:TEXT_CAP] if isinstance(found, str) else ""


def texts(content: object) -> str:
    """The text of a content value: a string, or a list of parts with text."""
    if isinstance(content, list):
        found = [text(each.get("text")) for each in parts(content)]
        return "\n".join(each for each in found if each)[:TEXT_CAP]
    return text(content)


def moment(value: object) -> str:
    """A host's timestamp in our form; empty if it is none."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return timestamps.iso(int(value)) if 0 < value < timestamps.LATEST else ""
    if not isinstance(value, str):
        return ""
    try:
        return timestamps.iso(timestamps.parse(value))
    except Usage:
        return ""


def ran(number: int, command: str, status: int, output: str, at: str) -> Iterator[Step]:
    """A shell command that ran; an exit status that is a result and no failure counts as 0."""
    if command.strip():
        code = status if tools.failed(command, status) else 0
        yield Step(number, "ran", {"command": command, "status": code, "output": output}, at)


def is_asked(prompt: str) -> bool:
    """Whether a person wrote the prompt: transcripts also have commands and notices of the host."""
    begin = prompt.lstrip()[:1]
    return bool(begin) and begin not in "/<"
