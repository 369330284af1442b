"""Checking a SQLite database: its pages, its references, and every line of every stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.core.codec import decode
from holdfast.core.stream import checked_stream
from holdfast.errors import HoldfastError
from holdfast.store import faults
from holdfast.store.protocol import Fault
from holdfast.store.row_faults import row_faults
from holdfast.store.rows import row
from holdfast.typed import Any

FILE = "the database file"

Rows = Callable[..., list[Any]]
_PAGE = 500
_NEXT = "SELECT seq, id, op, line FROM commits WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?"


def faults_of(rows: Rows) -> list[Fault]:
    """Everything that is wrong, with table and row."""
    found = []
    try:
        for (text,) in rows("PRAGMA quick_check"):
            if text != "ok":
                found.append(Fault(faults.DAMAGED_DATABASE, "", FILE, {"problem": text}))
        for table, number, parent, _ in rows("PRAGMA foreign_key_check"):
            where = f"table {table}, row {number}"
            found.append(Fault(faults.DANGLING_ROW, "", where, {"parent": parent}))
        for number, stream in rows("SELECT number, name FROM streams ORDER BY name"):
            found.extend(faults.bounded(_stream_faults(rows, number, stream)))
    except HoldfastError as error:
        found.append(Fault(faults.DAMAGED_DATABASE, "", FILE, {"problem": error.message}))
    return found


def repaired(rows: Rows, found: list[Fault]) -> list[Fault]:
    """The faults that remain after resetting the id and op columns from their lines."""
    inconsistent = {fault.where: fault for fault in found if fault.kind == faults.WRONG_COLUMNS}
    for number, stream in rows("SELECT number, name FROM streams ORDER BY name"):
        for seq, _, _, line in _commits(rows, number):
            if row(stream, seq) in inconsistent:
                commit = decode(line)
                rows(
                    "UPDATE OR IGNORE commits SET id = ?, op = ? WHERE stream = ? AND seq = ?",
                    (commit.id, commit.op, number, seq),
                )
    return [
        fault._replace(harmless=True, done=faults.REWRITTEN) if fault.kind == faults.WRONG_COLUMNS else fault
        for fault in found
    ]


def _stream_faults(rows: Rows, number: int, stream: str) -> Iterator[Fault]:
    if type(stream) is not str:
        where = f"table streams, row {number}"
        yield Fault(faults.INVALID_STREAM, "", where, {"problem": "its name is not text"})
        return
    try:
        checked_stream(stream)
    except HoldfastError as error:
        where = f"table streams, row {number}"
        yield Fault(faults.INVALID_STREAM, stream, where, {"problem": error.message})
    yield from row_faults(stream, _commits(rows, number), lambda op, stored: op == stored)


def _commits(rows: Rows, number: int) -> Iterator[tuple[int, str, str | None, bytes]]:
    seq = 0
    while page := rows(_NEXT, (number, seq, _PAGE)):
        for seq, commit_id, op, line in page:
            yield seq, commit_id, op, line if type(line) is bytes else b""
