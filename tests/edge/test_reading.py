"""What people read: log, show, diff, decisions, status, DECISIONS.md."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import Refused
from holdfast.testing.hostile import TEXTS
from holdfast.views import seal
from holdfast.workspace import upkeep
from holdfast.workspace.decision_list import Wanted, decisions


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main([*words]) == status
    return capsys.readouterr().out


def data(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Any:
    return json.loads(said(capsys, *words, "--json", status=status))


@pytest.fixture
def session(project: Path) -> Iterator[holdfast.Session]:
    """A session with a settled action, a choice, an unsettled action, and a decision of the project."""
    with holdfast.open(project, by="kim") as workspace:
        session = workspace.start("Ship it", phases=["plan", "build"])
        session.add_task("Migrate the store")
        session.add_task("Write the importer", depends_on=["T-1"])
        session.decide(
            "Use WAL", because="8 writers", action="turn it on", task="T-1", alternatives=["a", "b"]
        )
        session.settle("D-1", "on since noon")
        session.decide("Keep JSON", because="git diff", revisit_when="1 GB")
        session.decide("No WAL", because="NFS", action="turn it off", supersedes="D-1")
        session.record("x.build", {"ok": True})
        workspace.project.decide("English", because="many readers")
        yield session


def test_the_log_is_sentences(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Who did what and when, newest first, one line each."""
    lines = said(capsys, "log").splitlines()
    assert lines[0].endswith('kim recorded x.build: {"ok": true}')
    assert lines[1].endswith("kim decided D-3: No WAL because NFS; announced: turn it off (replaces D-1)")
    assert any(line.endswith("kim settled D-1: on since noon") for line in lines)


def test_the_raw_log_is_lines_of_json(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is one commit, the same as in the JSON object."""
    raw = [json.loads(line) for line in said(capsys, "log", "--raw").splitlines()]
    assert raw == data(capsys, "log")["commits"]
    assert len(raw) == session.version


def test_a_record_as_a_page(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Title, fields, links in both directions and history; programs get the same as data."""
    page = said(capsys, "show", "d-1")
    assert page.startswith("D-1  decision, settled\n")
    for part in (
        "because     8 writers",
        "to do       turn it on",
        "outcome     on since noon",
        "not chosen  a",
    ):
        assert part in page
    assert "belongs to T-1 (task, open): Migrate the store" in page
    assert "replaced by D-3 (decision, unsettled): No WAL" in page
    assert "kim settled D-1: on since noon" in page.partition("History")[2]
    found = data(capsys, "show", "D-1")
    assert found["record"]["fields"]["because"] == "8 writers"
    assert [event["type"] for event in found["events"]] == [
        "decision.made",
        "decision.settled",
        "decision.made",
    ]
    assert "has D-1 (decision, settled): Use WAL" in said(capsys, "show", "T-1")


def test_a_record_of_the_project_is_found_from_a_session(
    session: holdfast.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id that only the project has needs no option, also where no session is open."""
    fact = session.workspace.project.add_fact("The API is frozen").id
    assert "The API is frozen" in said(capsys, "show", "F-1")
    assert data(capsys, "show", fact)["stream"] == "project"
    assert data(capsys, "show", "F-9", status=4)["error"]["code"] == "HF-NOT-FOUND"
    (Path(session.workspace.where) / "local/current").unlink()
    assert "The API is frozen" in said(capsys, "show", "F-1")


def test_the_state_at_a_point_is_a_page(
    session: holdfast.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person gets the page, a program the state."""
    assert said(capsys, "show", "--at", "2").startswith("# Session State: Ship it\n")
    assert data(capsys, "show", "--at", "2")["version"] == 2


def test_diff_in_sentences(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence a change; bookkeeping is left to the JSON object."""
    text = said(capsys, "diff", "1", "7")
    assert "+ Task T-1 was added: Migrate the store" in text
    assert "✓ Decision D-1 (Use WAL) was settled: on since noon" in text
    assert "+ Decision D-2 was added: Keep JSON" in text
    assert said(capsys, "diff", "3", "3") == "No changes.\n"


def test_open_tasks_are_in_the_status(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left to do is visible without another command."""
    text = said(capsys, "status")
    assert "T-1  Migrate the store" in text
    assert "T-2  Write the importer" in text
    assert "3 decisions, 1 settled, 1 unsettled" in text


def test_decisions_of_all_sessions(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions, the archive and the project, newest first, with reason, outcome and place."""
    with holdfast.open(by="ann") as workspace:
        old = workspace.start("Old work")
        old.decide("Tabs", because="habit")
        upkeep.archive(workspace, old.name)
    text = said(capsys, "decisions")
    assert text.startswith("5 decisions, newest first: 1 unsettled, 1 settled, 3 choices\n")
    assert "    because  8 writers\n    to do    turn it on\n    outcome  on since noon\n" in text
    found = data(capsys, "decisions")["decisions"]
    assert [entry["text"] for entry in found] == ["Tabs", "English", "No WAL", "Keep JSON", "Use WAL"]
    assert found[0]["session"] == old.id
    assert found[1]["user"] == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--open"], ["No WAL"]),
        (["--settled"], ["Use WAL"]),
        (["--failed"], []),
        (["--choices"], ["English", "Keep JSON"]),
        (["--project"], ["English"]),
        (["--by", "kim", "--limit", "1"], ["English"]),
        (["--by", "nobody"], []),
        (["--grep", "WRITERS"], ["Use WAL"]),
        (["--since", "1d"], ["English", "No WAL", "Keep JSON", "Use WAL"]),
        (["--until", "2020-01-01"], []),
    ],
)
def test_filters_of_decisions(
    session: holdfast.Session, capsys: pytest.CaptureFixture[str], words: list[str], expected: list[str]
) -> None:
    """Each filter narrows the list; an empty answer says where it looked."""
    assert [entry["text"] for entry in data(capsys, "decisions", *words)["decisions"]] == expected
    if not expected:
        assert said(capsys, "decisions", *words).startswith("No decision matches in 2 streams")


def test_decisions_of_one_session(session: holdfast.Session, capsys: pytest.CaptureFixture[str]) -> None:
    """``--session`` limits the list; the current session does not."""
    holdfast.open().start("Another")
    assert len(data(capsys, "decisions", "--session", session.id)["decisions"]) == 3
    assert len(data(capsys, "decisions")["decisions"]) == 4
    assert data(capsys, "decisions", "--session", "2020-01-01-aaaaaaaa", status=4)["error"]


def test_decisions_in_python(session: holdfast.Session) -> None:
    """The same as typed values; ``session`` is what ``Workspace.session`` takes."""
    workspace = session.workspace
    (open_one,) = workspace.decisions(status="unsettled")
    assert (open_one.session, open_one.decision.text) == (session.name, "No WAL")
    assert [found.decision.choice for found in workspace.decisions(status="choice")] == [True, True]
    assert workspace.decisions(text="english")[0].session == ""


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["act", "choose", "settle", "note", "replace"]), st.sampled_from(TEXTS)),
        max_size=25,
    )
)
def test_the_list_agrees_with_the_state(project: Path, steps: list[tuple[str, str]]) -> None:
    """Random work: the list has the same unsettled, settled and chosen decisions as the state."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Random")
        for step, text in steps:
            text = (text.strip() and text[:2000]) or "x"
            try:
                if step == "act":
                    session.decide(text, because=text, action=text)
                elif step == "choose":
                    session.decide(text, because=text)
                elif step == "settle":
                    session.settle("D-1", text, ok=len(text) % 2 == 0)
                elif step == "replace":
                    session.decide(text, because=text, supersedes="D-1")
                else:
                    session.note(f'"decision.made" {text}')
            except (Refused, holdfast.NotFound):
                pass
        state = session.state["decisions"]
        found = decisions(workspace, Wanted(stream=session.stream)).entries
    assert len(found) == state["made"]
    assert {entry["id"] for entry in found if entry["status"] == "unsettled"} == set(state["open"])
    for kept in (*state["open"].values(), *state["closed"]):
        (entry,) = [entry for entry in found if entry["id"] == kept["id"]]
        assert entry["superseded_by"] == kept["superseded_by"]
        assert entry["settled_at"] == kept.get("settled_at")
        assert entry["ok"] == kept.get("ok")
        assert (entry["choice"], entry["rivals"]) == (kept.get("choice", False), kept.get("rivals", []))


def test_the_page_of_decisions_is_a_view(session: holdfast.Session) -> None:
    """It is written with the other views, sealed, regenerated when stale, and left alone when edited."""
    session.workspace.publish()
    page = Path(session.workspace.where) / session.stream / "DECISIONS.md"
    text = page.read_text()
    assert seal.condition(text.encode()) == "intact"
    assert text.index("### D-3: No WAL") < text.index("## Decided") < text.index("### D-1: Use WAL")
    session.decide("Another", because="why not")
    session.workspace.publish()
    assert "### D-4: Another" in page.read_text()
    page.write_text(page.read_text().replace("why not", "I say so"))
    session.note("more")
    session.workspace.touch(session)
    (fault,) = session.workspace.publish()
    assert fault.where.endswith("DECISIONS.md")
    assert "I say so" in page.read_text()
    page.unlink()
    session.workspace.touch(session)
    session.workspace.publish()
    assert "why not" in page.read_text()


def test_a_session_without_decisions_has_no_page_of_them(project: Path) -> None:
    """Nothing is written for what is empty."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Quiet")
        session.note("a")
    assert sorted(path.name for path in (project / ".state" / session.stream).iterdir()) == [
        "STATE.md",
        "state.json",
    ]


def test_a_page_without_decisions_is_removed(project: Path) -> None:
    """Decisions that git took away leave no page: clones with the same commits have the same files."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
    segments = project / ".state" / "events" / session.stream
    before = {path: path.read_bytes() for path in segments.glob("*.jsonl")}
    with holdfast.open(project) as workspace:
        workspace.session().decide("x", because="y")
    page = project / ".state" / session.stream / "DECISIONS.md"
    stale = page.read_bytes()
    page.unlink()
    for path in segments.glob("*.jsonl"):
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    shutil.rmtree(project / ".state" / "local")
    page.write_bytes(stale)
    with holdfast.open(project) as workspace:
        again = workspace.session(session.name)
        assert again.version == 1
        workspace.doctor(fix=True)
    assert not page.exists()


def test_decide_says_what_it_recorded(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an action: how to settle it. Without: that it is a choice, and how to announce an action."""
    holdfast.open(project).start("Work")
    assert said(capsys, "decide", "x", "--because", "y", "--action", "z").startswith(
        "Recorded D-1. When done: "
    )
    assert said(capsys, "decide", "x", "--because", "y").startswith("Recorded D-2, a choice.")
    assert data(capsys, "decide", "x", "--because", "y")["choice"] is True
    assert [entry["id"] for entry in data(capsys, "recover")["unsettled"]] == ["D-1"]


def test_a_choice_does_not_hold_back_the_archive(project: Path) -> None:
    """Only an announced action does; a block of code is one, named or not."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.decide("Keep JSON", because="git diff")
        upkeep.archive(workspace, session.name)
        other = workspace.start("More")
        with other.acting("Deploy", because="green"):
            assert [found.decision.text for found in workspace.recover()] == ["Deploy"]
            with pytest.raises(Refused, match="unsettled decision"):
                upkeep.archive(workspace, other.name)
        assert workspace.recover() == []


def test_lines_added_to_the_lists_of_the_page(
    session: holdfast.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """``sync`` imports a next action that a person typed; a removed one is reported, not dropped in silence."""
    session.add_next("Renew the key")
    session.workspace.publish()
    page = Path(session.workspace.where) / session.stream / "STATE.md"
    line = "- N-1: Renew the key\n"
    assert line in page.read_text()
    page.write_text(page.read_text().replace(line, "- Call Ann\n"))
    text = said(capsys, "sync", status=1)
    assert "new next action: nothing → Call Ann" in text
    assert "a removed line cannot be imported: N-1: Renew the key" in text
    said(capsys, "sync", "--accept")
    again = holdfast.open().session()
    assert [entry.text for entry in again.next_actions.open] == ["Renew the key", "Call Ann"]
