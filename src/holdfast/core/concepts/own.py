"""A program's own events: types that begin with ``x.``. holdfast keeps them and counts them, no more.

A program folds them itself, with ``Session.project``.
"""

from __future__ import annotations

from holdfast.core.commit import MAX_DEPTH, Commit, Event
from holdfast.core.ids import only
from holdfast.errors import Refused, TooLarge
from holdfast.typed import Any

EVENTS: dict[str, int] = {}
STEPS: dict[Any, Any] = {}
MAX_TYPES = 100

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789._-"
_NESTED = (dict, list, tuple)


def blank() -> dict[str, Any]:
    return {"own": 0}


def _recorded(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["own"] += 1


FOLDS = {"x.": _recorded}
HEADLINES: dict[str, Any] = {}


def record(event_type: str, data: dict[str, Any]) -> list[Event]:
    """Keep an event of the program's own."""
    if not isinstance(event_type, str) or not _is_own(event_type):
        raise Refused(
            f"{str(event_type)[:80]!r} is not a type of a program's own; nothing was written.",
            hint="Such types begin with x. and go on in a-z, 0-9, '.', '_' and '-': x.build-finished.",
        )
    if not isinstance(data, dict):
        raise Refused(f"The data of {event_type} must be a JSON object; nothing was written.")
    if any(isinstance(value, _NESTED) for value in data.values()) and _depth(data) > MAX_DEPTH:
        raise TooLarge(
            f"The data of {event_type} is nested deeper than {MAX_DEPTH} levels; nothing was written.",
            hint="Save it as a file, and record the file's name.",
        )
    return [Event(event_type, data)]


def _is_own(event_type: str) -> bool:
    name = event_type[2:]
    return (
        event_type.startswith("x.") and 0 < len(name) <= 63 and name[0] not in "._-" and only(name, _LETTERS)
    )


def _depth(value: object) -> int:
    """How many levels of lists and objects there are; stops counting just above the limit."""
    level: list[object] = [value]
    depth = 0
    while level and depth <= MAX_DEPTH:
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, (list, tuple)):
                inner.extend(item)
        if not any(isinstance(item, (dict, list, tuple)) for item in level):
            return depth
        depth += 1
        level = inner
    return depth
