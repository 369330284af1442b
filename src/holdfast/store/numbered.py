"""Shared by engines that number a stream's commits: their cursor, and their errors for misuse.

Such a cursor is ``[commits read, checksum of the last one]``. The checksum makes it safe to store: a cursor of
another store, or of a stream that was removed and started again, is invalid and causes a full read.
"""

from __future__ import annotations

from holdfast.core.stream import flat
from holdfast.errors import Conflict, Refused, Unavailable, Usage
from holdfast.typed import Any


def place_of(cursor: Any) -> tuple[int, str] | None:
    """The commits read and the last checksum in a cursor; None if it is not such a cursor."""
    if isinstance(cursor, (list, tuple)) and len(cursor) == 2:
        count, last_sum = cursor
        if type(count) is int and 0 <= count < 1 << 62 and isinstance(last_sum, str):
            return count, last_sum
    return None


def check_expected(stream: str, expect: int | None, version: int) -> None:
    if expect is not None and expect != version:
        raise Conflict(f"{stream} is at version {version}, not {expect}; nothing was written.")


def check_unchanged(stream: str, expect: int | None, version: int) -> None:
    """Before a stream is removed: whoever wrote to it meanwhile keeps it."""
    if expect is not None and expect != version:
        raise Conflict(f"{stream} is at version {version}, not {expect}; nothing was removed.")


def check_op(drafted: str | None, asked: str | None) -> None:
    """Reject a draft whose operation id differs from the one looked up: its commit could be written twice."""
    if drafted != asked:
        raise Usage("The plan's draft has another operation id than the append; nothing was written.")


def is_local_note_of(stream: str, name: str) -> bool:
    """Whether the file is a cache of this stream, such as its snapshot."""
    return name.startswith("local/") and name.endswith("/" + flat(stream))


def closed() -> Unavailable:
    return Unavailable("The store is closed.", hint="Open it again; a closed store cannot be used.")


def plan_wrote() -> Refused:
    return Refused("A plan may read the store, but not write to it; nothing was written.")
