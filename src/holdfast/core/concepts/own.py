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
MAX_TYPES = 100

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


def record(event_type: str, data: Mapping[str, object]) -> list[Event]:
    """Record a program's own event."""
    if not isinstance(event_type, str) or not _is_own(event_type):
        raise Refused(
            f"{str(event_type)[:80]!r} is not a type for a program's own events; nothing was written.",
            hint="Such types begin with x. and go on in a-z, 0-9, '.', '_' and '-': x.build-finished.",
        )
    if not isinstance(data, Mapping):
        raise Refused(f"The data of {event_type} must be a JSON object; nothing was written.")
    return [new_record(Event, (event_type, data if isinstance(data, dict) else dict(data), 1))]


@lru_cache(maxsize=256)  # a program uses few types, again and again
def _is_own(event_type: str) -> bool:
    name = event_type[2:]
    return (
        event_type.startswith("x.") and 0 < len(name) <= 63 and name[0] not in "._-" and only(name, _LETTERS)
    )
