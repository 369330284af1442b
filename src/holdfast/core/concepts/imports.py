"""Imports: what was imported from other tools' files.

The text of each file is stored in the log, in parts, so that what could not be imported is not lost with the file.
Each imported record is named by its hash in its commit: a second import finds the hash and skips the record.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, one_line
from holdfast.typed import Any

EVENTS = {"import.kept": 1, "import.took": 1, "import.ended": 1}
STEPS: dict[Any, Any] = {}
PART = 256 * 1024
"""Characters of a file per commit."""
LAST = 5


def blank() -> dict[str, Any]:
    return {"imports": {"count": 0, "taken": 0, "last": []}}


def _kept(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    """Nothing to fold: the text is only in the log."""


def _took(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["imports"]["taken"] += len(data["hashes"])


def _ended(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    imports = state["imports"]
    imports["count"] += 1
    imports["last"] = [*imports["last"], {**data, "at": commit.at, "by": commit.by}][-LAST:]


FOLDS = {"import.kept": _kept, "import.took": _took, "import.ended": _ended}
HEADLINES = {
    "import.ended": lambda data: (
        f"Imported {one_line(data['file'], 80)}: {data['taken']:,} records, {data['left']:,} lines skipped"
    )
}


def keep(file: str, digest: str, part: int, parts: int, text: str, encoding: str) -> list[Event]:
    """Store a part of a file's text; bytes that are not text as Base64."""
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
    """Name the records that a commit imports."""
    return Event("import.took", {"hashes": list(hashes)})


def end(file: str, digest: str, format_name: str, taken: int, left: int) -> list[Event]:
    """Record that an import is complete."""
    name = checked_text(file, "name of the file", cap=NAME_CAP)
    return [
        Event(
            "import.ended",
            {"file": name, "hash": digest, "format": format_name, "taken": taken, "left": left},
        )
    ]
