"""Slash actions: the menu follows the state, and each action calls its command."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.views.example import mid_task, started

from holdfast.core import actions
from holdfast.edge.cli import hints
from holdfast.errors import NotFound, Refused, Usage
from holdfast.testing.hostile import TEXTS
from holdfast.workspace.session import Session


def names(session: Session) -> list[str]:
    return [action.name for action in session.menu()]


def test_the_core_is_always_there_and_the_rest_follows_the_state() -> None:
    """A fresh session has the core actions; plans, loops and discussions add and remove theirs."""
    session = started()
    assert names(session) == ["continue", "pause", "status", "add-loop", "discuss"]
    session.add_loop("why?")
    assert {"close-loop", "explore-loop"} <= set(names(session))
    session.do("/explore-loop LOOP-001")
    assert "explore-loop" not in names(session)
    session.do("/close-loop loop-1 never")
    assert "close-loop" not in names(session)
    session.propose_plan("p", "text")
    assert {"approve-plan", "reject-plan", "edit-plan"} <= set(names(session))
    session.do("/approve-plan")
    assert "approve-plan" not in names(session)
    session.do("/discuss a detail")
    assert "return" in names(session)
    assert "discuss" not in names(session)
    session.do("/return")
    session.do("/pause lunch")
    assert "pause" not in names(session)
    session.do("/continue")
    assert "pause" in names(session)


TWINS: list[tuple[str, Callable[[Session], object]]] = [
    ("/close-loop LOOP-001 They never mix", lambda s: s.close_loop("LOOP-001", "They never mix")),
    ("/explore-loop loop-2", lambda s: s.explore_loop("LOOP-002")),
    ("/complete-task all   of it", lambda s: s.complete_task("T-1", "all   of it")),
    ("/complete-task", lambda s: s.complete_task("T-1")),
    ("/skip-task not needed", lambda s: s.skip_task("T-1", reason="not needed")),
    ("/complete-phase", lambda s: s.complete_phase()),
    ("/skip-to-phase Polish no time", lambda s: s.skip_to_phase("Polish", "no time")),
    ("/skip-to-phase 3 no time", lambda s: s.skip_to_phase("Polish", "no time")),
    ("/skip-to-phase handoff we are late", lambda s: s.skip_to_phase("Handoff", "we are late")),
    ("/settle D-2 merged", lambda s: s.settle("D-2", "merged")),
    ("/add-loop $2 \\1 | ---", lambda s: s.add_loop("$2 \\1 | ---")),
    ("/discuss the red line", lambda s: s.discuss("the red line")),
    ("/pause back at two", lambda s: s.pause("back at two")),
    ("/pause", lambda s: s.pause()),
]


@pytest.mark.parametrize(("action", "method"), TWINS, ids=[twin[0] for twin in TWINS])
def test_an_action_is_the_call_of_its_own_command(action: str, method: Callable[[Session], object]) -> None:
    """The state after a slash action is the state after the method that it stands for."""
    one, other = mid_task(), mid_task()
    one.do(action)
    method(other)
    assert one.state == other.state


def test_reading_actions_write_nothing() -> None:
    """/status, and /continue while the session is working, name the command to show and write nothing."""
    session = mid_task()
    version = session.version
    assert session.do("/status") == "status"
    assert session.do("/continue") == "resume"
    assert session.version == version


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        ("/fly away", Refused, "There is no action /fly"),
        ("/approve-plan", Refused, "not possible now"),
        ("/return", Refused, "not possible now"),
        ("continue", Usage, "begins with a slash"),
        ("", Usage, "begins with a slash"),
        ("/close-loop LOOP-001", Usage, "takes ID OUTCOME"),
        ("/close-loop", Usage, "takes ID OUTCOME"),
        ("/skip-task", Usage, "takes REASON"),
        ("/complete-phase now", Usage, "takes no arguments"),
        ("/explore-loop LOOP-001 LOOP-002", Usage, "takes one id"),
        ("/close-loop LOOP-077 x", NotFound, "LOOP-077"),
        ("/skip-to-phase Nowhere at all", Refused, "There is no phase"),
        ("/skip-to-phase Polish", Usage, "takes PHASE REASON"),
    ],
)
def test_what_is_not_on_the_menu_is_refused_and_changes_nothing(
    action: str, error: type, message: str
) -> None:
    """A refused action says what is possible now, and the log is unchanged."""
    session = mid_task()
    version = session.version
    with pytest.raises(error, match=message) as caught:
        session.do(action)
    assert session.version == version
    if error is Refused and "phase" not in message:
        assert "/add-loop QUESTION" in hints.text(caught.value.hint)


def test_a_second_discussion_is_refused_with_the_reason() -> None:
    """Discussions do not nest, and the refusal says how to continue."""
    session = mid_task()
    session.do("/discuss one")
    with pytest.raises(Refused, match="do not nest"):
        session.do("/discuss two")


@pytest.mark.parametrize("text", [text for text in TEXTS if text.strip() and len(text) < 10_000])
def test_any_text_goes_through_an_action_unchanged(text: str) -> None:
    """The text after the id of a loop is stored unchanged, apart from leading blanks."""
    session = mid_task()
    session.do(f"/close-loop LOOP-001 {text}")
    (event,) = [
        e for c in session.log() for e in c.events if e.type == "loop.closed" and e.data["id"] == "LOOP-001"
    ]
    assert event.data["outcome"] == text.lstrip()


def test_every_action_has_a_call() -> None:
    """Every action that the menu can show can be run."""
    shown = {action.name for make in (mid_task, started) for action in make().menu()}
    assert shown <= set(actions._CALLS)
