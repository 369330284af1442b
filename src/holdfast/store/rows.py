"""Rows of commits: which lines are readable, and how unreadable ones are reported."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.core import ids
from holdfast.core.codec import GENESIS, fault_of, id_of, looks_right, sum_of, verify_chained
from holdfast.store.protocol import Fault, Tail
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


def fits(rows: list[Row], count: int, last_sum: str) -> bool:
    """Whether a cursor is valid, given the rows from its own row on: that row proves it."""
    if not count:
        return last_sum == GENESIS
    return bool(rows) and rows[0][0] == count and sum_of(rows[0][2]) == last_sum


Before = Callable[[int], list[Row]]
"""Some rows up to a position, in order; none if there are none."""


def tail_of(stream: str, rows: list[Row], cursor: tuple[int, str] | None, before: Before) -> tuple[Tail, str]:
    """The commits after a cursor that ``fits`` the rows, which begin with its own row; without a cursor, all of them.
    Also the checksum that the next line is chained to."""
    count, last_sum = cursor or (0, GENESIS)
    if not rows:
        return Tail([], [0, GENESIS], 0, ids.ZERO, cursor is None, ()), GENESIS
    head = head_of(rows, before)
    if count and len(rows) == 1:
        return Tail([], [count, last_sum], count, head, False, ()), last_sum
    version, _, last = rows[-1]
    lines, faults = checked(stream, rows[1:] if count else rows, count, last_sum)
    previous = sum_of(last) if looks_right(last) else GENESIS
    return Tail(lines, [version, previous], version, head, cursor is None, faults), previous


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
            continue
        previous = sound or sum_of(line)
        if is_too_late(id_of(line)):
            faults.append(damaged(stream, number, ids.TOO_LATE))
        else:
            lines.append(line)
    return lines, tuple(faults)


def _missing(stream: str, first: int, last: int) -> Fault:
    from holdfast.store.faults import MISSING_ROWS

    return Fault(MISSING_ROWS, stream, row(stream, first), {"last": last})


def damaged(stream: str, seq: int, problem: str) -> Fault:
    """The fault for a row whose line cannot be read."""
    from holdfast.store.faults import DAMAGED_LINE

    return Fault(DAMAGED_LINE, stream, row(stream, seq), {"problem": problem, "used": False})


def head_of(rows: list[Row], before: Before) -> str:
    """The id that the next commit goes on after: that of the last row, or of the last one before it that has an id to
    go on after. From its line, or from the column if the line is damaged."""
    while rows:
        for _, commit_id, line in reversed(rows):
            found = id_of(line) if looks_right(line) else commit_id
            if ids.is_commit_id(found) and not is_too_late(found):
                return found
        rows = before(rows[0][0] - 1)
    return ids.ZERO


def is_too_late(commit_id: str) -> bool:
    """Whether no clock can be the reason for an id: the commit is left out."""
    return commit_id >= ids.SURELY_PAST and ids.is_too_late(commit_id, time.time() * 1000)


def is_text(op: str) -> bool:
    """Whether an operation id can have been stored: a lone surrogate cannot be encoded."""
    try:
        return op.isascii() or bool(op.encode())
    except UnicodeEncodeError:
        return False


def row(stream: str, seq: int) -> str:
    """How messages name the row of a commit."""
    return f"table commits, stream {stream}, row {seq}"
