"""The concepts, one file each: its events, its part of the state and how events change it, its rules.

A concept is a module with

* ``EVENTS``: event type to present version;
* ``STEPS``: (event type, version) to a function that lifts the data of that version to the next one;
* ``blank()``: its part of an empty state;
* ``FOLDS``: event type to a function ``(state, data, commit)`` that changes the state;
* ``HEADLINES``: event type to a function that says the event in one line;
* rules: functions that take the state and what the user wants, and return events or raise ``Refused``.

To add a concept is to add a file here and name it in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from holdfast.core.commit import Commit
from holdfast.core.concepts import decision, note, own, phase, session

Fold = Callable[[dict[str, Any], dict[str, Any], Commit], None]
Headline = Callable[[dict[str, Any]], str]
Step = Callable[[dict[str, Any]], dict[str, Any]]


class Concept(Protocol):
    """What a concept's module has."""

    @property
    def EVENTS(self) -> Mapping[str, int]: ...  # noqa: N802 - the name of a module's constant

    @property
    def STEPS(self) -> Mapping[tuple[str, int], Step]: ...  # noqa: N802

    @property
    def FOLDS(self) -> Mapping[str, Fold]: ...  # noqa: N802

    @property
    def HEADLINES(self) -> Mapping[str, Headline]: ...  # noqa: N802

    def blank(self) -> dict[str, Any]: ...


KINDS: dict[str, tuple[Concept, ...]] = {
    "session": (session, phase, decision, note, own),
    "project": (decision, note, own),
    "user": (note, own),
}

VERSIONS: dict[str, int] = {}
STEPS: dict[tuple[str, int], Step] = {}
_FOLDS: dict[str, dict[str, Fold]] = {}
_HEADLINES: dict[str, dict[str, Headline]] = {}

for _kind, _concepts in KINDS.items():
    _FOLDS[_kind] = {}
    _HEADLINES[_kind] = {}
    for _concept in _concepts:
        VERSIONS.update(_concept.EVENTS)
        STEPS.update(_concept.STEPS)
        _FOLDS[_kind].update(_concept.FOLDS)
        _HEADLINES[_kind].update(_concept.HEADLINES)


def of(kind: str) -> tuple[Concept, ...]:
    """The concepts of a kind of stream."""
    return KINDS[kind]


def folds(kind: str) -> dict[str, Fold]:
    return _FOLDS[kind]


def headlines(kind: str) -> dict[str, Headline]:
    return _HEADLINES[kind]
