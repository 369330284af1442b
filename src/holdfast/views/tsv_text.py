"""Tab-separated lines in which a cell may hold any text.

A backslash introduces ``\\t``, ``\\n``, ``\\r``, ``\\0`` and itself; everything else is literal. So a line is one
record for every line-based tool, and the cells are read back unchanged.
"""

from __future__ import annotations

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_TABLE = str.maketrans(_ESCAPES)
_BACK = {escaped[1]: plain for plain, escaped in _ESCAPES.items()}


def line(cells: list[str]) -> str:
    """A record as one line, with its line feed."""
    return "\t".join(cell.translate(_TABLE) for cell in cells) + "\n"


def cells(text: str) -> list[str]:
    """The cells of a line that ``line`` wrote, with or without its line feed."""
    return [_plain(cell) for cell in text.removesuffix("\n").split("\t")]


def _plain(cell: str) -> str:
    if "\\" not in cell:
        return cell
    parts = cell.split("\\")
    found, at = [parts[0]], 1
    while at < len(parts):
        part = parts[at]
        if part:
            found.append(_BACK.get(part[0], "\\" + part[0]) + part[1:])
            at += 1
        elif at + 1 < len(parts):
            found.append("\\" + parts[at + 1])
            at += 2
        else:
            found.append("\\")
            at += 1
    return "".join(found)
