"""Imports: what was brought in from files that other tools keep.

The text of each file is kept in the log, in parts, so that what could not be taken is not lost with the file. What
was taken is named by its hash in the commit that took it: a second import finds it there and leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, one_line
from holdfast.typed import Any

EVENTS = {"import.kept": 1, "import.took": 1, "import.ended": 1}
STEPS: dict[Any, Any] = {}
PART = 256 * 1024
"""Characters of a file that one commit keeps."""
LAST = 5


def blank() -> dict[str, Any]:
    return {"imports": {"count": 0, "taken": 0, "last": []}}


def _kept(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    """The text is for the log alone."""


def _took(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["imports"]["taken"] += len(data["hashes"])


def _ended(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    imports = state["imports"]
    imports["count"] += 1
    imports["last"] = [*imports["last"], {**data, "at": commit.at, "by": commit.by}][-LAST:]


FOLDS = {"import.kept": _kept, "import.took": _took, "import.ended": _ended}
HEADLINES = {
    "import.ended": lambda data: (
        f"Imported {one_line(data['file'], 80)}: {data['taken']:,} taken, {data['left']:,} lines left"
    )
}


def keep(file: str, digest: str, part: int, parts: int, text: str, encoding: str) -> list[Event]:
    """Keep a part of a file's text. Bytes that are no text are kept as Base64."""
    return [
        Event(
            "import.kept",
            {
                "file": checked_text(file, "name of the file", cap=NAME_CAP),
                "hash": digest,
                "part": part,
                "parts": parts,
                "encoding": encoding,
                "text": checked_text(text, "part of the file", empty=True),
            },
        )
    ]


def took(hashes: Iterable[str]) -> Event:
    """Name what a commit takes in."""
    return Event("import.took", {"hashes": list(hashes)})


def end(file: str, digest: str, format_name: str, taken: int, left: int) -> list[Event]:
    """An import is through."""
    name = checked_text(file, "name of the file", cap=NAME_CAP)
    return [
        Event(
            "import.ended",
            {"file": name, "hash": digest, "format": format_name, "taken": taken, "left": left},
        )
    ]
