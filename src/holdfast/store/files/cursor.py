"""How far a stream was read: a mark in each of its segments, and what was found damaged or lost on the way."""

from __future__ import annotations

from holdfast.store.files.segments import Mark
from holdfast.typed import Any, Record

Problem = tuple[str, str, bool]
"""A damaged line: segment and line number, what is wrong, and whether its commit is used anyway."""


Loss = tuple[str, int, str]
"""Commits that were read once and are gone: their segment, how many, and the id of the last one."""


class Cursor(Record):
    """How far a stream was read. A value: cursors at the same position are equal, no matter where they come from."""

    marks: dict[str, Mark]
    """How far each segment was read."""
    version: int
    head: str
    problems: tuple[Problem, ...]
    """The last damaged lines before it."""
    lost: tuple[Loss, ...] = ()
    """Segments that were cut or overwritten in place. A checkout hides whole segments and is no loss."""


def cursor_of(value: Any) -> Cursor | None:
    """The cursor in a value that may have been through JSON; None if it is not one of this engine's."""
    if type(value) is Cursor:
        return value
    try:
        marks, version, head, problems, lost = value
        typed = {name: Mark(*mark) for name, mark in marks.items()}
        if type(version) is not int or type(head) is not str:
            return None
        return Cursor(
            typed,
            version,
            head,
            tuple((str(where), str(what), bool(used)) for where, what, used in problems),
            tuple((str(name), int(count), str(last)) for name, count, last in lost),
        )
    except (TypeError, ValueError, AttributeError):
        return None
