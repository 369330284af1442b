"""Decisions: choices and actions, links and supersession."""

from __future__ import annotations

import pytest

from holdfast.core.codec import Commit
from holdfast.core.concepts import decision
from holdfast.core.fold import blank
from holdfast.core.short_ids import Mint
from holdfast.errors import NotFound, Refused
from holdfast.testing.strategies import Replica, World


def test_a_decision_names_what_it_is_about(session: Replica) -> None:
    """Links are stored as full ids, however they were written."""
    session.add_task("one")
    session.add_risk("rain")
    session.add_loop("why?")
    session.decide("Tent", because="rain", action="pitch it", task="t-1", risk="r-01", loop="loop-1")
    made = session.state["decisions"]["open"]["D-1"]
    assert (made["task"], made["risk"], made["loop"]) == ("T-1", "R-1", "LOOP-001")


def test_a_link_to_nothing_is_not_found(session: Replica) -> None:
    """A decision that links to an unknown task is refused as not found."""
    with pytest.raises(NotFound, match="T-7"):
        session.decide("x", because="y", task="T-7")


def test_a_project_has_no_tasks_to_link_to() -> None:
    """In a stream without tasks a link to one is refused."""
    state = blank("project")
    with pytest.raises(Refused, match="no tasks"):
        decision.decide(state, Mint(state, "kkkkkkkk", {}), "x", "y", links={"task": "T-1"})


@pytest.mark.parametrize("settled", [False, True])
def test_a_superseded_decision_names_its_successor(session: Replica, settled: bool) -> None:
    """The older decision shows what replaced it, open or closed; it stays open until it has its outcome."""
    session.decide("JSON", because="simple", action="write")
    if settled:
        session.settle("D-1", "done")
    session.decide("SQLite", because="8 writers", action="migrate", supersedes="d-1")
    decisions = session.state["decisions"]
    older = decisions["closed"][0] if settled else decisions["open"]["D-1"]
    assert older["superseded_by"] == "D-2"
    assert decisions["open"]["D-2"]["supersedes"] == "D-1"
    if not settled:
        session.settle("D-1", "never carried out", ok=False)
        assert decisions["closed"][0]["superseded_by"] == "D-2"


def test_two_successors_are_both_named(world: World) -> None:
    """Two clones that replace a decision concurrently: both replacements are shown."""
    first, second = world.replicas
    first.decide("JSON", because="simple", action="write")
    world.meet()
    first.decide("SQLite", because="a", supersedes="D-1")
    second.decide("YAML", because="b", supersedes="D-1")
    world.meet()
    named = first.state["decisions"]["open"]["D-1"]["superseded_by"].split(", ")
    assert sorted(named) == ["D-1.mmmmmmmm", "D-2"]


def test_a_decision_without_an_action_is_a_choice(session: Replica) -> None:
    """It is never unsettled, and its event says what it is."""
    session.decide("Keep JSON", because="git diff")
    decisions = session.state["decisions"]
    assert decisions["open"] == {}
    (chosen,) = decisions["closed"]
    assert (chosen["choice"], chosen["outcome"], chosen["ok"]) == (True, None, None)
    assert (decisions["made"], decisions["settled"], decisions["chosen"]) == (1, 0, 1)
    assert max(session.commits.values(), key=lambda commit: commit.id).events[0].data["choice"] is True


def test_a_choice_can_have_an_outcome(session: Replica) -> None:
    """Who settles a choice all the same is heard once; a second outcome is refused."""
    session.decide("Keep JSON", because="git diff")
    session.settle("d-1", "too slow", ok=False)
    decisions = session.state["decisions"]
    (closed,) = decisions["closed"]
    assert (closed["outcome"], closed["ok"]) == ("too slow", False)
    assert (decisions["settled"], decisions["failed"]) == (1, 1)
    with pytest.raises(Refused, match="settled already"):
        session.settle("D-1", "again")


def test_two_outcomes_of_a_choice_are_both_kept(world: World) -> None:
    """Two clones that settle a choice concurrently: the later outcome is a rival."""
    first, second = world.replicas
    first.decide("JSON", because="simple")
    world.meet()
    first.settle("D-1", "good")
    second.settle("D-1", "bad", ok=False)
    world.meet()
    (closed,) = first.state["decisions"]["closed"]
    assert {closed["outcome"], closed["rivals"][0]["outcome"]} == {"good", "bad"}
    assert first.state == second.state


@pytest.mark.parametrize("said", [{}, {"choice": False}, {"choice": "yes"}, {"choice": True, "action": "go"}])
def test_an_event_that_does_not_say_so_is_no_choice(said: dict[str, object]) -> None:
    """An older event has no such field: what was unsettled stays unsettled."""
    state = blank("session")
    data = {"id": "D-1", "text": "Move", "because": "why", **said}
    commit = Commit("0" * 16 + "-kkkkkkkk", "2026-01-21T14:00:00.000Z", "ann", "human", None, (), "")
    decision.FOLDS["decision.made"](state, data, commit)
    assert list(state["decisions"]["open"]) == ["D-1"]


def test_a_thousand_choices_leave_room(session: Replica) -> None:
    """The limit is one of unsettled actions: choices never reach it, and the state keeps the last few."""
    for number in range(decision.MAX_OPEN + 10):
        session.decide(f"choice {number}", because="so")
    decisions = session.state["decisions"]
    assert (len(decisions["open"]), len(decisions["closed"])) == (0, decision.CLOSED)
    assert decisions["chosen"] == decision.MAX_OPEN + 10
