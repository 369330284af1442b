"""JSON with line numbers: the line of each member of an object and of each entry of a list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.decoder import JSONDecodeError
from typing import Any, NamedTuple

_decode = json.JSONDecoder().raw_decode
_SPACE = " \t\n\r"


class Placed(NamedTuple):
    """A JSON value and its position."""

    name: str
    """The member's name; empty in a list."""
    value: Any
    line: int
    start: int


class Lines:
    """Line numbers of increasing offsets, counted incrementally."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line, self._at = 1, 0

    def at(self, place: int) -> int:
        if place < self._at:
            self._line, self._at = 1, 0
        self._line += self._text.count("\n", self._at, place)
        self._at = place
        return self._line


def members(text: str, start: int = 0) -> Iterator[Placed]:
    """The members of the object that begins at ``start``; a repeated member is yielded each time."""
    lines = Lines(text)
    at = _expect(text, start, "{")
    if text[at : at + 1] == "}":
        return
    while True:
        _expect(text, at, '"')
        name, at = _decode(text, _skip(text, at))
        at = _expect(text, at, ":")
        value, end = _decode(text, at)
        yield Placed(name, value, lines.at(at), at)
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            _expect(text, at, "}")
            return
        at = _skip(text, at + 1)


def entries(text: str, start: int) -> Iterator[Placed]:
    """The entries of the list that begins at ``start``."""
    lines = Lines(text)
    at = _expect(text, start, "[")
    if text[at : at + 1] == "]":
        return
    while True:
        value, end = _decode(text, at)
        yield Placed("", value, lines.at(at), at)
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            _expect(text, at, "]")
            return
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _expect(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise JSONDecodeError(f"Expecting {mark!r}", text, at)
    return _skip(text, at + 1)
