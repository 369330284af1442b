"""The subset of YAML that hand-written logs use: top-level keys with lists of flat entries.

Not a general YAML parser: lines with anchors, tags, merges, several documents or nested objects are skipped. In
return a line that is not YAML costs only that line, where a strict parser rejects the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_KEY = re.compile(r"""(?P<name>[A-Za-z_][\w .-]*?|"[^"\\]*"|'[^']*')\s*:(?:\s+(?P<rest>.*)|)$""", re.S)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_CONSTANTS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "true": True,
    "True": True,
    "false": False,
    "False": False,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", '"': '"', "\\": "\\", "/": "/", " ": " "}
_HEX = {"x": 2, "u": 4, "U": 8}
_FOLDED = re.compile(r"[|>][-+]?(?:\s+#.*)?")


class Bad(Exception):
    """A value outside the supported subset of YAML."""


class Field(NamedTuple):
    line: int
    name: str
    value: Any
    text: str
    """The raw line."""
    bad: str
    """Why the value could not be read; empty if it could."""


class Entry(NamedTuple):
    """An entry of a list: an object's fields, or one plain value under the empty name."""

    section: str
    line: int
    fields: list[Field]


class Stray(NamedTuple):
    """A line that belongs to no entry and starts no section."""

    line: int
    text: str
    why: str


def read(text: str) -> Iterator[Entry | Stray | Field]:
    """Entries, top-level fields (``total: 3``), and lines that are neither."""
    section, entry, entry_indent, own_indent = "", None, -1, -1
    block = _Block()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        bare = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if block.takes(line, bare, indent):
            continue
        if block.field is not None and entry is not None:
            entry.fields[-1] = block.close()
        if not bare or bare.startswith("#") or bare in ("---", "..."):
            continue
        if bare == "-" or bare.startswith("- "):
            if entry is not None and indent > entry_indent:
                _append(entry, number, line, bare, deeper=own_indent >= 0 and indent > own_indent + 2)
                continue
            if entry is not None:
                yield entry
            entry, entry_indent, own_indent = Entry(section, number, []), indent, -1
            rest = bare[1:].strip()
            if rest:
                own_indent = indent + len(bare) - len(rest)
                entry.fields.append(_field(number, rest, line, whole=True))
                block.open(entry.fields[-1], indent + 2)
        elif indent == 0:
            if entry is not None:
                yield entry
                entry = None
            found = _field(number, bare, line)
            if found.name and found.value is None and not found.bad:
                section = found.name
            elif found.name:
                section = found.name if found.value in ([], {}) else section
                yield found
            else:
                yield Stray(number, line, found.bad or "not a key")
        elif entry is not None and indent > entry_indent:
            own_indent = indent if own_indent < 0 else own_indent
            if indent > own_indent:
                entry.fields.append(Field(number, "", None, line, "an object inside an entry"))
                continue
            entry.fields.append(_field(number, bare, line))
            block.open(entry.fields[-1], indent)
        else:
            yield Stray(number, line, "deeper than a list of entries")
    if entry is not None:
        if block.field is not None:
            entry.fields[-1] = block.close()
        yield entry


class _Block:
    """A text over several lines: ``summary: |``, ``>``, or a quoted text."""

    def __init__(self) -> None:
        self.field: Field | None = None
        self._indent = 0
        self._lines: list[str] = []

    def open(self, field: Field, indent: int) -> None:
        if isinstance(field.value, _Marker):
            self.field, self._indent, self._lines = field, indent, []

    def takes(self, line: str, bare: str, indent: int) -> bool:
        if self.field is None or (bare and indent <= self._indent):
            return False
        self._lines.append(line)
        return True

    def close(self) -> Field:
        assert self.field is not None
        field, self.field = self.field, None
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        depth = min((len(line) - len(line.lstrip(" ")) for line in self._lines if line.strip()), default=0)
        lines = [line[depth:] for line in self._lines]
        assert isinstance(field.value, _Marker)
        text = "\n".join(lines) if field.value.kept else " ".join(line.strip() for line in lines)
        return field._replace(value=text)


class _Marker(NamedTuple):
    kept: bool
    """Line feeds are kept (``|``), not folded into spaces (``>``)."""


def _append(entry: Entry, number: int, line: str, bare: str, *, deeper: bool) -> None:
    """Add a value to a block list inside an entry: it belongs to the field above, which has no inline value."""
    last = entry.fields[-1] if entry.fields else None
    if last is None or deeper or (last.value is not None and not isinstance(last.value, list)):
        entry.fields.append(Field(number, "", None, line, "a list where none belongs"))
        return
    try:
        value = scalar(bare[1:].strip())
    except Bad as bad:
        entry.fields.append(Field(number, last.name, None, line, str(bad)))
        return
    entry.fields[-1] = last._replace(value=[*(last.value or []), value])


def _field(number: int, bare: str, line: str, *, whole: bool = False) -> Field:
    """Parse ``name: value``; with ``whole``, a bare value gets the empty name."""
    match = _KEY.match(bare)
    if match is None:
        if not whole:
            return Field(number, "", None, line, "not a key with a value")
        try:
            return Field(number, "", scalar(bare), line, "")
        except Bad as bad:
            return Field(number, "", None, line, str(bad))
    name, rest = match["name"].strip("\"'"), (match["rest"] or "").strip()
    if _FOLDED.fullmatch(rest):
        return Field(number, name, _Marker(rest[0] == "|"), line, "")
    try:
        return Field(number, name, scalar(rest), line, "")
    except Bad as bad:
        return Field(number, name, None, line, str(bad))


def scalar(text: str) -> Any:
    """A value on one line: plain or quoted text, number, constant, or a flat list in brackets."""
    value, end = _value(text, 0, "")
    rest = text[end:].strip()
    if rest and not (rest.startswith("#") and text[end : end + 1] in " \t"):
        raise Bad("text after the value")
    return value


def _value(text: str, at: int, stops: str) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first == '"':
        return _double(text, at + 1)
    if first == "'":
        return _single(text, at + 1)
    if first == "[":
        return _list(text, at + 1)
    if first == "{":
        if text[at : at + 2] == "{}":
            return {}, at + 2
        raise Bad("an object in braces")
    if first in ("&", "*", "!", "%", "@", "`"):
        raise Bad(f"a plain text cannot begin with {first}")
    end = at
    while (
        end < len(text)
        and text[end] not in stops
        and not (text[end] == "#" and end > at and text[end - 1] == " ")
    ):
        if text.startswith(": ", end):
            raise Bad("a colon inside a plain text")
        if stops and text[end] in "[{":
            raise Bad("a bracket inside a plain text of a list")
        end += 1
    return _plain(text[at:end].strip()), end


def _plain(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if _INT.fullmatch(text) else text


def _list(text: str, at: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    while True:
        while text[at : at + 1] == " ":
            at += 1
        if text[at : at + 1] == "]":
            return values, at + 1
        if at >= len(text):
            raise Bad("a list without its closing bracket")
        if text[at] == "[":
            raise Bad("a list inside a list")
        value, at = _value(text, at, ",]")
        values.append(value)
        while text[at : at + 1] == " ":
            at += 1
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            raise Bad("a list without its closing bracket" if at >= len(text) else "text after a value")


def _single(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text):
        if text[at] != "'":
            out.append(text[at])
        elif text[at + 1 : at + 2] == "'":
            out.append("'")
            at += 1
        else:
            return "".join(out), at + 1
        at += 1
    raise Bad("a quoted text without its end")


def _double(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text):
        letter = text[at]
        if letter == '"':
            return "".join(out), at + 1
        if letter == "\\":
            code = text[at + 1 : at + 2]
            if code in _HEX:
                digits = text[at + 2 : at + 2 + _HEX[code]]
                try:
                    out.append(chr(int(digits, 16)))
                except (ValueError, OverflowError):
                    raise Bad("an unknown escape") from None
                at += 2 + _HEX[code]
                continue
            if code not in _ESCAPES or not code:
                raise Bad("an unknown escape")
            out.append(_ESCAPES[code])
            at += 2
            continue
        out.append(letter)
        at += 1
    raise Bad("a quoted text without its end")
