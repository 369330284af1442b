"""Checkpoints."""

from __future__ import annotations

import pytest

from holdfast.core import contested
from holdfast.errors import Refused
from holdfast.testing.strategies import Replica, World


def test_the_last_checkpoint_counts(session: Replica) -> None:
    """All fields are in the state, and the next checkpoint replaces them."""
    session.checkpoint(
        "Modes are made",
        last_completed="modes",
        pending=["rules", "skills"],
        instruction="go on with rules",
        tools=["Read", "Grep"],
    )
    saved = session.state["checkpoint"]
    assert (saved["message"], saved["last_completed"], saved["can_resume"]) == (
        "Modes are made",
        "modes",
        True,
    )
    assert (saved["pending"], saved["tools"]) == (["rules", "skills"], ["Read", "Grep"])
    assert saved["instruction"] == "go on with rules"
    assert saved["commit"] == session.state["head"]
    session.checkpoint("All made", can_resume=False)
    assert (session.state["checkpoint"]["pending"], session.state["checkpoint"]["can_resume"]) == ([], False)


def test_a_checkpoint_says_who_acted_last(session: Replica) -> None:
    """The recovery part names the agent and what it said."""
    session.checkpoint("Halfway")
    assert session.state["recovery"]["last_agent"] == "agent-kk"
    assert session.state["recovery"]["last_action"] == "Halfway"


def test_one_step_as_a_text_is_one_step(session: Replica) -> None:
    """A string instead of a list is a list of one, not of characters."""
    session.checkpoint("x", pending="rules", tools="Read")
    assert (session.state["checkpoint"]["pending"], session.state["checkpoint"]["tools"]) == (
        ["rules"],
        ["Read"],
    )


def test_many_steps_are_in_the_log_and_some_in_the_state(session: Replica) -> None:
    """The state is bounded; the log has every step; too many are refused."""
    steps = [f"step {number}" for number in range(60)]
    session.checkpoint("x", pending=steps)
    assert session.state["checkpoint"]["pending"] == steps[:20]
    assert session.commits[session.state["head"]].events[0].data["pending"] == steps
    with pytest.raises(Refused):
        session.checkpoint("x", pending=["s"] * 101)


def test_checkpoints_of_two_clones_are_contested(world: World) -> None:
    """Neither clone's checkpoint is hidden."""
    first, second = world.replicas
    first.checkpoint("left")
    second.checkpoint("right")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    assert {contest["value"], contest["rivals"][0]["value"]} == {"left", "right"}
