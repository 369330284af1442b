"""Stored text inside Markdown: shown as data, on one line, without any markup effect."""

from __future__ import annotations

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|~&"})

_STARTS = tuple("#+-=:")
"""Characters that have a meaning at the start of a line."""
_DIGITS = "0123456789"

_SMALL = frozenset(
    code
    for first, last in (
        *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD)),  # controls and escapes, soft hyphen
        *((0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),  # fillers
        *((0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F)),  # zero width, line ends, direction
        *((0x3164, 0x3164), (0xFE00, 0xFE0D), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFF)),
    )
    for code in range(first, last + 1)
)


def hidden_in(text: str) -> list[str]:
    """The characters in a text that control a terminal, reverse a line's direction, or are invisible.

    By code point, not by Unicode properties: those differ between releases of Python, and a view must not.
    """
    if text.isascii() and text.isprintable():
        return []
    return sorted(
        character
        for character in set(text)
        if (code := ord(character)) in _SMALL
        or 0xD800 <= code < 0xE000
        or 0x1D173 <= code <= 0x1D17A
        or 0xE0000 <= code < 0xE1000
    )


def code_of(character: str) -> str:
    """How a hidden character is shown."""
    return f"\\u{{{ord(character):x}}}"


def visible(text: str) -> str:
    """The text with every hidden character replaced by its code; line feeds and tabs stay."""
    hidden = hidden_in(text)
    return text.translate({ord(character): code_of(character) for character in hidden}) if hidden else text


def visible_json(text: str) -> str:
    """The same for JSON, where a character and its escape mean the same."""
    hidden = hidden_in(text)
    return text.translate({ord(character): _escape(character) for character in hidden}) if hidden else text


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def inline(text: str, length: int = 300) -> str:
    """Text on one line, with all Markdown escaped."""
    line = " ".join(visible(text).split())
    if len(line) > length:
        line = line[: length - 1] + "…"
    line = line.translate(_SPECIAL)
    if line[:1] in _STARTS:
        return f"\\{line}"
    if line[:1] and line[0] in _DIGITS:
        number = len(line) - len(line.lstrip(_DIGITS))
        if line[number : number + 1] in (".", ")"):  # it would start a numbered list
            return f"{line[:number]}\\{line[number:]}"
    return line


def cell(text: str, length: int = 200) -> str:
    """``inline`` for a cell of a table."""
    return inline(text, length)
