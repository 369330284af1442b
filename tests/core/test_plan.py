"""Plans."""

from __future__ import annotations

import pytest

from holdfast.core import contested
from holdfast.errors import NotFound, Refused
from holdfast.testing.strategies import Replica, World


def test_a_plan_is_proposed_edited_and_approved(session: Replica) -> None:
    """The only waiting plan needs no id; edits are counted."""
    session.propose_plan("Move to SQLite", "1. copy")
    session.edit_plan(None, "1. copy 2. check")
    entry = session.state["plans"]["open"]["PLAN-1"]
    assert (entry["text"], entry["revision"], entry["status"]) == ("1. copy 2. check", 2, "proposed")
    session.approve_plan()
    (closed,) = session.state["plans"]["closed"]
    assert (closed["outcome"], closed["text"]) == ("approved", "1. copy 2. check")
    assert [name for name in session.state["registers"] if name.startswith("plan ")] == []


def test_a_rejected_plan_has_its_reason(session: Replica) -> None:
    """A plan is rejected with a reason and cannot be approved afterwards."""
    session.propose_plan("Move")
    session.reject_plan("plan-1", "no way back")
    assert session.state["plans"]["closed"][0]["reason"] == "no way back"
    with pytest.raises(Refused, match="closed already"):
        session.approve_plan("PLAN-1")


def test_with_two_plans_the_id_is_needed(session: Replica) -> None:
    """The plan is never guessed; without any plan there is nothing to approve."""
    with pytest.raises(NotFound):
        session.approve_plan()
    session.propose_plan("A")
    session.propose_plan("B")
    with pytest.raises(Refused, match="PLAN-1, PLAN-2"):
        session.approve_plan()


def test_a_plan_can_supersede_another(session: Replica) -> None:
    """The superseded plan is closed in the same commit and names its successor."""
    session.propose_plan("A")
    session.propose_plan("B", supersedes="PLAN-1")
    (closed,) = session.state["plans"]["closed"]
    assert (closed["id"], closed["outcome"], closed["reason"]) == (
        "PLAN-1",
        "superseded",
        "superseded by PLAN-2",
    )


def test_two_edits_are_contested_and_not_approved_before_that_is_settled(world: World) -> None:
    """A plan of which there are two texts cannot be approved."""
    first, second = world.replicas
    first.propose_plan("A", "text")
    world.meet()
    first.edit_plan(None, "left")
    second.edit_plan(None, "right")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    assert contest["name"] == "plan PLAN-1"
    with pytest.raises(Refused, match=r"edited .* concurrently"):
        first.approve_plan()
    first.edit_plan(None, "both")
    first.approve_plan()
    assert first.state["plans"]["closed"][0]["text"] == "both"


def test_an_edit_concurrent_to_the_approval_is_shown(world: World) -> None:
    """An approved plan shows that somebody edited it without seeing the approval."""
    first, second = world.replicas
    first.propose_plan("A", "text")
    world.meet()
    first.approve_plan()
    second.edit_plan(None, "another text")
    world.meet()
    (closed,) = second.state["plans"]["closed"]
    assert (closed["outcome"], closed["text"]) in (("approved", "text"), ("approved", "another text"))
    if closed["text"] == "text":
        assert closed["rivals"][0]["text"] == "another text"
