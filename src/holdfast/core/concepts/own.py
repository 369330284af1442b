"""A program's own events: types that begin with ``x.``. holdfast only stores and counts them.

A program folds them itself, with ``Session.project``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from holdfast.core.codec import Commit, Event
from holdfast.core.ids import only
from holdfast.errors import Refused
from holdfast.typed import Any, new_record

EVENTS: dict[str, int] = {}
STEPS: dict[Any, Any] = {}
TYPES = "Such types begin with x. and go on in a-z, 0-9, '.', '_' and '-': x.build-finished."

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789._-"


def blank() -> dict[str, Any]:
    return {"own": 0}


def _recorded(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["own"] += 1


FOLDS = {"x.": _recorded}
HEADLINES: dict[str, Any] = {}


def is_all_own(line: bytes) -> bool:
    """Whether the commit in a line has only a program's own events, found without parsing it; False if in doubt."""
    count = line.count(b'"type"')
    return count > 0 and line.count(b'"type":"x.') == count


def record(event_type: str, data: Mapping[str, object], versions: Mapping[str, int]) -> list[Event]:
    """Record a program's own event, in its current version."""
    if not is_type(event_type):
        raise Refused(
            f"{str(event_type)[:80]!r} is not a type for a program's own events; nothing was written.",
            hint=TYPES,
        )
    if not isinstance(data, Mapping):
        raise Refused(f"The data of {event_type} must be a JSON object; nothing was written.")
    taken = data if isinstance(data, dict) else dict(data)
    return [new_record(Event, (event_type, taken, versions.get(event_type, 1)))]


def is_type(event_type: object) -> bool:
    """Whether this is a type for a program's own events."""
    return isinstance(event_type, str) and _is_own(event_type)


@lru_cache(maxsize=256)  # a program uses few types, again and again
def _is_own(event_type: str) -> bool:
    name = event_type[2:]
    return (
        event_type.startswith("x.") and 0 < len(name) <= 63 and name[0] not in "._-" and only(name, _LETTERS)
    )
