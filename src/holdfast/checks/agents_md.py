"""Dated entries of AGENTS.md, and pruning: the oldest entries move to an archive. Nothing is lost."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.errors import Refused

TARGET_BYTES = 75 * 1024
MOST_BYTES = 100 * 1024
_DATED = re.compile(r"###\s+(\d{4}-\d{2}-\d{2})\b")
_HEADING = re.compile(r"#{1,3}\s")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_ARCHIVE_HEAD = "# Archived entries of AGENTS.md\n\n"


class Entry(NamedTuple):
    """One dated entry: its heading and everything up to the next heading of its level or above."""

    line: int
    date: str
    lines: list[str]


def entries(text: str) -> list[Entry]:
    """The dated entries, in file order. Headings inside code fences do not count."""
    found: list[Entry] = []
    current: Entry | None = None
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        heading = not fence and not mark and bool(_HEADING.match(line))
        if heading or (not fence and line.startswith("<!-- holdfast:")):
            dated = _DATED.match(line)
            current = Entry(number, dated[1], []) if dated else None
            if current is not None:
                found.append(current)
        if current is not None:
            current.lines.append(line)
    return found


def prune(text: str, archive: str, target: int = TARGET_BYTES) -> tuple[str, str, list[Entry]]:
    """Move the oldest dated entries to the archive until the page has at most ``target`` bytes.

    Returns the page, the archive and the moved entries. Together page and archive keep every non-blank line.
    """
    if len(text.encode()) <= target:
        return text, archive, []
    lines = text.split("\n")
    by_age = sorted(entries(text), key=lambda entry: (entry.date, -entry.line))
    moved: list[Entry] = []
    size = len(text.encode())
    for entry in by_age:
        if size <= target:
            break
        moved.append(entry)
        size -= sum(len(line.encode()) + 1 for line in entry.lines)
    if size > target and not moved:
        raise Refused(
            "No dated entry (### YYYY-MM-DD) can be moved; nothing was changed.",
            hint="Shorten the rest of the page, or load parts of it on demand.",
        )
    gone = {entry.line + offset for entry in moved for offset in range(len(entry.lines))}
    kept = [line for number, line in enumerate(lines, 1) if number not in gone]
    newest_first = sorted(moved, key=lambda entry: (entry.date, -entry.line), reverse=True)
    texts = ["\n".join(entry.lines).rstrip("\n") + "\n" for entry in newest_first]
    # A crash between writing the two files leaves entries in both: they are not archived twice.
    added = "\n".join(text for text in texts if text not in archive)
    before = archive or _ARCHIVE_HEAD
    return "\n".join(kept), f"{before.rstrip()}\n\n{added}" if added else archive, moved
