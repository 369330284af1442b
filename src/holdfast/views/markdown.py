"""Stored text inside Markdown: shown as data, on one line, unable to leave its place."""

from __future__ import annotations

import re

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|~&"})

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad"  # controls and escapes, soft hyphen
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # fillers and marks that show nothing
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff"  # zero width, direction, no character
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"  # half pairs, and letters that only machines see
)
"""Characters that act on a terminal, change the direction of a line, or are read by a model and seen by nobody."""


def visible(text: str) -> str:
    """The text with every hidden character shown as its code instead of acting; line feeds and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return HIDDEN.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"


def inline(text: str, length: int = 300) -> str:
    """Text on one line, with everything that Markdown would act on escaped."""
    line = " ".join(visible(text).split())
    if len(line) > length:
        line = line[: length - 1] + "…"
    return line.translate(_SPECIAL)


def cell(text: str, length: int = 200) -> str:
    """``inline`` for a cell of a table."""
    return inline(text, length)
