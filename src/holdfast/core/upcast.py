"""Upcasting: events of earlier releases are lifted to the current version, step by step.

A concept that changes the data of an event increments the event's version and adds a function from the old version
to the new one. The log is never rewritten. A program does the same with its own events (``Upcasters``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from holdfast.core import concepts
from holdfast.core.codec import Event
from holdfast.core.concepts import Meaning
from holdfast.errors import Newer, Usage
from holdfast.typed import Any

Lift = Callable[[dict[str, Any]], Mapping[str, object]]
"""From the data of one version to that of the next."""


def to_current(event: Event, meaning: Meaning) -> dict[str, Any]:
    """The data of an event in the version that this release knows."""
    if meaning.version is None or event.v == meaning.version:
        return event.data
    if event.v > meaning.version:
        raise Newer(
            f"An event {event.type} has version {event.v}; this release of holdfast supports up to {meaning.version}."
        )
    data, version = event.data, event.v
    while version < meaning.version:
        data = meaning.steps[event.type, version](data)
        version += 1
    return data


class Upcasters:
    """The versions of a program's own events, and how old ones are lifted."""

    __slots__ = ("_lifts", "versions")

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        """The current version of each type that has upcasters; any other type has version 1."""
        self._lifts: dict[tuple[str, int], Lift] = {}

    def add(self, event_type: str, version: int, lift: Lift) -> None:
        """Register the step from ``version`` to the next one."""
        if not concepts.own.is_type(event_type):
            raise Usage(
                f"{str(event_type)[:80]!r} is not a type for a program's own events.", hint=concepts.own.TYPES
            )
        if not callable(lift):
            raise Usage(f"The upcaster of {event_type} from version {version} is not a function.")
        current = self.versions.get(event_type, 1)
        if type(version) is not int or not 1 <= version <= current:
            raise Usage(
                f"{event_type} has version {current}: an upcaster from version {version!r} has no predecessor.",
                hint=f"Register those from version {current} on, in order.",
            )
        if self._lifts.setdefault((event_type, version), lift) is not lift:
            raise Usage(f"{event_type} already has an upcaster from version {version}.")
        self.versions[event_type] = max(current, version + 1)

    def to_current(self, event: Event) -> Event:
        """An own event in the version that the program knows. What an upcaster raises gets a note that says where."""
        kind, data, version = event
        current = self.versions.get(kind)
        if current is None or version == current:
            return event
        if version > current:
            raise Newer(
                f"An event {kind} has version {version}; this program has upcasters up to version {current}.",
                hint="A newer release of the program wrote it: use that one.",
            )
        for step in range(version, current):
            try:
                found: object = self._lifts[kind, step](data)
            except Exception as error:
                error.add_note(f"raised by the upcaster of {kind} from version {step}")
                raise
            if not isinstance(found, Mapping):
                raise Usage(
                    f"The upcaster of {kind} from version {step} returned {type(found).__name__}, not an object.",
                    hint="It must return the data of the next version as a dict.",
                )
            data = dict(found)
        return Event(kind, data, current)
