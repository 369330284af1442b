"""The table of concepts agrees with the concepts."""

from __future__ import annotations

import pytest

from holdfast.core import concepts, fold, upcast
from holdfast.core.codec import Commit, Event
from holdfast.errors import Newer

NAMES = sorted({name for names in concepts.KINDS.values() for name in names})


def commit(*events: Event, number: int = 1) -> Commit:
    return Commit(f"{number:016x}-aaaaaaaa", "2026-01-21T14:30:00.000Z", "me", "agent", None, events, "")


@pytest.mark.parametrize("name", NAMES)
def test_every_event_leads_to_its_concept(name: str) -> None:
    """The noun of an event names its concept, and each event has a fold."""
    concept = concepts.load(name)
    for event_type in concept.EVENTS:
        assert concepts.NOUNS[event_type.partition(".")[0]] == name
        assert event_type in concept.FOLDS
    assert name in concepts.__all__


@pytest.mark.parametrize("kind", concepts.KINDS)
def test_parts_of_the_state_do_not_overlap(kind: str) -> None:
    """No two concepts of a stream own the same part of its state."""
    names = [part for name in concepts.KINDS[kind] for part in concepts.load(name).blank()]
    assert len(names) == len(set(names))
    assert not set(names) & {
        "kind",
        "starter",
        "commits",
        "head",
        "numbers",
        "registers",
        "recent",
        "unknown",
    }


def test_unknown_events_are_skipped_and_counted() -> None:
    """An event of a later release changes nothing but its count, and the counts are bounded."""
    state = fold.fold(fold.blank("session"), [commit(Event("galaxy.opened", {"id": "G-1"}, 7))])
    assert state["unknown"] == {"galaxy.opened": 1}
    many = [commit(Event(f"n{n}.done", {}), number=n + 1) for n in range(500)]
    assert len(fold.fold(state, many)["unknown"]) <= fold.MAX_UNKNOWN + 1


def test_a_newer_version_of_a_known_event_is_refused() -> None:
    """Interpreting data of a later release could show a wrong state: it is refused by name."""
    with pytest.raises(Newer, match=r"note\.added has version 9"):
        fold.fold(fold.blank("session"), [commit(Event("note.added", {"text": "x"}, 9))])


def test_upcasting_goes_step_by_step() -> None:
    """Data of an old version passes through every version in between."""
    steps = {("t.e", 1): lambda d: {**d, "b": d["a"] + 1}, ("t.e", 2): lambda d: {"c": d["b"] * 10}}
    meaning = concepts.Meaning(lambda *_: None, None, 3, steps)
    assert upcast.to_current(Event("t.e", {"a": 1}, 1), meaning) == {"c": 20}
    assert upcast.to_current(Event("t.e", {"b": 5}, 2), meaning) == {"c": 50}
    assert upcast.to_current(Event("t.e", {"c": 5}, 3), meaning) == {"c": 5}
