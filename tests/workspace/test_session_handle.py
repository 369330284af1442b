"""The session handle: commands, state, time travel, concurrency."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import hints
from holdfast.errors import Conflict, NoSession, NotFound, NoWorkspace, Refused, TooLarge, Usage
from holdfast.testing.hostile import TEXTS
from holdfast.workspace.workspace import Workspace


@pytest.fixture(params=["files", "sqlite", "memory"])
def workspace(request: pytest.FixtureRequest, project: Path) -> Workspace:
    """A workspace on every embedded engine."""
    where = {"files": str(project), "sqlite": "sqlite:///memory.db", "memory": "memory:"}[request.param]
    return holdfast.open(where)


def test_a_decision_is_open_until_it_is_settled(workspace: Workspace) -> None:
    """A decision has an id immediately, and recover lists it until its outcome is recorded."""
    session = workspace.start("Ship it")
    receipt = session.decide(
        "Use SQLite", because="one file", action="migrate", alternatives=["JSON"], revisit_when="2 GB"
    )
    assert receipt.id == "D-1"
    (unsettled,) = workspace.recover()
    assert (unsettled.decision.text, unsettled.decision.action, unsettled.session) == (
        "Use SQLite",
        "migrate",
        session.name,
    )
    session.settle("d-01", "migrated")
    assert workspace.recover() == []
    (closed,) = session.state["decisions"]["closed"]
    assert (closed["outcome"], closed["ok"]) == ("migrated", True)


def test_settling_twice_is_refused_and_says_when_it_was_settled(workspace: Workspace) -> None:
    """The second outcome is refused; nothing is written."""
    session = workspace.start("Ship it")
    session.decide("A", because="b")
    session.settle("D-1", "done")
    version = session.version
    with pytest.raises(Refused, match="is settled already"):
        session.settle("D-1", "again")
    assert session.version == version


def test_acting_settles_on_exit_and_fails_on_an_exception(workspace: Workspace) -> None:
    """The decision is recorded before the block, its outcome after it, however the block ends."""
    session = workspace.start("Ship it")
    with session.acting("Deploy", because="green") as act:
        assert act.id in session.state["decisions"]["open"]
        act.outcome("deployed r7")
    with pytest.raises(ZeroDivisionError), session.acting("Divide", because="why not"):
        _ = 1 // 0
    first, second = session.state["decisions"]["closed"]
    assert (first["ok"], first["outcome"]) == (True, "deployed r7")
    assert second["ok"] is False
    assert second["outcome"].startswith("ZeroDivisionError")


@pytest.mark.parametrize(
    "text", [text for text in TEXTS if text.strip()], ids=range(len([t for t in TEXTS if t.strip()]))
)
def test_every_text_round_trips(workspace: Workspace, text: str) -> None:
    """User text is stored and read back byte for byte."""
    session = workspace.start("texts")
    session.note(text)
    session.decide(text, because=text, action=text)
    session.record("x.text", {"text": text, text[:50]: 1})
    note, decision, own = list(session.log())[1:]
    assert note.events[0].data["text"] == text
    assert decision.events[0].data["because"] == text
    assert own.events[0].data["text"] == text


def test_the_same_op_is_one_commit(workspace: Workspace) -> None:
    """A repeated operation returns the first receipt and writes nothing."""
    session = workspace.start("Ship it")
    first = session.decide("A", because="b", op="job-7")
    again = session.decide("A", because="b", op="job-7")
    assert (again.id, again.commit, again.repeated) == (first.id, first.commit, True)
    assert session.version == 2
    assert workspace.start("again", op="s").id == workspace.start("again", op="s").id


def test_expect_refuses_a_stale_version(workspace: Workspace) -> None:
    """A command with an old version is refused and changes nothing."""
    session = workspace.start("Ship it")
    version = session.version
    session.note("one", expect=version)
    with pytest.raises(Conflict):
        session.note("two", expect=version)
    assert session.version == version + 1


def test_update_retries_until_it_wins(workspace: Workspace) -> None:
    """A change that lost a race is repeated on the new state."""
    session = workspace.start("count")
    rival = workspace.session(session.id)
    tries = []

    def change(pinned: holdfast.Session) -> None:
        tries.append(pinned.version)
        if len(tries) == 1:
            rival.note("in between")
        pinned.record("x.n", {"saw": tries[-1]})

    session.update(change)
    assert tries == [1, 2]
    version = session.version
    with pytest.raises(Usage, match="one command"):
        session.update(lambda pinned: (pinned.note("a"), pinned.note("b")))
    assert session.version == version, "the second command was refused before the first was written"


def test_state_at_a_version_and_at_a_timestamp(workspace: Workspace) -> None:
    """The past is a prefix of the log; the difference between two points names what changed."""
    session = workspace.start("then", phases=["plan", "build"])
    session.note("one")
    time.sleep(0.005)
    timestamp = session.note("two").timestamp
    time.sleep(0.005)
    session.enter_phase("build")
    assert session.at(2)["notes"]["count"] == 1
    assert session.at(timestamp)["notes"]["count"] == 2
    assert session.at(0)["commits"] == 0
    assert session.diff(3, 4) == [holdfast.Change(what="phase", change="set", before="plan", after="build")]
    with pytest.raises(NotFound):
        session.at(99)
    with pytest.raises(Usage, match="neither a version nor a timestamp"):
        session.at(1.5)  # type: ignore[arg-type]


def test_phases_keep_their_declared_order(workspace: Workspace) -> None:
    """The next phase and every earlier one are allowed; a jump ahead is refused with the list."""
    session = workspace.start("work", phases=["plan", "build", "ship"])
    with pytest.raises(Refused, match="Allowed now: build"):
        session.enter_phase("ship")
    session.enter_phase("build")
    session.enter_phase("plan")
    history = session.state["phases"]["history"]
    assert [entry["phase"] for entry in history] == ["plan", "build", "plan"]
    assert history[0]["exited"] == history[1]["entered"]
    assert history[-1]["exited"] is None


def test_own_events_are_kept_and_folded_by_the_program(workspace: Workspace) -> None:
    """record stores any JSON object; project folds them among all others."""
    session = workspace.start("own")
    for n in (1, 2, 3):
        session.record("x.count", {"n": n})
    session.note("not mine")
    assert session.project(lambda total, event: total + event.data.get("n", 0), 0) == 6
    for bad in ("count", "x.", "x.UPPER", "decision.made", "x." + "a" * 99):
        with pytest.raises(Refused):
            session.record(bad, {})


def test_several_own_events_are_one_commit(workspace: Workspace) -> None:
    """record_all stores all events or none, in order, as one commit."""
    session = workspace.start("own")
    before = session.version
    receipt = session.record_all((f"x.step{n}", {"n": n}) for n in range(5))
    assert receipt.version == session.version == before + 1
    assert session.project(lambda seen, event: [*seen, event.data.get("n")], []) == [None, 0, 1, 2, 3, 4]
    with pytest.raises(Refused):
        session.record_all([("x.good", {}), ("bad", {})])
    with pytest.raises(Usage):
        session.record_all([])
    assert session.version == before + 1


@pytest.mark.parametrize("levels", [1, 31, 32, 33, 34, 100, 5_000])
def test_the_deepest_data_that_is_kept(workspace: Workspace, levels: int) -> None:
    """Data of 32 levels is stored, of one more refused, whatever the levels are; many brackets alone are no depth."""
    session = workspace.start("depth")
    for wrap in (lambda inner: {"a": inner}, lambda inner: [inner]):
        deep: object = {"a": 1}
        for number in range(levels - 1):
            deep = {"a": deep} if number == levels - 2 else wrap(deep)
        if levels > 32:
            with pytest.raises(TooLarge, match="nested"):
                session.record("x.deep", deep)  # type: ignore[arg-type]
        else:
            session.record("x.deep", deep)  # type: ignore[arg-type]
    session.record("x.wide", {"a": [{} for _ in range(500)], "text": "[{" * 500})


def test_too_large_and_too_deep_are_refused_with_advice(workspace: Workspace) -> None:
    """A text over the cap, data nested too deep, or not JSON at all: refused, nothing written."""
    session = workspace.start("limits")
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(TooLarge, match="limit"):
        session.note("a" * ((1 << 20) + 1))
    with pytest.raises(TooLarge, match="nested"):
        session.record("x.deep", deep)
    with pytest.raises(Refused):
        session.record("x.nan", {"n": float("nan")})
    with pytest.raises(Refused):
        session.record("x.obj", {"n": object()})
    with pytest.raises(Refused, match="surrogate"):
        session.note("half \ud800")
    with pytest.raises(Refused, match="empty"):
        session.note("  ")
    assert session.version == 1


def test_sessions_are_found_by_id_prefix_suffix_and_pointer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pointer, HOLDFAST_SESSION, a full id, its prefix and its random part all find the session."""
    first = workspace.start("first")
    second = workspace.start("second")
    assert workspace.session().id == second.id
    assert workspace.switch(first.id[-8:]).id == first.id
    assert workspace.session().id == first.id
    monkeypatch.setenv("HOLDFAST_SESSION", second.id)
    assert workspace.session().id == second.id
    assert workspace.session(f"alice/{first.id}").id == first.id
    for unknown in ("2020-01-01-zzzzzzzz", "../../etc", "nobody/2020-01-01-zzzzzzzz"):
        with pytest.raises((NotFound, Usage)):
            workspace.session(unknown)


def test_state_of_a_long_session_stays_small(workspace: Workspace) -> None:
    """State does not grow with history, and reopening from the snapshot gives the same state."""
    session = workspace.start("long")
    for n in range(400):
        session.decide(f"decision {n}", because="x" * 500)
        session.settle(f"D-{n + 1}", "done " * 100)
        session.note("y" * 3000)
    assert len(json.dumps(session.state)) < 60_000
    again = workspace.session(session.id)
    assert again.state == session.state
    assert again.at(session.version) == session.state


def test_no_workspace_and_no_session_say_what_to_do(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search ends at the git root; the error says how to start."""
    with pytest.raises(NoSession) as no_session:
        holdfast.open().session()
    assert "holdfast start" in hints.text(no_session.value.hint)
    inner = project / "deep" / "er"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert holdfast.open().where == str(project / ".state")
    (inner / ".git").mkdir()
    with pytest.raises(NoWorkspace):
        holdfast.open()


UPDATER = """
import sys, holdfast
session = holdfast.open(sys.argv[1]).session(sys.argv[2])
for _ in range(25):
    session.update(lambda s: s.record("x.n", {"n": s.project(lambda t, e: max(t, e.data.get("n", 0)), 0) + 1}))
"""


def test_update_from_eight_processes_loses_nothing(project: Path) -> None:
    """Eight processes that read, add one and write back count to exactly two hundred."""
    session = holdfast.open().start("count")
    arguments = [sys.executable, "-c", UPDATER, str(project), session.id]
    workers = [subprocess.Popen(arguments, env=dict(os.environ)) for _ in range(8)]
    assert [worker.wait() for worker in workers] == [0] * 8
    assert session.project(lambda top, event: [*top, event.data.get("n", 0)], []) == list(range(201))


def test_a_forked_child_and_its_parent_do_not_share_a_lock(project: Path) -> None:
    """A handle that was open before a fork works in parent and child, and nothing is lost."""
    session = holdfast.open().start("fork")
    session.note("before")
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            try:
                for _ in range(50):
                    session.note("child")
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(pid)
    for _ in range(50):
        session.note("parent")
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    assert session.version == 2 + 5 * 50
    assert [fault for fault in session.workspace.doctor() if not fault.harmless] == []


def test_a_dropped_workspace_leaves_no_file_open(project: Path) -> None:
    """A workspace that was not closed loses nothing: its files are closed with it."""
    session_id = holdfast.open(project).start("Ship it").id
    gc.collect()
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files cannot be counted here")
    before = len(os.listdir("/proc/self/fd"))
    for n in range(20):
        holdfast.open(project).session(session_id).note(f"note {n}")
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
