"""Exports: other tools' formats, read back by their own readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import holdfast
from holdfast.errors import NoSession, Usage
from holdfast.testing.hostile import TEXTS
from holdfast.views import tsv_text
from holdfast.views.exports.catch_log import COLUMNS
from holdfast.workspace.export import EXPORTS, export
from holdfast.workspace.workspace import Workspace

HOSTILE = [text for text in TEXTS if text.strip() and len(text) <= 600]


@pytest.fixture
def workspace(project: Path) -> Workspace:
    """A workspace whose session and project hold every hostile text."""
    workspace = holdfast.open(str(project))
    session = workspace.start("Ship it", phases=["look", "fix"])
    (project / "out.txt").write_text("x")
    session.refer("out.txt", kind="artifact")
    for text in HOSTILE:
        session.decide(text, because=text, action=text)
        workspace.project.add_item(text, tags=[text[:50]])
        workspace.project.order(text)
        workspace.project.caught("review", text, outcome=text, notes=text)
    session.settle("D-1", "well")
    workspace.project.close_item("BL-1", HOSTILE[0])
    return workspace


def test_events_have_every_field_and_the_whole_text(workspace: Workspace) -> None:
    """Each event is an entry with the fields of the format; its data is the event, unchanged."""
    entries = yaml.safe_load(export(workspace, "events.yaml"))["events"]
    logged = [event for commit in workspace.session().log() for event in commit.events]
    assert [entry["data"] for entry in entries] == [event.data for event in logged]
    assert [entry["type"] for entry in entries] == [event.type for event in logged]
    for entry in entries:
        assert {"date", "time", "type", "agent", "commit", "ref", "summary", "backrefs"} <= entry.keys()
        assert isinstance(entry["date"], str)
        assert isinstance(entry["time"], str)
    assert entries[-1]["ref"] == "D-1"


def test_all_events_are_in_the_order_of_their_ids(workspace: Workspace) -> None:
    """With all streams, project and sessions are one list in canonical order, and links are named."""
    workspace.project.add_item("last", depends_on=["BL-2"])
    entries = yaml.safe_load(export(workspace, "events.yaml", everything=True))["events"]
    ids = [entry["commit"] for entry in entries]
    assert ids == sorted(ids)
    assert {entry["stream"].split("/")[0] for entry in entries} == {"sessions", "project"}
    assert entries[-1]["backrefs"] == [entries[-1]["data"]["depends_on"][0]]


def test_the_decision_index_has_orders_and_decisions(workspace: Workspace) -> None:
    """Standing orders, what is not confirmed, and the recent ones, of the project and the session."""
    workspace.project.decide("for all", because="it is better", action="tell them")
    workspace.project.decide("a choice", because="it is nicer")
    index = yaml.safe_load(export(workspace, "session-decisions-index.yaml"))
    assert [entry["order"] for entry in index["standing_orders"]] == HOSTILE
    assert [entry["decision"] for entry in index["unsettled"]] == [*HOSTILE[1:], "for all"]
    assert [(entry["decision"], entry.get("outcome"), entry.get("ok")) for entry in index["recent"]] == [
        (HOSTILE[0], "well", True),
        ("a choice", None, None),
    ]
    assert index["total"] == len(HOSTILE) + 2


def test_the_catch_log_is_one_line_a_catch(workspace: Workspace) -> None:
    """All catches, not only those in the state, with every text unchanged."""
    head, *lines = export(workspace, "catch-log.tsv").removesuffix("\n").split("\n")
    assert tsv_text.cells(head) == COLUMNS
    rows = [tsv_text.cells(line) for line in lines]
    assert [row[1:] for row in rows] == [["review", text, "alice", text, text] for text in HOSTILE]
    assert all(len(row[0]) == 10 for row in rows)


def test_the_backlog_lists_open_and_closed_items(workspace: Workspace) -> None:
    """Every item with its fields; the closed ones come last, with their result."""
    backlog = yaml.safe_load(export(workspace, "backlog.yaml"))
    assert [item["title"] for item in backlog["items"]] == [*HOSTILE[1:], HOSTILE[0]]
    assert (backlog["open"], backlog["closed"]) == (len(HOSTILE) - 1, 1)
    assert (backlog["items"][-1]["status"], backlog["items"][-1]["result"]) == ("done", HOSTILE[0])
    assert all(item["ready"] for item in backlog["items"][:-1])


def test_the_session_state_fulfils_the_contract(workspace: Workspace) -> None:
    """Eight required and three runtime fields, each of its type; a choice is not "not confirmed"."""
    workspace.session().decide("a choice", because="nicer")
    state = json.loads(export(workspace, "session-state.json"))
    texts = ("goal", "current_phase", "last_updated", "plugin_version")
    lists = ("decisions", "open_risks", "blocked_by", "next_actions", "artifacts", "legal_reviews")
    assert state.keys() == {*texts, *lists, "compaction_count"}
    assert all(isinstance(state[name], str) and state[name] for name in texts)
    assert all(isinstance(entry, str) for name in lists for entry in state[name])
    assert state["compaction_count"] == 0
    assert (state["goal"], state["current_phase"], state["artifacts"]) == ("Ship it", "look", ["out.txt"])
    assert [text in line for text, line in zip([*HOSTILE, "a choice"], state["decisions"], strict=True)] == [
        True
    ] * (len(HOSTILE) + 1)
    assert state["decisions"][0].endswith("done, well")
    assert state["decisions"][1].endswith("not confirmed")
    assert state["decisions"][-1].endswith("a choice (because nicer)")


def test_the_session_state_has_all_reviews_and_decisions(project: Path) -> None:
    """More than the state keeps of them; risks, blockers and next actions only while they are open."""
    session = holdfast.open(str(project)).start("Ship it")
    for number in range(25):
        session.legal_review(f"licence {number}", outcome="fine")
        session.settle(session.decide(f"choice {number}", because="so").id, "no", ok=False)
    for text in ("first", "second"):
        session.add_risk(text)
        session.add_blocker(text)
        session.add_next(text)
    session.close_risk("R-1", "gone")
    session.compacted("short")
    session.compacted("shorter")
    state = json.loads(export(session.workspace, "session-state.json"))
    assert state["legal_reviews"] == [f"L-{n + 1}: licence {n}: fine" for n in range(25)]
    assert state["decisions"] == [f"D-{n + 1}: choice {n} (because so): failed, no" for n in range(25)]
    assert state["open_risks"] == ["R-2: second"]
    assert state["blocked_by"] == ["B-1: first", "B-2: second"]
    assert state["next_actions"] == ["N-1: first", "N-2: second"]
    assert state["compaction_count"] == 2


def test_an_empty_workspace_exports_empty_lists(project: Path) -> None:
    """What needs no session works without one; the others say that there is none."""
    workspace = holdfast.open(str(project))
    assert yaml.safe_load(export(workspace, "backlog.yaml")) == {"open": 0, "closed": 0, "items": []}
    assert export(workspace, "catch-log.tsv") == tsv_text.line(COLUMNS)
    assert yaml.safe_load(export(workspace, "session-decisions-index.yaml"))["recent"] == []
    assert yaml.safe_load(export(workspace, "events.yaml", everything=True)) == {"events": []}
    for name in ("events.yaml", "session-state.json"):
        with pytest.raises(NoSession):
            export(workspace, name)
    with pytest.raises(Usage):
        export(workspace, "nothing.txt")
    assert len(EXPORTS) == 5
