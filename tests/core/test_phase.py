"""Phases and their transitions."""

from __future__ import annotations

import pytest

from holdfast.core import contested
from holdfast.core.concepts import phase
from holdfast.edge.cli import hints
from holdfast.errors import Refused
from holdfast.testing.strategies import Replica, World

TRANSITIONS = {"design": ["build"], "build": ["review"], "review": ["build", "done"]}
NAMES = ["design", "build", "review", "done"]


def current(session: Replica) -> object:
    return contested.value(session.state["registers"], "phase")


def test_declaring_enters_the_first_phase(session: Replica) -> None:
    """The first phase and its history start with the declaration."""
    session.declare_phases(NAMES)
    assert current(session) == "design"
    (entry,) = session.state["phases"]["history"]
    assert (entry["phase"], entry["exited"], entry["because"]) == ("design", None, None)


def test_without_transitions_the_next_and_all_earlier_phases_are_allowed(session: Replica) -> None:
    """Without transitions the declared order is the rule."""
    session.declare_phases(NAMES)
    session.enter_phase("build")
    assert phase.allowed(session.state) == ["design", "review"]
    with pytest.raises(Refused, match="Allowed now: design, review"):
        session.enter_phase("done")


def test_transitions_are_the_rule_and_a_refusal_lists_them(session: Replica) -> None:
    """Only phases listed in the transitions can be entered; the refusal lists them and changes nothing."""
    session.declare_phases(NAMES, transitions=TRANSITIONS)
    session.enter_phase("build")
    with pytest.raises(Refused, match="Allowed now: review"):
        session.enter_phase("design")
    session.enter_phase("review")
    assert phase.allowed(session.state) == ["build", "done"]
    assert len(session.commits) == 4


def test_a_transition_to_an_unknown_phase_is_refused(session: Replica) -> None:
    """Transitions name declared phases only."""
    with pytest.raises(Refused, match="ship"):
        session.declare_phases(NAMES, transitions={"build": ["ship"]})


def test_complete_phase_goes_to_the_next(session: Replica) -> None:
    """The next declared phase follows; after the last one the session is to be completed."""
    session.declare_phases(["look", "fix"])
    session.complete_phase()
    assert current(session) == "fix"
    with pytest.raises(Refused) as refused:
        session.complete_phase()
    assert "holdfast complete" in hints.text(refused.value.hint)


def test_complete_phase_follows_the_only_transition(session: Replica) -> None:
    """A single transition is followed; with several, one must be chosen."""
    session.declare_phases(["a", "b", "c"], transitions={"a": ["c"], "c": ["a", "b"], "b": ["a", "c"]})
    session.complete_phase()
    assert current(session) == "c"
    with pytest.raises(Refused) as refused:
        session.complete_phase()
    assert "a, b" in hints.text(refused.value.hint)


def test_skip_to_jumps_with_a_reason(session: Replica) -> None:
    """A jump that the transitions forbid is possible with a reason, which the history keeps."""
    session.declare_phases(NAMES, transitions=TRANSITIONS)
    session.skip_to_phase("done", "another team built it")
    first, second = session.state["phases"]["history"]
    assert first["exited"] == second["entered"]
    assert (second["phase"], second["because"]) == ("done", "another team built it")


def test_skip_to_an_unknown_phase_is_refused_with_the_list(session: Replica) -> None:
    """The refusal names the declared phases."""
    session.declare_phases(["look", "fix"])
    with pytest.raises(Refused) as refused:
        session.skip_to_phase("prove", "why not")
    assert hints.text(refused.value.hint) == "One of: look, fix."


def test_a_session_without_phases_enters_any(session: Replica) -> None:
    """Without declared phases any name is a phase, and there is nothing to complete before one is entered."""
    with pytest.raises(Refused, match="no phase"):
        session.complete_phase()
    session.enter_phase("thinking")
    assert current(session) == "thinking"


def test_two_clones_in_two_phases_are_contested_and_any_declared_phase_settles_it(world: World) -> None:
    """Both phases are shown, and a writer that has seen both may choose either."""
    first, second = world.replicas
    first.declare_phases(NAMES, transitions=TRANSITIONS)
    world.meet()
    first.enter_phase("build")
    second.skip_to_phase("review", "built elsewhere")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    assert {contest["value"], contest["rivals"][0]["value"]} == {"build", "review"}
    first.enter_phase("design")
    assert contested.contests(first.state["registers"]) == []


def test_two_declarations_are_contested(world: World) -> None:
    """Two clones that declare different phases do not overwrite each other silently."""
    first, second = world.replicas
    first.declare_phases(["a", "b"])
    second.declare_phases(["c", "d"])
    world.meet()
    assert [contest["name"] for contest in contested.contests(first.state["registers"])] == [
        "phase",
        "phases",
    ]
