"""Risks, blockers, next actions, errors, legal reviews, compactions."""

from __future__ import annotations

import pytest

from holdfast.edge.cli import hints
from holdfast.errors import NotFound, Refused
from holdfast.testing.strategies import Replica, World


def test_a_risk_has_a_severity_and_an_outcome(session: Replica) -> None:
    """A risk is open until it is closed; an unknown severity is refused with the list."""
    session.add_risk("The vendor drops v1", severity="high")
    assert session.state["risks"]["open"]["R-1"]["severity"] == "high"
    with pytest.raises(Refused) as refused:
        session.add_risk("x", severity="dire")
    assert hints.text(refused.value.hint) == "One of: low, medium, high, critical."
    session.close_risk("R-1", "moved to v2")
    assert session.state["risks"]["closed"][0]["outcome"] == "moved to v2"
    assert session.state["risks"]["open"] == {}


def test_a_blocker_is_closed_once(session: Replica) -> None:
    """Closing again is refused and says when and by whom it was closed."""
    session.add_blocker("No access")
    session.close_blocker("b-1", "granted")
    with pytest.raises(Refused, match=r"closed already.*agent-kk"):
        session.close_blocker("B-1", "again")


def test_a_next_action_needs_no_outcome(session: Replica) -> None:
    """A next action can be done with or without an outcome."""
    session.add_next("Ask for the export")
    session.add_next("Read it")
    session.finish_next("N-1")
    session.finish_next("N-2", "12 rows")
    assert [entry["outcome"] for entry in session.state["next"]["closed"]] == [None, "12 rows"]


def test_an_error_keeps_what_was_tried_and_the_remedy(session: Replica) -> None:
    """An error stays open until there is a remedy, unless it came with one."""
    session.add_error("out of memory", tried="a bigger machine")
    session.add_error("port taken", remedy="stopped the old one")
    assert session.state["errors"]["open"]["E-1"]["tried"] == "a bigger machine"
    assert session.state["errors"]["closed"][0]["remedy"] == "stopped the old one"
    session.remedy_error("E-1", "read in parts")
    assert session.state["errors"]["done"] == 2
    with pytest.raises(NotFound):
        session.remedy_error("E-9", "x")


def test_legal_reviews_are_only_ever_added(session: Replica) -> None:
    """All are counted, the last twenty are in the state, and a compaction removes none."""
    for number in range(25):
        session.legal_review(f"licence {number}", outcome="may be shipped")
    session.compacted("short", trigger="auto")
    legal = session.state["legal"]
    assert legal["count"] == 25
    assert [entry["id"] for entry in legal["last"]] == [f"L-{number}" for number in range(6, 26)]


def test_compactions_are_counted_and_the_last_summary_is_kept(session: Replica) -> None:
    """Each compaction counts; what the state keeps is the newest."""
    session.compacted()
    session.compacted("Importer done", trigger="manual")
    compactions = session.state["compactions"]
    assert compactions["count"] == 2
    assert (compactions["last"]["summary"], compactions["last"]["trigger"]) == ("Importer done", "manual")


def test_compactions_of_two_clones_all_count(world: World) -> None:
    """The count is the number of events of all clones."""
    for replica in world.replicas:
        replica.compacted()
        replica.compacted()
    world.meet()
    assert world.replicas[0].state["compactions"]["count"] == 4


@pytest.mark.parametrize(
    "method", ["add_risk", "add_blocker", "add_next", "add_error", "add_loop", "add_task"]
)
def test_an_empty_text_is_refused(session: Replica, method: str) -> None:
    """An empty text is refused by every command."""
    with pytest.raises(Refused, match="empty"):
        getattr(session, method)(" \n")
    assert len(session.commits) == 1
