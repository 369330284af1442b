"""Rows of commits: which lines are readable, and how unreadable ones are reported."""

from __future__ import annotations

from holdfast.core.codec import fault_of, id_of, looks_right, sum_of, verify_chained
from holdfast.store.protocol import Fault
from holdfast.typed import Any

Row = tuple[int, str, bytes]
"""Position in the stream, id, line."""


def typed(found: list[tuple[Any, ...]]) -> list[Row]:
    """Rows as the schema has them. A damaged page can hold values of any type: such a line is one that cannot be
    read, and a row without a number has no place."""
    return [
        (seq, commit_id if type(commit_id) is str else "", line if type(line) is bytes else b"")
        for seq, commit_id, line in found
        if type(seq) is int
    ]


def checked(
    stream: str, rows: list[Row], seq: int, previous: str | None
) -> tuple[list[bytes], tuple[Fault, ...]]:
    """The readable lines of the rows after row ``seq``, whose checksum is ``previous``, and what is wrong."""
    lines, faults = [], []
    for number, _, line in rows:
        if number != seq + 1:
            faults.append(_missing(stream, seq + 1, number - 1))
            previous = None
        seq = number
        sound = None if previous is None else verify_chained(line, previous)
        if sound is None and (what := fault_of(line, previous)):
            faults.append(damaged(stream, number, what))
            previous = None
        else:
            lines.append(line)
            previous = sound or sum_of(line)
    return lines, tuple(faults)


def _missing(stream: str, first: int, last: int) -> Fault:
    from holdfast.store.faults import MISSING_ROWS

    return Fault(MISSING_ROWS, stream, row(stream, first), {"last": last})


def damaged(stream: str, seq: int, problem: str) -> Fault:
    """The fault for a row whose line cannot be read."""
    from holdfast.store.faults import DAMAGED_LINE

    return Fault(DAMAGED_LINE, stream, row(stream, seq), {"problem": problem, "used": False})


def head_of(last: Row) -> str:
    """The id of a stream's last row: from its line, or from the column if the line is damaged."""
    return id_of(last[2]) if looks_right(last[2]) else last[1]


def is_text(op: str) -> bool:
    """Whether an operation id can have been stored: a lone surrogate cannot be encoded."""
    try:
        return op.isascii() or bool(op.encode())
    except UnicodeEncodeError:
        return False


def row(stream: str, seq: int) -> str:
    """How messages name the row of a commit."""
    return f"table commits, stream {stream}, row {seq}"
