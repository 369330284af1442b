"""Decisions: links and supersession."""

from __future__ import annotations

import pytest

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
    session.decide("Tent", because="rain", task="t-1", risk="r-01", loop="loop-1")
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
    session.decide("JSON", because="simple")
    if settled:
        session.settle("D-1", "done")
    session.decide("SQLite", because="8 writers", supersedes="d-1")
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
    first.decide("JSON", because="simple")
    world.meet()
    first.decide("SQLite", because="a", supersedes="D-1")
    second.decide("YAML", because="b", supersedes="D-1")
    world.meet()
    named = first.state["decisions"]["open"]["D-1"]["superseded_by"].split(", ")
    assert sorted(named) == ["D-1.mmmmmmmm", "D-2"]
