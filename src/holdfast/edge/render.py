"""Text for terminals: colours only where they show, lines that fit, and stored text that cannot act."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from holdfast.errors import HoldfastError
from holdfast.views.markdown import visible

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_RESET = "\x1b[0m"
_GAP = "  "
GUTTER = "  │ "
"""In front of the lines of a stored text."""
_NARROWEST = 6
"""No column of a table is cut below this, however narrow the terminal is."""


def colours() -> bool:
    """Whether standard output is a terminal that shows colours and plain text was not asked for."""
    environment = os.environ
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def columns() -> int:
    """The width of the terminal; 0 where it is unknown."""
    given = os.environ.get("COLUMNS", "")
    width = int(given) if given.isascii() and given.isdecimal() else 0
    if not width:
        try:
            width = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):
            pass
    return width


def paint(text: str, style: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}{_RESET}" if colours() else text


def clean(text: object, length: int = 0) -> str:
    """Stored text for a terminal: no control or direction characters. On one line if a length is given; otherwise
    each further line is marked, so that it cannot pass for one of holdfast's own."""
    shown = visible(str(text))
    if length:
        shown = " ".join(shown.split())
        if len(shown) > length:
            shown = shown[: length - 1] + "…"
    return shown.replace("\n", f"\n{GUTTER}")


def block(text: object, indent: str = "") -> list[str]:
    """The lines of a stored text, each of them marked."""
    return [f"{indent}{GUTTER}{line}" for line in visible(str(text)).split("\n")]


_PAINTS = tuple(f"[{code}m" for code in (*_CODES.values(), "0"))


def printable(text: str) -> str:
    """What is printed, whoever made it: every answer passes here, and nothing that acts but our own paint does."""
    if "\x1b" not in text or not colours():
        return visible(text)
    first, *rest = text.split("\x1b")
    return visible(first) + "".join(map(_after_escape, rest))


def _after_escape(part: str) -> str:
    """An escape and what follows it: as it is only if it is our own paint."""
    return ("\x1b" if part.startswith(_PAINTS) else visible("\x1b")) + visible(part)


def _room() -> int:
    """The width that lines have to fit; 0 in a pipe, whose reader wants whole lines."""
    return columns() if sys.stdout.isatty() else 0


def fit(text: str) -> str:
    """Every line cut to the width of the terminal; unchanged in a pipe."""
    width = _room()
    return "\n".join(_cut(line, width) for line in text.split("\n")) if width else text


def wrap(text: str) -> str:
    """An error for a terminal, wrapped at words and indented; unchanged where errors go to a file."""
    width = columns() if sys.stderr.isatty() else 0
    if not width or len(text) <= width:
        return text
    from textwrap import TextWrapper

    wrapper = TextWrapper(width=width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, text.split("\n")))


def table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...], *, keep: int = 1) -> str:
    """Columns as wide as their widest cell, or as the terminal allows. A column without any cell is left out.

    The first ``keep`` columns hold ids and times: they are cut only when nothing else is left to cut.
    """
    used = [place for place in range(len(head)) if any(row[place].strip() for row in rows)]
    chosen = [tuple(row[place] for place in used) for row in [head, *rows]]
    wanted = [max(_width(row[place]) for row in chosen) for place in range(len(used))]
    widths = _widths(wanted, sum(place < keep for place in used))

    def line(cells: tuple[str, ...]) -> str:
        cut = [_cut(cell, width) for cell, width in zip(cells, widths, strict=True)]
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(cut, widths, strict=True)]
        return _GAP.join(padded).rstrip()

    return "\n".join([paint(line(chosen[0]), "dim"), *map(line, chosen[1:])])


def _widths(wanted: list[int], keep: int) -> list[int]:
    """What each column gets: the widest one that may be cut gives way first."""
    room = _room()
    over = sum(wanted) + len(_GAP) * (len(wanted) - 1) - room if room else 0
    for first in (keep, 0):
        cuttable = wanted[first:]
        while over > 0 and cuttable and max(cuttable) > _NARROWEST:
            cuttable[cuttable.index(max(cuttable))] -= 1
            over -= 1
        wanted = wanted[:first] + cuttable
    return wanted


def _width(cell: str) -> int:
    """The terminal columns that a text takes: stored text has no escape in it, so every one is paint."""
    codes = cell.split("\x1b[")
    seen = codes[0] + "".join(piece.partition("m")[2] for piece in codes[1:])
    return len(seen) if seen.isascii() else sum(map(_character_width, seen))


def _character_width(character: str) -> int:
    from unicodedata import combining, east_asian_width

    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _cut(text: str, width: int) -> str:
    """At most ``width`` columns of a line, with an ellipsis where some of it is missing."""
    if _width(text) <= width:
        return text
    kept, left, place, painted = [], width - 1, 0, False
    while place < len(text):
        if text.startswith("\x1b[", place):
            end = text.index("m", place) + 1
            painted = text[place:end] != _RESET
            kept.append(text[place:end])
            place = end
            continue
        left -= _character_width(text[place])
        if left < 0:
            break
        kept.append(text[place])
        place += 1
    return "".join(kept).rstrip() + "…" + (_RESET if painted else "")


def when(at: str | None) -> str:
    """A timestamp for people: to the minute, in local time, with the zone."""
    if not at:
        return ""
    import time

    from holdfast.core import timestamps

    try:
        local = time.localtime(timestamps.parse(at) // 1000)
    except (
        HoldfastError,
        OverflowError,
        OSError,
    ):  # what another tool wrote, or a year that has no local time
        return clean(at, 30)
    return time.strftime("%Y-%m-%d %H:%M %Z", local)


def recently(at: str | None) -> str:
    """A timestamp for people that is mostly of today: then the time alone."""
    import time

    shown = when(at)
    return shown[11:] if shown[:10] == time.strftime("%Y-%m-%d") else shown


def day(at: str | None) -> str:
    """The local date of a timestamp."""
    return when(at)[:10]


def age(at: str, now: int) -> str:
    """How long ago, in the largest unit that fits: ``5 min ago``, ``3 days ago``."""
    from holdfast.core import timestamps

    try:
        seconds = (now - timestamps.parse(at)) // 1000
    except HoldfastError:  # what another tool wrote
        return clean(at, 30)
    if seconds < 60:
        return "just now"
    for size, one, many in _UNITS:
        if seconds >= size:
            return f"{plural(seconds // size, one, many)} ago"
    return f"{seconds // 60} min ago"


_UNITS = ((365 * 86_400, "year", "years"), (30 * 86_400, "month", "months"), (86_400, "day", "days"),
          (3_600, "hour", "hours"))  # fmt: skip


def plural(count: int, singular: str, plural: str = "") -> str:
    """``1 decision``, ``2 decisions``."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
