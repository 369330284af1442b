"""Edit JSON with comments in place: only our own characters are inserted or removed.

A settings file belongs to a person: its comments, order and blank lines stay. The text is parsed into nodes with their
offsets, and a change is a piece of text that is inserted or cut out.
"""

from __future__ import annotations

import json
import re

from holdfast.errors import Refused
from holdfast.typed import Any, Record

_BLANK = r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*"
_STRING = r'"(?:[^"\\\x00-\x1f]|\\.)*"'
_SCALAR = r"-?\d[\d.eE+-]*|true|false|null"
DEEPEST = 100


class Node(Record):
    """A value in the text."""

    value: Any
    start: int
    end: int
    children: dict[str, Node] | list[Node] | None
    """The values of an object by key, or of a list."""
    keys: dict[str, int]
    """The offset of each key of an object."""
    comma: int
    """The end of the trailing comma after the last child; -1 if there is none."""


def parse(text: str) -> Node:
    """Parse the whole text."""
    parser = _Parser(text)
    node = parser.value(parser.blank(0), 0)
    rest = parser.blank(node.end)
    if rest != len(text):
        raise parser.wrong(rest)
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._skip = re.compile(_BLANK, re.DOTALL)
        self._string = re.compile(_STRING)
        self._scalar = re.compile(_SCALAR)

    def wrong(self, at: int) -> Refused:
        line = self._text.count("\n", 0, at) + 1
        return Refused(f"line {line} is not JSON")

    def blank(self, at: int) -> int:
        found = self._skip.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise Refused(f"it is nested deeper than {DEEPEST} levels")
        begin = self._text[at : at + 1]
        if begin == "{":
            return self._object(at, depth)
        if begin == "[":
            return self._list(at, depth)
        found = (self._string if begin == '"' else self._scalar).match(self._text, at)
        if found is None:
            raise self.wrong(at)
        return Node(self._loaded(found[0], at), at, found.end(), None, {}, -1)

    def _loaded(self, text: str, at: int) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self.wrong(at) from None

    def _object(self, start: int, depth: int) -> Node:
        children: dict[str, Node] = {}
        keys: dict[str, int] = {}
        at, comma = self.blank(start + 1), -1
        while self._text[at : at + 1] != "}":
            if children and comma < 0:
                raise self.wrong(at)
            found = self._string.match(self._text, at)
            if found is None:
                raise self.wrong(at)
            key = str(self._loaded(found[0], at))
            if key in children:
                raise Refused(f"the key {key[:40]!r} is repeated")
            colon = self.blank(found.end())
            if self._text[colon : colon + 1] != ":":
                raise self.wrong(colon)
            keys[key] = at
            children[key] = self.value(self.blank(colon + 1), depth + 1)
            at, comma = self._after(children[key].end)
        return Node({k: n.value for k, n in children.items()}, start, at + 1, children, keys, comma)

    def _list(self, start: int, depth: int) -> Node:
        children: list[Node] = []
        at, comma = self.blank(start + 1), -1
        while self._text[at : at + 1] != "]":
            if children and comma < 0:
                raise self.wrong(at)
            children.append(self.value(at, depth + 1))
            at, comma = self._after(children[-1].end)
        return Node([n.value for n in children], start, at + 1, children, {}, comma)

    def _after(self, end: int) -> tuple[int, int]:
        """The next offset after a child, and the end of the comma after it."""
        at = self.blank(end)
        if self._text[at : at + 1] == ",":
            return self.blank(at + 1), at + 1
        return at, -1


def at_path(root: Node, path: tuple[str, ...]) -> Node | None:
    """The value under the keys; None if one of them is missing."""
    node: Node | None = root
    for key in path:
        if node is None or not isinstance(node.children, dict):
            return None
        node = node.children.get(key)
    return node


# -- inserting ----------------------------------------------------------------------------------------------------


class Piece(Record):
    """A piece of text to insert."""

    at: int
    text: str
    made: tuple[tuple[str, ...], ...]
    """The paths of the keys that it adds."""


def pieces(text: str, wanted: dict[str, Any], leaf: int) -> list[Piece]:
    """What to insert so that the text also contains ``wanted``: missing keys and list entries.

    A value at depth ``leaf`` is atomic: if it exists already, it must be equal.
    """
    return _pieces(text, parse(text), wanted, (), leaf)


def _pieces(text: str, node: Node, wanted: dict[str, Any], path: tuple[str, ...], leaf: int) -> list[Piece]:
    if not isinstance(node.children, dict):
        raise Refused(f"{'.'.join(path) or 'the whole'} is not an object")
    found = []
    missing = {key: value for key, value in wanted.items() if key not in node.children}
    if missing:
        depth = len(path) + 1
        said = [f"{json.dumps(key)}: {_said(text, value, depth)}" for key, value in missing.items()]
        at, piece = _place(text, node, said, depth)
        found.append(Piece(at, piece, tuple((*path, key) for key in missing)))
    for key, value in wanted.items():
        if key in missing:
            continue
        child, below = node.children[key], (*path, key)
        if isinstance(value, list):
            if not isinstance(child.children, list):
                raise Refused(f"{'.'.join(below)} is not a list")
            new = [each for each in value if each not in child.value]
            if new:
                depth = len(below) + 1
                at, piece = _place(text, child, [_said(text, each, depth) for each in new], depth)
                found.append(Piece(at, piece, ()))
        elif isinstance(value, dict) and len(below) < leaf:
            found += _pieces(text, child, value, below, leaf)
        elif child.value != value:
            raise Refused(f"{'.'.join(below)} exists already and was not added by holdfast")
    return found


def with_pieces(text: str, found: list[Piece]) -> str:
    """The text with the pieces inserted."""
    for piece in sorted(found, key=lambda piece: piece.at, reverse=True):
        text = text[: piece.at] + piece.text + text[piece.at :]
    return text


def _place(text: str, node: Node, entries: list[str], depth: int) -> tuple[int, str]:
    """The offset (after the last child, or inside the empty brackets) and the text to insert there."""
    line = _newline(text) + _indent(text) * depth
    said = f",{line}".join(entries)
    children = list(node.children.values()) if isinstance(node.children, dict) else node.children or []
    if not children:
        inside = text[node.start + 1 : node.end - 1]
        back = "" if "\n" in inside else _newline(text) + _indent(text) * (depth - 1)
        return node.start + 1, f"{line}{said}{back}"
    if node.comma >= 0:
        return node.comma, f"{line}{said}"
    return children[-1].end, f",{line}{said}"


def _said(text: str, value: Any, depth: int) -> str:
    """The value in the formatting of this file."""
    indent = _indent(text)
    said = json.dumps(value, indent=indent, ensure_ascii=False)
    return said.replace("\n", _newline(text) + indent * depth)


def _indent(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


# -- removing -----------------------------------------------------------------------------------------------------


def without(text: str, path: tuple[str | int, ...]) -> str:
    """The text without the key or list entry at the path, and without its comma."""
    node = parse(text)
    for step in path[:-1]:
        node = node.children[step]  # type: ignore[index]
    last = path[-1]
    if isinstance(node.children, dict):
        names = list(node.children)
        spans = [(node.keys[name], node.children[name].end) for name in names]
        place = names.index(str(last))
    else:
        assert isinstance(last, int)
        spans = [(child.start, child.end) for child in node.children or []]
        place = last
    if place > 0:
        start, end = spans[place - 1][1], spans[place][1]
    elif len(spans) > 1:
        start, end = spans[0][0], spans[1][0]
    else:
        start, end = spans[0][0], max(spans[0][1], node.comma)
        inside = text[node.start + 1 : start] + text[end : node.end - 1]
        if not inside.strip():
            start, end = node.start + 1, node.end - 1
    return text[:start] + text[end:]
