"""Discussions: a digression and the return from it."""

from __future__ import annotations

import pytest

from holdfast.core import contested
from holdfast.edge.cli import hints
from holdfast.errors import Refused
from holdfast.testing.strategies import Replica, World


def place(session: Replica) -> tuple[object, ...]:
    return tuple(
        contested.value(session.state["registers"], name) for name in ("task", "focus", "status", "phase")
    )


def at_work(session: Replica) -> None:
    session.declare_phases(["look", "fix"])
    session.add_task("one")
    session.add_task("two")
    session.start_task("T-1")
    session.set_focus("x" * 900)
    session.mark("blocked")


def test_return_comes_back_to_the_exact_place(session: Replica) -> None:
    """Task, focus, status and phase are what they were, whatever was set during the discussion."""
    at_work(session)
    before = place(session)
    session.discuss("Why is half the red line?")
    assert place(session)[2] == "discussion"
    session.start_task("T-2")
    session.set_focus("something else")
    session.mark("awaiting-input")
    session.enter_phase("fix")
    session.return_("quality drops")
    assert place(session) == before
    assert session.state["discussion"] is None
    assert session.state["phases"]["history"][-1]["because"] == "the discussion ended"


def test_the_place_is_remembered_in_the_state(session: Replica) -> None:
    """The topic and the place to return to are in the state."""
    at_work(session)
    before = place(session)
    session.discuss("A tangent")
    discussion = session.state["discussion"]
    assert discussion["topic"] == "A tangent"
    assert tuple(discussion["return_to"].values()) == before


def test_a_second_discussion_is_refused_with_an_explanation(session: Replica) -> None:
    """Discussions do not nest; the refusal names the open topic, how to return and the alternative."""
    session.discuss("First")
    with pytest.raises(Refused, match=r"First.*do not nest") as refused:
        session.discuss("Second")
    assert "holdfast return" in hints.text(refused.value.hint)
    assert "loop add" in hints.text(refused.value.hint)
    assert len(session.commits) == 2


def test_there_is_nothing_to_return_from(session: Replica) -> None:
    """Returning without a discussion is refused."""
    with pytest.raises(Refused, match="no discussion"):
        session.return_()


def test_a_task_completed_in_the_meantime_is_not_restored(session: Replica) -> None:
    """A closed task is not restored as the current one; the current task stays."""
    at_work(session)
    session.discuss("A tangent")
    session.complete_task("T-1")
    session.return_()
    assert place(session)[0] == "T-2"


def test_continue_returns_from_a_discussion(session: Replica) -> None:
    """Continuing the work returns from the discussion."""
    at_work(session)
    before = place(session)
    session.discuss("A tangent")
    session.continue_()
    assert place(session) == before


def test_a_pause_in_a_discussion_is_continued_in_the_discussion(session: Replica) -> None:
    """A pause does not end the discussion or lose the place to return to."""
    at_work(session)
    before = place(session)
    session.discuss("A tangent")
    session.pause()
    session.continue_()
    assert place(session)[2] == "discussion"
    session.return_()
    assert place(session) == before


def test_a_paused_session_opens_no_discussion(session: Replica) -> None:
    """A paused session must be continued before a discussion."""
    session.pause()
    with pytest.raises(Refused) as refused:
        session.discuss("A tangent")
    assert "holdfast continue" in hints.text(refused.value.hint)


def test_discussions_of_two_clones_are_contested_and_one_return_settles_them(world: World) -> None:
    """Both topics are shown; a return that has seen both ends both."""
    first, second = world.replicas
    first.discuss("left")
    second.discuss("right")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    assert {contest["value"], contest["rivals"][0]["value"]} == {"left", "right"}
    first.return_()
    world.meet()
    assert contested.contests(second.state["registers"]) == []
    assert second.state["discussion"] is None


def test_a_return_does_not_settle_a_contest_that_nobody_decided(world: World) -> None:
    """A focus that two clones set concurrently stays contested when one of them returns."""
    first, second = world.replicas
    first.set_focus("before")
    world.meet()
    first.discuss("A tangent")
    first.set_focus("left")
    second.set_focus("right")
    world.meet()
    first.return_()
    focus = first.state["registers"]["focus"]
    assert focus["value"] == "before"
    assert [rival["value"] for rival in focus["rivals"]] != []
