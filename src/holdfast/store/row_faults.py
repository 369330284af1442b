"""Checking the rows of one stream: their numbers, their lines, and the columns that repeat a part of the line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from holdfast.core import ids, validation
from holdfast.core.codec import GENESIS, fault_of, id_of, sum_of
from holdfast.errors import HoldfastError
from holdfast.store import faults
from holdfast.store.protocol import Fault
from holdfast.store.rows import damaged, is_too_late, row
from holdfast.typed import Any


def row_faults(
    stream: str, commits: Iterable[tuple[int, str, Any, bytes]], is_op: Callable[[str | None, Any], bool]
) -> Iterator[Fault]:
    """Everything that is wrong with rows of position, id, op and line; ``is_op`` compares an operation id with what the
    column has for it."""
    expected, head = 1, ""
    sound: str | None = GENESIS
    for seq, commit_id, op, line in commits:
        if seq != expected:
            yield Fault(faults.MISSING_ROWS, stream, row(stream, expected), {"last": seq - 1})
            sound = None
        expected = seq + 1
        try:
            what = fault_of(line, sound)
        except HoldfastError as error:  # of a newer release
            what = error.message
        sound = None if what else sum_of(line)
        if what:
            yield damaged(stream, seq, what)
            continue
        if is_too_late(id_of(line)):
            yield damaged(stream, seq, ids.TOO_LATE)
            continue
        if id_of(line) <= head:
            yield Fault(faults.UNORDERED_ID, stream, row(stream, seq))
        head = id_of(line)
        try:
            commit = validation.commit_in(line)
        except HoldfastError as error:
            yield Fault(faults.MALFORMED_COMMIT, stream, row(stream, seq), {"problem": error.message})
            continue
        if commit_id != head or not is_op(commit.op, op):
            yield Fault(faults.WRONG_COLUMNS, stream, row(stream, seq))
