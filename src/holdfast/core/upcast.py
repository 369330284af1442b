"""Upcasting: events of earlier releases are lifted to the current version, step by step.

A concept that changes the data of an event increments the event's version and adds a function from the old version
to the new one. The log is never rewritten.
"""

from __future__ import annotations

from holdfast.core.codec import Event
from holdfast.core.concepts import Meaning
from holdfast.errors import Newer
from holdfast.typed import Any


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
