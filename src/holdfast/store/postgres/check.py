"""Checking a PostgreSQL store: every line of every stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.core.codec import decode
from holdfast.core.stream import checked_stream
from holdfast.errors import HoldfastError
from holdfast.store import faults
from holdfast.store.postgres.statements import Statements, hashed
from holdfast.store.protocol import Fault
from holdfast.store.row_faults import row_faults
from holdfast.store.rows import row
from holdfast.typed import Any

Run = Callable[..., list[Any]]
_PAGE = 500


def faults_of(run: Run, sql: Statements, label: str) -> list[Fault]:
    """Everything that is wrong, with table and row."""
    found: list[Fault] = []
    try:
        for name, number in run(sql.names):
            try:
                checked_stream(name)
            except HoldfastError as error:
                where = f"table streams, name {name}"
                found.append(Fault(faults.INVALID_STREAM, name, where, {"problem": error.message}))
            found.extend(row_faults(name, _commits(run, sql, number), is_op))
    except HoldfastError as error:
        found.append(Fault(faults.DAMAGED_DATABASE, "", label, {"problem": error.message}))
    return found


def repaired(run: Run, sql: Statements, found: list[Fault]) -> list[Fault]:
    """The faults that remain after resetting the id and op columns from their lines."""
    wrong = {fault.where for fault in found if fault.kind == faults.WRONG_COLUMNS}
    for name, number in run(sql.names):
        for seq, _, _, line in _commits(run, sql, number):
            if row(name, seq) in wrong:
                commit = decode(line)
                run(sql.reset, number, seq, commit.id, hashed(commit.op))
    return [
        fault._replace(harmless=True, done=faults.REWRITTEN) if fault.kind == faults.WRONG_COLUMNS else fault
        for fault in found
    ]


def is_op(op: str | None, stored: Any) -> bool:
    return bool(hashed(op) == stored)


def _commits(run: Run, sql: Statements, number: int) -> Iterator[tuple[int, str, bytes | None, bytes]]:
    seq = 0
    while page := run(sql.page, number, seq, _PAGE):
        for found in page:
            seq = found[0]
            yield found
