"""Text for terminals: colours only where they are seen, stored text only where it cannot act."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from holdfast.views.markdown import visible

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def colours() -> bool:
    """Whether standard output is a terminal that shows colours and nobody asked for plain text."""
    environment = os.environ
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def paint(text: str, style: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if colours() else text


def clean(text: object, length: int = 0) -> str:
    """Stored text for a terminal: no control or direction characters; on one line if a length is given."""
    shown = visible(str(text))
    if length:
        shown = " ".join(shown.split())
        if len(shown) > length:
            shown = shown[: length - 1] + "…"
    return shown


def table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    """Columns as wide as their widest cell; the last one ends where it ends."""
    widths = [max(_width(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join(padded).rstrip()

    return "\n".join([paint(line(head), "dim"), *map(line, rows)])


def _width(cell: str) -> int:
    """The letters of a cell that are seen: stored text has no escape in it, so every one is the paint's."""
    codes = cell.split("\x1b[")
    return len(codes[0]) + sum(len(piece.partition("m")[2]) for piece in codes[1:])


def when(at: str | None) -> str:
    """A moment for people: to the minute, in UTC."""
    return f"{at[:10]} {at[11:16]}" if at else ""
