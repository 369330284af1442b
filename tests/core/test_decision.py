"""Decisions: choices and actions, links and supersession."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.core import conditions, fold
from holdfast.core.codec import Commit, Event
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


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("file:./dist//app.whl", {"file-exists": "dist/app.whl"}),
        ("git-tag:v1.4", {"tag-exists": "v1.4"}),
        ("git-branch:release/1.4", {"branch-exists": "release/1.4"}),
        ("commit:0123abc", {"commit-exists": "0123abc"}),
        ("port:8080", {"port-open": 8080}),
    ],
)
def test_a_condition_is_stored_as_data_and_announces_an_action(
    session: Replica, typed: str, stored: dict[str, Any]
) -> None:
    """What says when it is done speaks of an action: the decision is open, with the condition in normal form."""
    session.decide("Ship", because="tests pass", done_when=typed, recovery="check-first")
    made = session.state["decisions"]["open"]["D-1"]
    assert (made["done_when"], made["recovery"]) == (stored, "check-first")
    assert conditions.typed(conditions.shown(stored)) == stored


@pytest.mark.parametrize(
    "typed",
    [
        *("", "file", "file:", "FILE:x", "file:/etc/passwd", "file:../x", "file:session:x"),
        *("git-tag:a b", "git-tag:--all", "git-tag:x.lock", "git-branch:a..b", "commit:HEAD", "commit:012"),
        *("port:0", "port:65536", "port:x", "port:-1", "port:²", "port:localhost:80"),
        *("http-get:http://localhost/", "exec:true"),
    ],
)
def test_what_is_not_of_the_closed_set_is_no_condition(session: Replica, typed: str) -> None:
    """Another kind, or a value of another type, is refused, and nothing is written."""
    before = session.version
    with pytest.raises(Refused):
        session.decide("Ship", because="tests pass", done_when=typed)
    assert session.version == before


def test_an_unknown_recovery_class_is_refused(session: Replica) -> None:
    """The classes are a closed set."""
    with pytest.raises(Refused, match="read-only, idempotent, check-first, never"):
        session.decide("Ship", because="tests pass", recovery="sometimes")


@pytest.mark.parametrize("code", [-1, 256, True, "0", 1.0])
def test_an_exit_code_is_a_small_number(session: Replica, code: Any) -> None:
    """Another value is refused, and the decision stays open."""
    session.decide("Ship", because="tests pass", action="ship")
    with pytest.raises(Refused, match="exit code"):
        session.settle("D-1", "done", exit_code=code)
    assert "D-1" in session.state["decisions"]["open"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=8,
)


@given(
    done_when=json_values
    | st.dictionaries(st.sampled_from(sorted(conditions.KINDS)), json_values, max_size=2),
    recovery=json_values,
    once=json_values,
    exit_code=json_values,
)
def test_any_value_from_a_foreign_log_folds(
    done_when: object, recovery: object, once: object, exit_code: object
) -> None:
    """A log can come from anywhere: what is not of the closed sets is left out, and the decision counts."""
    data = {
        "id": "D-1",
        "text": "x",
        "because": "y",
        "done_when": done_when,
        "recovery": recovery,
        "once": once,
    }
    settled = {"id": "D-1", "outcome": "z", "ok": True, "exit_code": exit_code}
    state = blank("session")
    events = (Event("decision.made", data), Event("decision.settled", settled))
    fold.fold(
        state, [Commit("0" * 16 + "-kkkkkkkk", "2026-01-21T14:00:00.000Z", "m", "agent", None, events, "")]
    )
    (closed,) = state["decisions"]["closed"]
    assert closed["outcome"] == "z"
    if "done_when" in closed:
        assert conditions.typed(conditions.shown(closed["done_when"])) == closed["done_when"]
    assert closed.get("recovery") in (None, *decision.RECOVERY)
    assert isinstance(closed.get("once", ""), str)
    assert closed.get("exit_code") is None or 0 <= closed["exit_code"] <= 255


@given(st.text(st.sampled_from("ab./-@{~^:?*[\\ \x7f\nlock"), min_size=1, max_size=12))
@example("a/b.lock/c")
@example("@{")
def test_the_names_of_tags_follow_the_rules_of_git(name: str) -> None:
    """What is taken as a name is one for git too."""
    try:
        conditions.checked({"tag-exists": name}, conditions.KINDS)
    except Refused:
        return
    done = subprocess.run(["git", "check-ref-format", f"refs/tags/{name}"], check=False)
    assert done.returncode == 0
