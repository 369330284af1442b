"""The commands of goals, phases, tasks, plans, loops, concerns, checkpoints and breaks, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.edge.cli import COMMANDS, load, main
from holdfast.testing.hostile import TEXTS

MINE = ("goals", "breaks", "phases", "tasks", "plans", "loops", "captures", "concerns", "checkpoints")


@pytest.fixture(autouse=True)
def started(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workspace with a current session that has phases."""
    assert main(["start", "Ship it", "--phases", "look,fix,prove"]) == 0
    capsys.readouterr()


def run(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    """The one JSON object that a command prints."""
    assert main([words[0], "--json", *words[1:]]) == status
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] == (status == 0)
    return dict(printed)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints for people."""
    assert main(list(words)) == 0
    return capsys.readouterr().out


def state() -> dict[str, Any]:
    with holdfast.open() as workspace:
        return workspace.session().state


def test_tasks_from_the_first_to_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks are added, started, completed with results that the list shows, blocked, unblocked and skipped."""
    assert run(capsys, "task", "add", "copy")["id"] == "T-1"
    assert run(capsys, "task", "add", "check", "--after", "T-1")["id"] == "T-2"
    assert run(capsys, "task", "start")["current"] == "T-1"
    refused = run(capsys, "task", "start", "T-2", status=1)
    assert "waits for T-1" in refused["error"]["message"]
    assert run(capsys, "task", "done", "--result", "214 rows")["current"] == "T-2"
    run(capsys, "task", "block", "--because", "no access")
    assert "no access" in said(capsys, "task")
    run(capsys, "task", "unblock")
    assert run(capsys, "task", "skip", "--because", "not needed")["current"] is None
    listed = run(capsys, "task", "list", "--results")
    assert (listed["open"], listed["done"], listed["results"]) == ([], 2, {"T-1": "214 rows"})


def test_plans(capsys: pytest.CaptureFixture[str]) -> None:
    """A plan is proposed, edited and approved without naming it; another is rejected with a reason."""
    run(capsys, "plan", "propose", "Move", "--text", "1. copy")
    run(capsys, "plan", "edit", "1. copy\n2. check")
    assert "2. check" in said(capsys, "plan")
    assert run(capsys, "plan", "approve")["id"] == "PLAN-1"
    run(capsys, "plan", "propose", "Again")
    assert run(capsys, "plan", "reject", "--because", "no way back")["id"] == "PLAN-2"
    assert [entry["outcome"] for entry in run(capsys, "plan", "show")["closed"]] == ["approved", "rejected"]
    assert run(capsys, "plan", "approve", status=4)["error"]["code"] == "HF-NOT-FOUND"


def test_loops(capsys: pytest.CaptureFixture[str]) -> None:
    """A loop is explored and closed, and its outcome becomes a decision."""
    run(capsys, "loop", "add", "Can types mix?", "--context", "the March export")
    run(capsys, "loop", "explore", "loop-1")
    assert "clarifying" in said(capsys, "loop")
    closed = run(
        capsys, "loop", "close", "LOOP-001", "Never", "--decide", "One table", "--because", "no mixing"
    )
    assert (closed["id"], closed["decision"]) == ("LOOP-001", "D-1")
    assert run(capsys, "loop", "close", "LOOP-001", "again", status=1)["error"]["code"] == "HF-REFUSED"


def test_a_decision_with_links_and_a_successor(capsys: pytest.CaptureFixture[str]) -> None:
    """The links are stored, and the history of the older decision names its successor."""
    run(capsys, "risk", "add", "rain", "--severity", "high")
    run(capsys, "decide", "Tent", "--because", "rain", "--risk", "R-1", "--action", "buy")
    run(capsys, "settle", "D-1", "bought")
    run(capsys, "decide", "House", "--because", "wind", "--supersedes", "D-1", "--action", "build")
    (closed,) = state()["decisions"]["closed"]
    assert (closed["risk"], closed["superseded_by"]) == ("R-1", "D-2")
    assert "House" in said(capsys, "show", "D-1")


def test_concerns(capsys: pytest.CaptureFixture[str]) -> None:
    """Risks, blockers, next actions, errors, legal reviews and compactions, each opened and closed."""
    assert run(capsys, "risk", "add", "rain")["id"] == "R-1"
    run(capsys, "risk", "close", "R-1", "sun")
    assert run(capsys, "blocker", "add", "no key")["id"] == "B-1"
    assert [entry["id"] for entry in run(capsys, "blocker")["open"]] == ["B-1"]
    run(capsys, "blocker", "close", "B-1", "found")
    assert run(capsys, "next", "add", "ask")["id"] == "N-1"
    run(capsys, "next", "done", "N-1")
    assert run(capsys, "error", "add", "no memory", "--tried", "more")["id"] == "E-1"
    assert [entry["id"] for entry in run(capsys, "error")["open"]] == ["E-1"]
    run(capsys, "error", "remedy", "E-1", "read in parts")
    run(capsys, "error", "add", "port taken", "--remedy", "stopped it")
    assert run(capsys, "legal", "licence", "--outcome", "fine")["id"] == "L-1"
    run(capsys, "compaction", "--trigger", "auto")
    assert run(capsys, "compaction", "--summary", "short")["count"] == 2
    now = state()
    for name, count in (("risks", 1), ("blockers", 1), ("next", 1), ("errors", 2)):
        assert (now[name]["open"], now[name]["done"]) == ({}, count)


def test_phases(capsys: pytest.CaptureFixture[str]) -> None:
    """Transitions are declared, a forbidden one is refused with the list, and a jump needs a reason."""
    run(capsys, "phase", "declare", "a", "b", "c", "--allow", "a:b", "--allow", "b:c,a")
    run(capsys, "phase", "skip", "a", "--because", "the phases are new")
    assert "Allowed now: b" in run(capsys, "phase", "enter", "c", status=1)["error"]["message"]
    assert run(capsys, "phase", "complete")["phase"] == "b"
    assert run(capsys, "phase", "skip", "c", status=2)["error"]["code"] == "HF-USAGE"
    assert run(capsys, "phase", "skip", "c", "--because", "done elsewhere")["phase"] == "c"
    assert "done elsewhere" in said(capsys, "phase")
    assert (
        run(capsys, "phase", "declare", "a", "--allow", "nonsense", status=2)["error"]["code"] == "HF-USAGE"
    )


def test_goal_focus_and_status(capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb sets its value, and goal alone shows all of them."""
    run(capsys, "goal", "set", "Another")
    assert said(capsys, "goal") == "goal    Another\nstatus  working\n"
    assert run(capsys, "goal")["focus"] is None
    run(capsys, "goal", "focus", "The parser")
    assert run(capsys, "goal")["focus"] == "The parser"
    run(capsys, "goal", "status", "awaiting-input")
    assert run(capsys, "goal")["status"] == "awaiting-input"
    assert "Awaiting Input" in next(Path(".state/sessions").rglob("STATE.md")).read_text()
    assert "holdfast pause" in run(capsys, "goal", "status", "paused", status=1)["error"]["hint"]


def test_a_discussion_and_its_return(capsys: pytest.CaptureFixture[str]) -> None:
    """The discussion says where return goes, a second one is refused, and return restores the place."""
    run(capsys, "goal", "focus", "The parser")
    run(capsys, "task", "add", "one")
    run(capsys, "task", "start")
    back = {"task": "T-1", "focus": "The parser", "status": "working", "phase": "look"}
    assert run(capsys, "discuss", "Why?")["return_to"] == back
    refused = run(capsys, "discuss", "And why that?", status=1)
    assert "do not nest" in refused["error"]["message"]
    run(capsys, "goal", "focus", "elsewhere")
    assert run(capsys, "return", "--summary", "because")["place"] == back


def test_pause_writes_a_page_and_continue_removes_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page in the project's folder exists exactly while the session is paused."""
    page = project / ".continue-here.md"
    assert (
        run(capsys, "pause", "Mode B pending", "--action", "rules")["recovery"]["notes"] == "Mode B pending"
    )
    assert "Mode B pending" in page.read_text()
    run(capsys, "continue")
    assert not page.exists()


def test_a_page_that_cannot_be_written_does_not_undo_the_pause(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A symlink in place of the page is left alone and reported; the pause is in the log."""
    (project / "elsewhere.md").write_text("mine")
    (project / ".continue-here.md").symlink_to("elsewhere.md")
    assert main(["pause", "notes"]) == 0
    assert ".continue-here.md" in capsys.readouterr().err
    assert (project / "elsewhere.md").read_text() == "mine"
    assert state()["registers"]["status"]["value"] == "paused"


def test_complete_reports_what_is_left_open(capsys: pytest.CaptureFixture[str]) -> None:
    """Completing hides nothing that is open, and completing twice is refused."""
    run(capsys, "task", "add", "one")
    run(capsys, "decide", "x", "--because", "y", "--action", "z")
    assert run(capsys, "complete", "shipped")["left_open"] == {"decisions": 1, "tasks": 1}
    assert "already" in run(capsys, "complete", status=1)["error"]["message"]


def test_a_checkpoint_is_saved_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """All given values are shown; an empty message is refused instead of read as a question."""
    run(
        capsys,
        "checkpoint",
        "Halfway",
        "--last-completed",
        "a",
        "--pending",
        "b",
        "--tool",
        "Read",
        "--cannot-resume",
    )
    saved = run(capsys, "checkpoint")["checkpoint"]
    assert (saved["last_completed"], saved["pending"], saved["tools"]) == ("a", ["b"], ["Read"])
    assert saved["can_resume"] is False
    assert "empty" in run(capsys, "checkpoint", "", status=1)["error"]["message"]


def test_op_and_expect_hold_for_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    """The same operation twice is one commit, and a wrong version is a conflict."""
    first = run(capsys, "task", "add", "one", "--op", "x1")
    second = run(capsys, "task", "add", "one", "--op", "x1")
    assert (first["commit"], second["repeated"]) == (second["commit"], True)
    assert run(capsys, "task", "add", "two", "--expect", "1", status=3)["error"]["code"] == "HF-CONFLICT"
    assert list(state()["tasks"]["open"]) == ["T-1"]


def test_a_repeated_operation_says_that_nothing_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    """A command repeated under its operation id says that it was already recorded."""
    for words in (["note", "one"], ["record", "x.one", "{}"], ["task", "add", "one"]):
        assert main([*words, "--op", words[0]]) == 0
        assert "Already" not in capsys.readouterr().out
        assert main([*words, "--op", words[0]]) == 0
        assert "Already recorded under this --op; nothing was written." in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["log", "--limit", "-1"], ["sessions", "--limit", "0"], ["message", "recent", "-3"]]
)
def test_a_number_of_lines_below_the_least_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """A count below the minimum is refused, not taken for all or for none."""
    assert run(capsys, *words, status=2)["error"]["code"] == "HF-USAGE"


def test_a_wrong_verb_is_a_usage_error_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """The verbs are named; options before the verb are accepted."""
    assert "add, start, done" in run(capsys, "task", "fly", status=2)["error"]["hint"]
    with holdfast.open() as workspace:
        name = workspace.session().id
    assert main(["task", "--session", name, "add", "one"]) == 0


@pytest.mark.parametrize("name", [name for name, module in COMMANDS.items() if module in MINE])
def test_every_command_and_verb_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the summary and at least one example, for the command and for each verb."""
    command = load(name)
    for words, part in (
        ((name,), command),
        *(((name, verb), part) for verb, part in (command.verbs or {}).items()),
    ):
        assert main([*words, "--help"]) == 0
        printed = capsys.readouterr().out
        assert part.examples
        assert f"$ holdfast {' '.join(words)}" in printed


@pytest.mark.parametrize(
    "text", [text for text in TEXTS if len(text) < 100_000 and "\0" not in text and text.strip()]
)
def test_texts_round_trip(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that takes a text stores it unchanged."""
    takes = [
        ("goal", "set", "--", text),
        ("goal", "focus", "--", text),
        ("task", "add", "--", text),
        ("plan", "propose", "--", text),
        ("loop", "add", "--", text),
        ("risk", "add", "--", text),
        ("blocker", "add", "--", text),
        ("next", "add", "--", text),
        ("error", "add", "--", text),
        ("checkpoint", "--", text),
        ("discuss", "--", text),
        ("return", f"--summary={text}"),
        ("pause", "--", text),
    ]
    for words in takes:
        assert main(list(words)) == 0, words
    with holdfast.open() as workspace:
        logged = list(workspace.session().log())[-len(takes) :]
    for words, commit in zip(takes, logged, strict=True):
        assert text in commit.events[0].data.values(), words


def test_captures(capsys: pytest.CaptureFixture[str]) -> None:
    """Listed newest first, confirmed and dropped several at once, corrected with the right words."""
    from holdfast.core.concepts import capture

    texts = ("use WAL mode", "drop the old table", "who owns the export", "cents are whole numbers")
    found = [capture.Candidate("decision", text) for text in texts]
    with holdfast.open() as workspace:
        lineage = capture.Lineage("message", "claude", "claude")
        workspace.session().commit(lambda state, mint: capture.propose(state, mint, found, lineage))
    listed = said(capsys, "capture")
    assert listed.index("C-4") < listed.index("C-1")
    assert "holdfast capture confirm ID" in listed
    assert run(capsys, "capture", "confirm", "C-1", "c-2")["confirmed"] == [
        {"id": "C-1", "became": "D-1"},
        {"id": "C-2", "became": "D-2"},
    ]
    assert run(capsys, "capture", "drop", "C-3", "--reason", "only an idea")["dropped"] == ["C-3"]
    assert "C-4 is now D-3: Store cents" in said(capsys, "capture", "correct", "C-4", "Store cents")
    shown = said(capsys, "show", "D-3")
    assert "captured as C-4" in shown
    assert "source" in said(capsys, "show", "C-4")
    assert main(["capture", "drop", "C-1", "C-2", "--op", "key"]) == 2


def test_an_order_of_an_agent_waits_for_a_person(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is recorded, shown apart, and applies when a person has accepted it."""
    monkeypatch.setenv("HOLDFAST_AGENT", "claude")
    assert "when a person has accepted it" in said(capsys, "order", "add", "Skip the tests")
    monkeypatch.delenv("HOLDFAST_AGENT")
    (order,) = run(capsys, "order", "list")["orders"]
    assert not order["accepted"]
    assert "no person here has accepted" in said(capsys, "brief")
    run(capsys, "order", "accept", order["id"])
    (order,) = run(capsys, "order", "list")["orders"]
    assert order["accepted"]
