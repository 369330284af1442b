"""Goal, focus, status, pause, continue, complete."""

from __future__ import annotations

import pytest

from holdfast.core import contested
from holdfast.edge.cli import hints
from holdfast.errors import Refused
from holdfast.testing.strategies import Replica, World


def value(session: Replica, name: str) -> object:
    return contested.value(session.state["registers"], name)


def test_a_session_starts_out_working(session: Replica) -> None:
    """A new session has its goal and is being worked on."""
    assert (value(session, "goal"), value(session, "status")) == ("The goal", "working")


def test_goal_focus_and_status_are_set(session: Replica) -> None:
    """Each of the three values is what was set last."""
    session.set_goal("Another goal")
    session.set_focus("The parser")
    session.mark("awaiting-input")
    assert value(session, "goal") == "Another goal"
    assert value(session, "focus") == "The parser"
    assert value(session, "status") == "awaiting-input"


@pytest.mark.parametrize(
    ("status", "command"), [("paused", "pause"), ("discussion", "discuss"), ("complete", "complete")]
)
def test_a_status_with_its_own_command_is_refused_with_its_name(
    session: Replica, status: str, command: str
) -> None:
    """Marking a session paused, complete or in discussion is refused, and the right command is named."""
    with pytest.raises(Refused) as refused:
        session.mark(status)
    assert f"holdfast {command}" in hints.text(refused.value.hint)
    assert len(session.commits) == 1


def test_an_unknown_status_is_refused_with_the_list(session: Replica) -> None:
    """The refusal lists every status that can be marked."""
    with pytest.raises(Refused) as refused:
        session.mark("asleep")
    assert hints.text(refused.value.hint) == "One of: working, blocked, awaiting-input."


def test_a_pause_keeps_what_a_successor_needs(session: Replica) -> None:
    """Who paused, what was being done, when, and the notes are in the recovery part."""
    session.set_focus("Rules for mode B")
    session.pause("Mode A is done", action="creating the rules")
    recovery = session.state["recovery"]
    assert recovery == {
        "last_agent": "agent-kk",
        "last_action": "creating the rules",
        "interrupted_at": session.state["updated"],
        "notes": "Mode A is done",
    }
    assert value(session, "status") == "paused"


def test_without_an_action_the_last_headline_is_the_last_action(session: Replica) -> None:
    """A pause without an action uses the last headline."""
    session.set_focus("The parser")
    session.pause()
    assert session.state["recovery"]["last_action"] == "Focus: The parser"


def test_continue_ends_the_pause(session: Replica) -> None:
    """After continue the session is working, no longer interrupted, and still has its notes."""
    session.pause("Look at B")
    session.continue_()
    assert value(session, "status") == "working"
    assert session.state["recovery"]["interrupted_at"] is None
    assert session.state["recovery"]["notes"] == "Look at B"
    assert session.state["paused"] is None


def test_a_paused_session_is_continued_before_it_is_marked(session: Replica) -> None:
    """A mark on a paused session is refused, naming continue."""
    session.pause()
    with pytest.raises(Refused) as refused:
        session.mark("working")
    assert "holdfast continue" in hints.text(refused.value.hint)


def test_complete_keeps_the_outcome_and_happens_once(session: Replica) -> None:
    """A completed session has its outcome; completing or pausing it again is refused; continue reopens it."""
    session.complete("Shipped")
    assert session.state["completed"]["outcome"] == "Shipped"
    for again in (session.complete, session.pause):
        with pytest.raises(Refused):
            again()
    session.continue_()
    assert (value(session, "status"), session.state["completed"]) == ("working", None)


def test_a_session_in_discussion_is_not_completed(session: Replica) -> None:
    """Completing during a discussion is refused."""
    session.discuss("Something else")
    with pytest.raises(Refused) as refused:
        session.complete()
    assert "holdfast return" in hints.text(refused.value.hint)


def test_two_clones_that_set_a_goal_are_contested_until_it_is_set_again(world: World) -> None:
    """Both goals are shown after a merge, and one more set settles it."""
    first, second = world.replicas
    first.set_goal("A")
    second.set_goal("B")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    assert {contest["value"], *(rival["value"] for rival in contest["rivals"])} == {"A", "B"}
    first.set_goal("C")
    world.meet()
    assert contested.contests(second.state["registers"]) == []


def test_two_pauses_keep_both_notes(world: World) -> None:
    """The notes of two concurrent pauses are contested, not overwritten."""
    first, second = world.replicas
    first.pause("left half done")
    second.pause("right half done")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    assert contest["name"] == "recovery_notes"
    assert {contest["value"], contest["rivals"][0]["value"]} == {"left half done", "right half done"}
