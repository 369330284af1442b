"""Loops."""

from __future__ import annotations

import pytest

from holdfast.errors import NotFound, Refused
from holdfast.testing.strategies import Replica, World


def test_a_loop_is_added_explored_and_closed(session: Replica) -> None:
    """A question goes from open to clarifying to its outcome."""
    session.add_loop("Can types mix?", context="the March export")
    entry = session.state["loops"]["open"]["LOOP-001"]
    assert (entry["status"], entry["context"]) == ("open", "the March export")
    session.explore_loop("loop-1")
    assert entry["status"] == "clarifying"
    with pytest.raises(Refused, match="already"):
        session.explore_loop("LOOP-001")
    session.close_loop("LOOP-1", "They never mix")
    (closed,) = session.state["loops"]["closed"]
    assert (closed["outcome"], closed["decision"]) == ("They never mix", None)


def test_an_outcome_becomes_a_decision_in_the_same_commit(session: Replica) -> None:
    """The loop names the decision, the decision names the loop, and both are one commit."""
    session.add_loop("Can types mix?")
    count = len(session.commits)
    session.close_loop("LOOP-001", "They never mix", decide="One table", because="no mixing")
    assert len(session.commits) == count + 1
    assert session.state["loops"]["closed"][0]["decision"] == "D-1"
    (decision,) = session.state["decisions"]["closed"]
    assert decision["choice"]
    assert (decision["loop"], decision["text"], decision["because"]) == ("LOOP-001", "One table", "no mixing")


def test_the_outcome_is_the_reason_if_none_is_given(session: Replica) -> None:
    """A decision always has a reason."""
    session.add_loop("Can types mix?")
    session.close_loop("LOOP-001", "They never mix", decide="One table")
    assert session.state["decisions"]["closed"][0]["because"] == "They never mix"


def test_a_reason_without_a_decision_is_refused(session: Replica) -> None:
    """No argument is dropped silently."""
    session.add_loop("Can types mix?")
    with pytest.raises(Refused):
        session.close_loop("LOOP-001", "They never mix", because="why")


def test_an_unknown_loop_is_not_found(session: Replica) -> None:
    """Closing an unknown loop is not found, and writes nothing."""
    with pytest.raises(NotFound):
        session.close_loop("LOOP-009", "x")
    assert len(session.commits) == 1


def test_two_answers_are_both_kept(world: World) -> None:
    """Of two clones that close a loop, the second closing is a rival of the first."""
    first, second = world.replicas
    first.add_loop("Which?")
    world.meet()
    first.close_loop("LOOP-001", "A")
    second.close_loop("LOOP-001", "B", decide="B it is")
    world.meet()
    (closed,) = first.state["loops"]["closed"]
    assert {closed["outcome"], closed["rivals"][0]["outcome"]} == {"A", "B"}
    assert first.state["decisions"]["chosen"] == 1


def test_loops_of_two_clones_have_different_ids(world: World) -> None:
    """Questions that two clones add at the same time both stay."""
    first, second = world.replicas
    first.add_loop("A")
    second.add_loop("B")
    world.meet()
    assert sorted(first.state["loops"]["open"]) == ["LOOP-001", "LOOP-001.mmmmmmmm"]
