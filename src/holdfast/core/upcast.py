"""Events of earlier releases, brought to the present version step by step.

A concept that changes the data of an event raises the event's version and adds one function from each version
to the next. The log is never rewritten.
"""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.core.commit import Event
from holdfast.errors import Newer


def to_current(event: Event) -> Event:
    """The event at the version that this release knows; unknown types pass through as they are."""
    current = concepts.VERSIONS.get(event.type, event.v)
    if event.v > current:
        raise Newer(
            f"An event {event.type} has version {event.v}; this release of holdfast knows up to {current}."
        )
    while event.v < current:
        step = concepts.STEPS[event.type, event.v]
        event = Event(event.type, step(event.data), event.v + 1)
    return event
