"""YAML, written so that every reader of YAML 1.1 or 1.2 gets back exactly the same values.

Block style for objects and lists, one line per scalar. A text is plain only if no reader can take it for anything
else; otherwise it is double-quoted, with escapes for invisible characters.
"""

from __future__ import annotations

import re

from holdfast.typed import Any

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\x1b": "\\e"}
_UNSEEN = re.compile(
    '[\\x00-\\x1f"\\\\\\x7f-\\xa0\\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff]'
    "|[\U000e0000-\U000e0fff]"
)
_LONGEST_KEY = 1000
"""Readers may refuse a longer key on one line; such a key is marked with a question mark."""


def dump(value: Any) -> str:
    """A document with one value, such as an object of objects and lists."""
    if isinstance(value, dict) and value:
        return "\n".join(_object(value, "")) + "\n"
    if isinstance(value, (list, tuple)) and value:
        return "\n".join(_list(value, "")) + "\n"
    return scalar(value) + "\n"


def scalar(value: Any) -> str:
    """A value on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict) and not value:
        return "{}"
    if isinstance(value, (list, tuple)) and not value:
        return "[]"
    raise TypeError(f"{type(value).__name__} cannot be written as YAML")


def text(value: str) -> str:
    """A text as a scalar."""
    if len(value) <= 80 and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    return f'"{_UNSEEN.sub(_escape, value)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise TypeError("a number that is not finite cannot be written as YAML")
    shown = repr(value)
    # Readers of YAML 1.1 take 1e+16 for a string: the point makes it a number.
    if "e" in shown and "." not in shown:
        shown = shown.replace("e", ".0e")
    return shown


def _object(value: dict[str, Any], indent: str) -> list[str]:
    lines = []
    for key, inner in value.items():
        name = text(str(key))
        if len(name) > _LONGEST_KEY:
            lines += [f"{indent}? {name}", *_after(f"{indent}:", inner, indent)]
        else:
            lines += _after(f"{indent}{name}:", inner, indent)
    return lines


def _list(value: Any, indent: str) -> list[str]:
    lines = []
    for inner in value:
        if isinstance(inner, (dict, list, tuple)) and inner:
            nested = _object(inner, f"{indent}  ") if isinstance(inner, dict) else _list(inner, f"{indent}  ")
            # The first line of an entry comes after its dash.
            lines += [f"{indent}- {nested[0][len(indent) + 2 :]}", *nested[1:]]
        else:
            lines.append(f"{indent}- {scalar(inner)}")
    return lines


def _after(head: str, value: Any, indent: str) -> list[str]:
    if isinstance(value, dict) and value:
        return [head, *_object(value, f"{indent}  ")]
    if isinstance(value, (list, tuple)) and value:
        return [head, *_list(value, f"{indent}  ")]
    return [f"{head} {scalar(value)}"]
