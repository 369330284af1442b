"""The concepts, one file each: events, part of the state, folds and rules.

A concept is a module with

* ``EVENTS``: event type to current version;
* ``STEPS``: (event type, version) to a function that lifts the data of that version to the next one;
* ``blank()``: its part of an empty state;
* ``FOLDS``: event type to a function ``(state, data, commit)`` that changes the state;
* ``WATCHES`` (if it is named in ``WATCHED``): event types of other concepts to a function like those in ``FOLDS``;
* ``HEADLINES``: event type to a function that summarises the event in one line;
* rules: functions that take the state and a request, and return events or raise ``Refused``.

To add a concept, add a file here and name it in ``KINDS`` and its nouns in ``NOUNS``. A concept is imported when one
of its events or rules is first needed, so that a command does not pay for concepts it does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from holdfast.typed import TYPE_CHECKING, Any, Protocol, Record

if TYPE_CHECKING:
    from holdfast.core.codec import Commit
    from holdfast.core.concepts import (
        backlog,
        batch,
        blocker,
        budget,
        capture,
        checkpoint,
        compaction,
        control,
        decision,
        discussion,
        error,
        fact,
        git_commits,
        handoff,
        imports,
        legal,
        loop,
        message,
        next_action,
        note,
        order,
        own,
        phase,
        plan,
        preference,
        reference,
        risk,
        secret,
        session,
        task,
    )

__all__ = [
    "backlog",
    "batch",
    "blocker",
    "budget",
    "capture",
    "checkpoint",
    "compaction",
    "control",
    "decision",
    "discussion",
    "error",
    "fact",
    "git_commits",
    "handoff",
    "imports",
    "legal",
    "loop",
    "message",
    "next_action",
    "note",
    "order",
    "own",
    "phase",
    "plan",
    "preference",
    "reference",
    "risk",
    "secret",
    "session",
    "task",
]

KINDS: dict[str, tuple[str, ...]] = {
    "session": (
        "session",
        "phase",
        "task",
        "plan",
        "decision",
        "loop",
        "risk",
        "blocker",
        "next_action",
        "error",
        "legal",
        "compaction",
        "checkpoint",
        "discussion",
        "handoff",
        "note",
        "batch",
        "imports",
        "own",
        "budget",
        "message",
        "reference",
        "capture",
        "git_commits",
        "secret",
    ),
    "project": ("decision", "note", "own", "backlog", "control", "fact", "order", "imports", "secret"),
    "user": ("note", "own", "preference", "secret"),
}
"""The concepts of each kind of stream, in the order of their parts in the state."""

NOUNS = {
    "backlog": "backlog",
    "batch": "batch",
    "blocker": "blocker",
    "budget": "budget",
    "capture": "capture",
    "checkpoint": "checkpoint",
    "context": "compaction",
    "control": "control",
    "decision": "decision",
    "discussion": "discussion",
    "error": "error",
    "fact": "fact",
    "focus": "session",
    "git": "git_commits",
    "goal": "session",
    "handoff": "handoff",
    "import": "imports",
    "legal": "legal",
    "loop": "loop",
    "message": "message",
    "messages": "message",
    "next": "next_action",
    "note": "note",
    "order": "order",
    "phase": "phase",
    "phases": "phase",
    "plan": "plan",
    "preference": "preference",
    "reference": "reference",
    "risk": "risk",
    "secret": "secret",
    "session": "session",
    "status": "session",
    "task": "task",
    "x": "own",
}
"""The concept of each event, by the noun in its type."""

WATCHED = {
    "decision.settled": "handoff",
    "task.completed": "handoff",
    "checkpoint.saved": "handoff",
}
"""Events that another concept watches: its function in ``WATCHES`` runs after the event's own fold."""

Fold = Callable[[dict[str, Any], dict[str, Any], "Commit"], None]
Headline = Callable[[dict[str, Any]], str]
Step = Callable[[dict[str, Any]], dict[str, Any]]


class Concept(Protocol):
    """The interface of a concept's module."""

    @property
    def EVENTS(self) -> Mapping[str, int]: ...  # noqa: N802 - the name of a module's constant

    @property
    def STEPS(self) -> Mapping[tuple[str, int], Step]: ...  # noqa: N802

    @property
    def FOLDS(self) -> Mapping[str, Fold]: ...  # noqa: N802

    @property
    def HEADLINES(self) -> Mapping[str, Headline]: ...  # noqa: N802

    def blank(self) -> dict[str, Any]: ...


class Meaning(Record):
    """What an event type means to this release."""

    fold: Fold
    headline: Headline | None
    version: int | None
    """The current version of its data; None for a program's own events, which have no version here."""
    steps: Mapping[tuple[str, int], Step]
    watch: Fold | None = None
    """The fold of a watching concept; runs after the event's own."""


_meanings: dict[tuple[str, str], Meaning | None] = {}


def load(name: str) -> Concept:
    """The concept of that name."""
    concept: Any = import_module(f"holdfast.core.concepts.{name}")
    loaded: Concept = concept
    return loaded


def __getattr__(name: str) -> Concept:
    """``concepts.decision`` loads the concept on first use."""
    if name not in __all__:
        raise AttributeError(f"there is no concept {name!r}")
    return load(name)


def blank(kind: str) -> dict[str, Any]:
    """The parts of all concepts in an empty state."""
    parts: dict[str, Any] = {}
    for name in KINDS[kind]:
        parts.update(load(name).blank())
    return parts


def meaning(kind: str, event_type: str) -> Meaning | None:
    """What an event means in a kind of stream; None if this release does not know it there."""
    key = kind, event_type
    if key not in _meanings:
        _meanings[key] = _look_up(kind, event_type)
    return _meanings[key]


def _look_up(kind: str, event_type: str) -> Meaning | None:
    noun = event_type.partition(".")[0]
    name = NOUNS.get(noun)
    if name is None or name not in KINDS[kind]:
        return None
    concept = load(name)
    fold = concept.FOLDS.get("x." if noun == "x" else event_type)
    if fold is None:
        return None
    watcher = WATCHED.get(event_type)
    watch = vars(load(watcher))["WATCHES"][event_type] if watcher in KINDS[kind] else None
    return Meaning(
        fold, concept.HEADLINES.get(event_type), concept.EVENTS.get(event_type), concept.STEPS, watch
    )
