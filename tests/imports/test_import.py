"""Importing files of other tools."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import foreign
from holdfast.core.foreign import Left
from holdfast.core.hashing import blake2b
from holdfast.testing.hostile import TEXTS
from holdfast.workspace.imports import Imported, import_file, original

NASTY = [text for text in TEXTS if text.strip() and "\0" not in text]


@pytest.fixture
def workspace(project: Path) -> Any:
    """A workspace with a session."""
    with holdfast.open(project) as opened:
        opened.start("Take over")
        yield opened


def bring(workspace: holdfast.Workspace, name: str, text: str) -> Imported:
    return import_file(workspace, name, text.encode())


def log_of(handle: Any) -> list[str]:
    return [commit.id for commit in handle.log()]


TEMPLATE = """\
---
version: 1.0
updated: 2026-01-21T15:45:00Z
session: 2026-01-21-foundation
---

# Session State: Foundation

## Current Context

**Phase:** 1. Foundation
**Task:** TASK-003 - Write the page
**Focus:** Say what the limits are
**Status:** Blocked (Awaiting Approval)

## Active Loops

| ID | Title | Status | Captured |
|----|-------|--------|----------|
| LOOP-007 | Is the type mixed \\| or not | clarifying | 2026-01-21 |
| LOOP-012 | How far back | open | 2026-01-21 |

**Total active:** 2 loops

## Token Budget

**Status:** 1850 / 5000 tokens (37%) - deliberate

## Available Actions

- `/continue` - Continue

## Context Stack

**Current:** TASK-003
**Return to:** None
**Depth:** 0

## Recent Updates

**2026-01-21 15:45**
- Closed LOOP-005

## Something else

A line that nobody can place.
"""


def test_the_template(workspace: holdfast.Workspace) -> None:
    """A STATE.md of the template becomes phase, task, focus, status, loops, budget and notes."""
    found = bring(workspace, "STATE.md", TEMPLATE)
    state = workspace.session().state
    registers = {name: register["value"] for name, register in state["registers"].items()}
    assert registers["phase"] == "1. Foundation"
    assert registers["focus"] == "Say what the limits are"
    assert registers["status"] == "blocked"
    assert state["tasks"]["open"][registers["task"]]["title"] == "TASK-003 - Write the page"
    loops = list(state["loops"]["open"].values())
    assert [(loop["title"], loop["status"]) for loop in loops] == [
        ("LOOP-007: Is the type mixed | or not", "clarifying"),
        ("LOOP-012: How far back", "open"),
    ]
    assert (state["budget"]["total"], state["budget"]["used"]) == (5000, 1850)
    assert state["notes"]["last"][-1]["text"] == "2026-01-21 15:45 Closed LOOP-005"
    assert [(left.line, left.text) for left in found.left] == [(46, "A line that nobody can place.")]
    assert {commit.origin for commit in workspace.session().log()} == {"agent", "import"}


PLANNING = """\
# Project State

**Core value:** Costs `$2` and \\1
**Current focus:** Phase 4

## Current Position

Phase: 6 of 8 (Core)
Status: In Progress
Progress: [####] 35%

### Decisions

| Phase | Decision | Rationale |
|-------|----------|-----------|
| 0 | Use folders | easier |

- Cap at ($5 daily/$25 weekly)
- Cap at ($5 daily/$25 weekly)

### Pending Todos

None yet.

### Blockers/Concerns

- [x] was solved
- The build is red

## Session Continuity

Stopped at: Completed plan 06-03
"""


def test_planning_files_found_in_the_wild(workspace: holdfast.Workspace) -> None:
    """Decisions, blockers and the stopping point are found; a duplicated line is one decision."""
    found = bring(workspace, ".planning/STATE.md", PLANNING)
    state = workspace.session().state
    assert state["registers"]["goal"]["value"] == "Costs `$2` and \\1"
    assert [d["text"] for d in state["decisions"]["closed"]] == [
        "Use folders",
        "Cap at ($5 daily/$25 weekly)",
    ]
    assert found.repeated == 1
    assert [b["text"] for b in state["blockers"]["open"].values()] == ["The build is red"]
    assert state["checkpoint"]["message"] == "Completed plan 06-03"
    assert state["next"]["open"] == {}
    assert workspace.recover() == []


def test_session_state_and_its_files(workspace: holdfast.Workspace, project: Path) -> None:
    """The whole contract is imported; a missing artifact is reported by its line."""
    (project / "here.md").write_text("x")
    contract = {
        "goal": "G",
        "current_phase": "P",
        "decisions": ["d1"],
        "open_risks": ["r1"],
        "blocked_by": ["b1"],
        "next_actions": ["n1"],
        "artifacts": ["here.md", "gone.md", "../../outside"],
        "legal_reviews": ["l1"],
        "compaction_count": 2,
        "last_updated": "2026-05-05T00:00:00Z",
        "surprise": 1,
    }
    text = json.dumps(contract, indent=2)
    found = bring(workspace, "session-state.json", text)
    state = workspace.session().state
    assert list(state["references"]["open"]) == ["here.md"]
    assert state["compactions"]["count"] == 2
    assert state["legal"]["count"] == 1
    lines = text.split("\n")
    assert [(lines[left.line - 1].strip(), left.line) for left in found.left] == [
        ('"gone.md",', 18),
        ('"../../outside"', 19),
        ('"surprise": 1', 26),
    ]


def test_state_json_of_a_session_folder(workspace: holdfast.Workspace) -> None:
    """Phases, checkpoint, recovery and history of a state.json are imported."""
    text = json.dumps(
        {
            "session_id": "2026-01-21-a1b2c3d4",
            "created_at": "2026-01-21T14:00:00Z",
            "updated_at": "2026-01-21T14:30:00Z",
            "valid_phases": ["init", "build"],
            "phase": "build",
            "phase_history": [{"phase": "init", "entered_at": "a", "exited_at": "b"}],
            "checkpoint": {
                "last_completed_step": "modes",
                "pending_steps": ["rules"],
                "can_resume": True,
                "resume_instruction": "Go on with rules",
            },
            "recovery": {"last_agent": "engineer", "recovery_notes": "half done"},
        }
    )
    found = bring(workspace, "state.json", text)
    state = workspace.session().state
    assert found.left == []
    assert state["phases"]["declared"] == ["init", "build"]
    assert state["registers"]["phase"]["value"] == "build"
    assert state["checkpoint"]["instruction"] == "Go on with rules"
    assert "half done" in state["notes"]["last"][-1]["text"]


def test_batch_state(workspace: holdfast.Workspace) -> None:
    """Completed features are done, failed ones keep their reason, and a run continues after them."""
    text = json.dumps(
        {
            "batch_id": "b-1",
            "features": ["a", "b", "c"],
            "completed_features": [0],
            "failed_features": [{"feature_index": 1, "error_message": "no disk"}, 9],
        }
    )
    found = bring(workspace, "batch_state.json", text)
    session = workspace.session()
    batch = session.batch()
    assert batch.done_items == (range(1),)
    assert batch.failures[0].reason == "no disk"
    assert session.claim_item(batch.id, {"host": "x"}) == 2
    assert [left.text for left in found.left] == ["9"]


EVENTS = """\
events:
  - date: "2026-03-04"
    time: "08:30"
    type: L11
    agent: Weaver
    commit: dd23fa3
    summary: "Cross-model: triangulation"
    backrefs: [catch-log.tsv]

  - date: "2026-03-05"
    summary: see [id] for more
    backrefs: [a, [id], b]
  - date: "2026-03-06"
    summary: |
      two
        lines
    ref: null
stray line
"""


def test_events_with_a_line_that_is_not_yaml(workspace: holdfast.Workspace) -> None:
    """A line that is not YAML costs only that line."""
    found = bring(workspace, "events.yaml", EVENTS)
    texts = [
        event.data["text"]
        for commit in workspace.project.log()
        for event in commit.events
        if event.type == "note.added"
    ]
    assert texts == [
        "2026-03-04 08:30 L11 by Weaver: Cross-model: triangulation (commit: dd23fa3; backrefs: catch-log.tsv)",
        "2026-03-05: see [id] for more",
        "2026-03-06: two\n  lines",
    ]
    assert [left.line for left in found.left] == [12, 18]
    assert found.left[0].text == "    backrefs: [a, [id], b]"


BACKLOG = """\
items:
  - id: B-2
    title: Second
    priority: P1
    status: open
    depends_on: [B-1]
    tags:
      - x
      - y
  - id: B-1
    title: "First: it"
    priority: low
    status: in-progress
    epic: E
  - id: B-3
    title: Third
    status: done
    owner: me
"""


def test_backlog(workspace: holdfast.Workspace) -> None:
    """Items keep priority, status, tags and dependencies, even on items listed later."""
    found = bring(workspace, "backlog.yaml", BACKLOG)
    items = {item["title"]: item for item in workspace.project.state["backlog"]["open"].values()}
    assert items["Second"]["depends_on"] == [items["First: it"]["id"]]
    assert items["Second"]["priority"] == "high"
    assert items["Second"]["tags"][:2] == ["x", "y"]
    assert items["First: it"]["status"] == "doing"
    assert workspace.project.state["backlog"]["closed"][0]["title"] == "Third"
    assert [left.text.strip() for left in found.left] == ["owner: me"]


def test_decision_index_and_catch_log(workspace: holdfast.Workspace) -> None:
    """Standing orders, decisions and controls go to the project."""
    index = "standing_orders:\n  - id: SD-266\n    order: Write it down\n"
    index += "recent:\n  - id: SD-300\n    decision: Use A\n    why: X\n"
    log = "date\tcontrol\tcaught\tagent\toutcome\tnotes\n2026-03-04\treview\ta \\t tab\tWeaver\tfixed\t\nshort\n"
    bring(workspace, "session-decisions-index.yaml", index)
    found = bring(workspace, "catch-log.tsv", log)
    state = workspace.project.state
    assert [order["text"] for order in state["orders"]["open"].values()] == ["SD-266: Write it down"]
    assert state["decisions"]["closed"][0]["text"] == "SD-300: Use A"
    control = state["controls"]["last"][0]
    assert (control["control"], control["what"], control["caught_by"]) == ("review", "a \t tab", "Weaver")
    assert [left.line for left in found.left] == [3]


CASES = {
    "STATE.md": TEMPLATE,
    "planning/STATE.md": PLANNING,
    "events.yaml": EVENTS,
    "backlog.yaml": BACKLOG,
}


@pytest.mark.parametrize("name", CASES)
def test_a_second_import_changes_nothing(workspace: holdfast.Workspace, name: str) -> None:
    """A second import changes nothing, and with one more line imports only that line."""
    text = CASES[name]
    first = bring(workspace, name, text)
    session, project = workspace.session(), workspace.project
    before = log_of(session), log_of(project)
    second = bring(workspace, name, text)
    assert (log_of(session), log_of(project)) == before
    assert second.taken == {}
    assert second.left == first.left
    assert second.known >= sum(n for kind, n in first.taken.items() if kind != "link")
    longer = text + "\n## Next Steps\n\n- One more\n" if name.endswith(".md") else text
    third = bring(workspace, name, longer)
    assert third.taken == ({"next": 1} if name.endswith(".md") else {})


def test_the_original_text_is_kept(workspace: holdfast.Workspace) -> None:
    """The bytes of a file can be recovered from the log, even if they are not text."""
    for data in (TEMPLATE.encode(), b"\xef\xbb\xbf# X\r\n", b"# \xff\xfe broken\n", ("x" * 700_000).encode()):
        import_file(workspace, "STATE.md", data)
        digest = blake2b(data, digest_size=16).hexdigest()
        assert original(workspace.session(), digest) == data


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_texts_come_through_unchanged(workspace: holdfast.Workspace, text: str) -> None:
    """Text that has broken other tools is imported unchanged."""
    contract = {"goal": "g", "current_phase": "p", "decisions": [text], "next_actions": [text]}
    bring(workspace, "session-state.json", json.dumps(contract))
    made = [
        event.data["text"]
        for commit in workspace.session().log()
        for event in commit.events
        if event.type in ("decision.made", "next.added")
    ]
    assert made == [text, text]


def test_exports_can_be_imported(workspace: holdfast.Workspace, tmp_path: Path) -> None:
    """What holdfast exports, it imports: backlog, catch log and decisions."""
    from holdfast.views.exports import backlog_yaml, catch_log, decision_index

    project = workspace.project
    project.add_item("Title: with [brackets] # and more", priority="high", tags=["t"])
    project.caught("gate", "a\ttab\nand line", outcome="held")
    project.order("Write `$2` down")
    texts = {
        "backlog.yaml": backlog_yaml.render(project.state),
        "catch-log.tsv": catch_log.render(project.stored_commits()),
        "decisions.yaml": decision_index.render(project.state),
    }
    for name, text in texts.items():
        found = bring(workspace, name, text)
        assert found.left == [], name
    state = project.state
    assert [item["title"] for item in state["backlog"]["open"].values()] == [
        "Title: with [brackets] # and more"
    ] * 2
    assert [control["what"] for control in state["controls"]["last"]] == ["a\ttab\nand line"] * 2


def test_five_megabytes_in_bounded_memory(workspace: holdfast.Workspace) -> None:
    """5 MB of decisions: all imported, in bounded memory, and the state stays small."""
    lines = ["### Decisions", ""]
    number = 0
    while sum(map(len, lines[-1000:])) and len(lines) < 45_000:
        number += 1
        lines.append(f"- Decision {number}: {'why it was taken, at some length, ' * 3}")
    data = "\n".join(lines).encode()
    assert len(data) > 5_000_000
    tracemalloc.start()
    found = import_file(workspace, "STATE.md", data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.taken == {"decision": number}
    assert peak < 20 * len(data)
    assert len(json.dumps(workspace.session().state)) < 100_000


CORPUS = os.environ.get("HOLDFAST_CORPUS")


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS, reason="HOLDFAST_CORPUS names no folder with real files")
def test_real_files(workspace: holdfast.Workspace) -> None:
    """Every line of every real file is imported, structure, or reported; a second import changes nothing."""
    files = [
        path for path in sorted(Path(str(CORPUS)).rglob("*")) if path.is_file() and path.name != "README.md"
    ]
    assert files
    for path in files:
        data = path.read_bytes()
        found = import_file(workspace, path.name, data)
        lines = data.decode().split("\n")
        for left in found.left:
            assert 1 <= left.line <= len(lines)
        digest = blake2b(data, digest_size=16).hexdigest()
        home = workspace.session() if found.session else workspace.project
        assert original(home, digest) == data
    before = log_of(workspace.session())
    for path in files:
        assert import_file(workspace, path.name, path.read_bytes()).taken == {}
    assert log_of(workspace.session()) == before


@pytest.mark.parametrize("name", foreign.FORMATS)
@pytest.mark.parametrize("text", ["", "\n", "{", "[1,2", "\0", "---", "- ", "| a |\n|---|\n", "[" * 50_000])
def test_garbage_is_reported(workspace: holdfast.Workspace, name: str, text: str) -> None:
    """No input stops a reader: what it cannot read is reported."""
    for item in foreign.reader(name)(text):
        if isinstance(item, Left):
            assert item.line >= 1
