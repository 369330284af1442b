"""Every event as a sentence: each type has one, and no data makes it fail."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.views.example import mid_task, started

from holdfast.core import concepts
from holdfast.views.sentences import TEMPLATES, change, sentence

TYPES = sorted(
    {kind for names in concepts.KINDS.values() for name in names for kind in concepts.load(name).EVENTS}
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted(
    {field for text in TEMPLATES.values() for _, field, _, _ in string.Formatter().parse(text) if field}
)


@pytest.mark.parametrize("event_type", TYPES)
def test_every_event_has_a_sentence_of_its_own(event_type: str) -> None:
    """No event of any concept falls back to the generic sentence of a program's own events."""
    said = sentence(event_type, {"id": "D-1"})
    assert not said.startswith("recorded ") or event_type == "legal.reviewed"
    assert event_type not in said


def test_there_is_no_sentence_without_an_event() -> None:
    """A template of a type that no concept has would never be shown."""
    assert set(TEMPLATES) <= set(TYPES)


@pytest.mark.parametrize("event_type", [*TYPES, "x.build", "later.invented"])
@given(
    data=st.dictionaries(st.sampled_from([*FIELDS, "items", "hashes", "found", "set", "ok", "commits"]), JSON)
)
def test_no_data_makes_a_sentence_fail(event_type: str, data: dict[str, Any]) -> None:
    """A log can come from anywhere: fields may be missing or of any type, and the sentence is one line."""
    said = sentence(event_type, data)
    assert said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("event_type", "data"),
    [
        ("backlog.edited", {"set": {"a\nb": 1}}),
        ("git.committed", {"commits": 5}),
        ("secret.allowed", {"found": 5}),
        ("budget.measured", {"used": 0, "window": 0}),
    ],
)
def test_odd_data_makes_one_line(event_type: str, data: dict[str, Any]) -> None:
    """Names of fields with line breaks, numbers where a list belongs, a context that is new."""
    said = sentence(event_type, data)
    assert said
    assert "\n" not in said


def test_sentences_of_a_session() -> None:
    """The words of a real log: the field is there, with its text, and an optional part only if it has content."""
    said = [sentence(e.type, e.data) for c in mid_task().stored_commits() for e in c.events]
    assert "decided D-1: Keep one ledger because two would drift; announced: drop ledger_b" in said
    assert "settled D-1: dropped, 214 rows moved" in said
    assert "added T-2: Wire the budget (after T-1)" in said
    assert "closed LOOP-003: a stale index" in said
    assert "started the session: Ship the billing rewrite" in said
    assert not [
        line
        for line in said
        if re.search(r"[\[\]{}?]", line.replace("types?", "").replace("fail?", "").replace("go?", ""))
    ]


def test_text_with_braces_and_brackets_is_unchanged() -> None:
    """What looks like a field of the template is text."""
    assert sentence("note.added", {"text": "a {id} [b] {text}", "id": "X"}) == "noted: a {id} [b] {text}"


def test_a_failed_decision_and_a_program_s_own_event() -> None:
    """A failure is said; an own event is shown with its data."""
    assert (
        sentence("decision.settled", {"id": "D-1", "outcome": "no", "ok": False})
        == "settled D-1 as failed: no"
    )
    assert sentence("x.build", {"ok": True, "saw": []}) == 'recorded x.build: {"ok": true}'
    assert sentence("x.empty", {}) == "recorded x.empty"


def test_changes_in_sentences() -> None:
    """Set, changed, added, closed: each is one sentence that names what changed."""
    session = started(phases=["plan", "build"])
    session.decide("Use WAL", because="8 writers", action="turn it on")
    session.decide("JSON", because="diff")
    session.add_task("Migrate")
    before = session.version
    session.settle("D-1", "on")
    session.enter_phase("build")
    session.add_risk("rain")
    session.set_focus("the store")
    said = [change(found) for found in session.differences(before, session.version)]
    assert "Decision D-1 (Use WAL) was settled: on" in said
    assert "Phase went from plan to build" in said
    assert "Risk R-1 was added: rain" in said
    assert "Focus is now: the store" in said
    assert [line for line in map(change, session.differences(1, before)) if "D-2" in line] == [
        "Decision D-2 was added: JSON"
    ]
