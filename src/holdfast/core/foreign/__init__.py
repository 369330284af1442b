"""Readers of other tools' files. Pure: text in, records out.

A reader accounts for every line: the line becomes (part of) a record, is structure (headings, fences, computed
values), or is skipped with a reason. A reader never guesses, and an unreadable line never stops it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from holdfast.errors import Refused

MAX_SIZE = 32 * 1024 * 1024
"""The largest file that is read, in bytes."""


class Record(NamedTuple):
    """One record of a file, and its line."""

    line: int
    kind: str
    data: dict[str, Any]


class Left(NamedTuple):
    """A line that was not imported, and why."""

    line: int
    text: str
    why: str


Reading = Iterator[Record | Left]
Reader = Callable[[str], Iterable[Record | Left]]

FORMATS = {
    "state-json": "json_files",
    "session-state": "json_files",
    "batch-state": "json_files",
    "state-md": "markdown",
    "events-yaml": "yaml_files",
    "backlog-yaml": "yaml_files",
    "decision-index": "yaml_files",
    "catch-log": "tsv_files",
}
"""Each format and the module that reads it."""


def reader(format_name: str) -> Reader:
    """The reader of a format."""
    module = import_module(f"holdfast.core.foreign.{FORMATS[format_name]}")
    found: Reader = module.READERS[format_name]
    return found


def recognise(name: str, text: str) -> str:
    """The format of a file, by its name or else by its first bytes."""
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    if base.endswith(".tsv"):
        return "catch-log"
    if base.endswith((".yaml", ".yml")):
        return _yaml(base, text)
    if base.endswith(".json"):
        return _json(base, text)
    if base.endswith((".md", ".markdown")):
        return "state-md"
    raise Refused(
        f"The format of {name[-200:]} is unknown; nothing was written.",
        hint=f"Name its format: {', '.join(FORMATS)}.",
    )


def _yaml(base: str, text: str) -> str:
    if "backlog" in base or "\nitems:" in f"\n{text}":
        return "backlog-yaml"
    if "decision" in base or "\nstanding_orders:" in f"\n{text}":
        return "decision-index"
    return "events-yaml"


def _json(base: str, text: str) -> str:
    if '"features"' in text or '"batch_id"' in text:
        return "batch-state"
    if '"current_phase"' in text or '"next_actions"' in text:
        return "session-state"
    return "state-json"
