"""Tasks: order, dependencies, blocks, results."""

from __future__ import annotations

import pytest

from holdfast.core import contested
from holdfast.core.concepts import task
from holdfast.edge.cli import hints
from holdfast.errors import NotFound, Refused
from holdfast.testing.strategies import Replica, World


def current(session: Replica) -> object:
    return contested.value(session.state["registers"], "task")


def add(session: Replica, *titles: str) -> None:
    for title in titles:
        session.add_task(title)


def test_starting_makes_a_task_the_current_one(session: Replica) -> None:
    """A started task is working and current."""
    add(session, "one", "two")
    session.start_task("t-02")
    assert current(session) == "T-2"
    assert session.state["tasks"]["open"]["T-2"]["status"] == "working"


def test_completing_starts_the_next_ready_task(session: Replica) -> None:
    """The next pending task without a block or an open dependency becomes the current one."""
    add(session, "one", "two")
    session.add_task("three", depends_on=["T-2"])
    session.add_task("four")
    session.start_task("T-1")
    session.block_task("T-2", reason="no access")
    session.complete_task(result="42")
    assert current(session) == "T-4"
    (closed,) = session.state["tasks"]["closed"]
    assert (closed["id"], closed["outcome"], closed["result"]) == ("T-1", "done", "42")


def test_completing_unblocks_dependent_tasks(session: Replica) -> None:
    """A task becomes next when its only dependency has just been completed."""
    add(session, "one")
    session.add_task("two", depends_on=["T-1"])
    session.start_task()
    session.complete_task()
    assert current(session) == "T-2"


def test_completing_another_than_the_current_task_does_not_move(session: Replica) -> None:
    """The current task stays current while others are completed."""
    add(session, "one", "two")
    session.start_task("T-1")
    session.complete_task("T-2")
    assert current(session) == "T-1"


def test_after_the_last_task_none_is_current(session: Replica) -> None:
    """With nothing left the current task is empty, and completing again is not found."""
    add(session, "one")
    session.start_task()
    session.complete_task()
    assert current(session) is None
    with pytest.raises(NotFound, match="no current task"):
        session.complete_task()


def test_a_task_started_earlier_is_resumed(session: Replica) -> None:
    """When no pending task is left, one that was started earlier becomes current."""
    add(session, "one", "two")
    session.start_task("T-1")
    session.start_task("T-2")
    session.complete_task("T-2")
    assert current(session) == "T-1"


def test_a_task_waits_for_what_it_depends_on(session: Replica) -> None:
    """Starting or completing too early is refused, and the refusal names the open dependencies."""
    add(session, "one")
    session.add_task("two", depends_on=["t-1", "T-1"])
    assert session.state["tasks"]["open"]["T-2"]["depends_on"] == ["T-1"]
    for verb in (session.start_task, session.complete_task):
        with pytest.raises(Refused, match="waits for T-1"):
            verb("T-2")
    session.skip_task("T-1", reason="not needed")
    session.start_task("T-2")
    assert current(session) == "T-2"


def test_a_dependency_must_exist_or_have_existed(session: Replica) -> None:
    """An unknown task is refused; one that was closed long ago is still known by its number."""
    with pytest.raises(NotFound):
        session.add_task("two", depends_on=["T-1"])
    for _ in range(15):
        session.add_task("short")
        session.complete_task(next(iter(session.state["tasks"]["open"])))
    session.add_task("later", depends_on=["T-1"])
    assert session.state["tasks"]["open"]["T-16"]["depends_on"] == ["T-1"]
    session.start_task("T-16")


def test_a_blocked_task_cannot_be_started_or_completed(session: Replica) -> None:
    """The refusal says what blocks it and how to unblock it."""
    add(session, "one")
    session.block_task("T-1", reason="no access")
    assert session.state["tasks"]["open"]["T-1"]["blocked_by"] == "no access"
    with pytest.raises(Refused, match="no access") as refused:
        session.start_task("T-1")
    assert "task unblock T-1" in hints.text(refused.value.hint)
    session.unblock_task("T-1")
    assert session.state["tasks"]["open"]["T-1"]["status"] == "pending"
    with pytest.raises(Refused, match="not blocked"):
        session.unblock_task("T-1")


def test_starting_in_one_clone_does_not_undo_a_block_in_another(world: World) -> None:
    """A block that the starter has not seen stays, and unblocking shows that the task was started."""
    first, second = world.replicas
    add(first, "one")
    world.meet()
    first.block_task("T-1", reason="broken build")
    second.start_task("T-1")
    world.meet()
    assert first.state["tasks"]["open"]["T-1"]["status"] == "blocked"
    first.unblock_task("T-1")
    assert first.state["tasks"]["open"]["T-1"]["status"] == "working"


def test_unblocking_leaves_a_block_that_was_not_seen(world: World) -> None:
    """Two clones block a task for two reasons; unblocking clears only the reason that was seen."""
    first, second = world.replicas
    add(first, "one")
    first.block_task("T-1", reason="A")
    world.meet()
    second.block_task("T-1", reason="B")
    first.unblock_task("T-1")
    world.meet()
    entry = first.state["tasks"]["open"]["T-1"]
    assert (entry["status"], entry["blocked_by"]) == ("blocked", "B")


def test_two_results_of_one_task_are_both_kept(world: World) -> None:
    """The first result is the result, the second its rival; the next task is started once."""
    first, second = world.replicas
    add(first, "one", "two")
    first.start_task()
    world.meet()
    first.complete_task(result="A")
    second.complete_task(result="B")
    world.meet()
    (closed,) = first.state["tasks"]["closed"]
    assert {closed["result"], closed["rivals"][0]["result"]} == {"A", "B"}
    assert current(first) == "T-2"
    assert contested.contests(first.state["registers"]) == []


def test_two_current_tasks_are_contested_until_one_is_closed(world: World) -> None:
    """Clones that work on two tasks see both; a completed one is no longer a candidate."""
    first, second = world.replicas
    add(first, "one", "two")
    world.meet()
    first.start_task("T-1")
    second.start_task("T-2")
    world.meet()
    (contest,) = contested.contests(first.state["registers"])
    rival = contest["rivals"][0]["value"]
    assert {contest["value"], rival} == {"T-1", "T-2"}
    first.complete_task(rival)
    assert contested.contests(first.state["registers"]) == []


def test_ready_lists_what_could_be_started(session: Replica) -> None:
    """Blocked, waiting and started tasks are not ready."""
    add(session, "one", "two", "three")
    session.add_task("four", depends_on=["T-1"])
    session.start_task("T-1")
    session.block_task("T-2", reason="x")
    assert [entry["id"] for entry in task.ready(session.state)] == ["T-3"]
