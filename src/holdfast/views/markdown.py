"""Stored text inside Markdown: shown as data, on one line, unable to leave its place."""

from __future__ import annotations

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|"})
_HIDDEN = {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF}
"""Zero-width and bidirectional marks: they can make a line read as what it is not."""


def visible(text: str) -> str:
    """The text with control, escape and direction characters shown as their code instead of acting."""
    if text.isascii() and text.isprintable():
        return text
    shown = []
    for character in text:
        code = ord(character)
        if character in "\n\t":
            shown.append(character)
        elif code < 32 or 0x7F <= code < 0xA0 or code in _HIDDEN or 0xD800 <= code < 0xE000:
            shown.append(f"\\u{{{code:x}}}")
        else:
            shown.append(character)
    return "".join(shown)


def inline(text: str, length: int = 300) -> str:
    """Text on one line, with everything that Markdown would act on escaped."""
    line = " ".join(visible(text).split())
    if len(line) > length:
        line = line[: length - 1] + "…"
    return line.translate(_SPECIAL)


def cell(text: str, length: int = 200) -> str:
    """``inline`` for a cell of a table."""
    return inline(text, length)
