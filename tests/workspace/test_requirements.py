"""Requirements of the source documents that no other test covers; docs/coverage.md names them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.timestamps import iso
from holdfast.edge.cli import main
from holdfast.workspace import workspace as clocks


@pytest.fixture
def workspace(project: Path) -> Iterator[holdfast.Workspace]:
    """A workspace in a project's folder."""
    with holdfast.open(project) as opened:
        yield opened


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def work(session: holdfast.Session) -> None:
    """A little of everything."""
    session.decide("Use A", because="b", action="c")
    session.add_task("T")
    session.start_task("T-1")
    session.add_loop("Why?")
    session.checkpoint("half")
    session.note("n")


def test_sessions_share_no_file(workspace: holdfast.Workspace, project: Path) -> None:
    """Work on one session changes no byte of another one's folder, of the project's or of the user's."""
    first, second = workspace.start("one"), workspace.start("two")
    work(first)
    workspace.publish()
    other = files_in(Path(workspace.where) / first.stream)
    work(second)
    workspace.publish()
    assert files_in(Path(workspace.where) / first.stream) == other
    assert not (Path(workspace.where) / "project").exists()
    assert not (Path(workspace.where) / "users").exists()


def test_users_have_folders_of_their_own(project: Path) -> None:
    """A session is in its user's folder, and the users' folders share nothing."""
    for user in ("ann", "bob"):
        with holdfast.open(project, user=user) as workspace:
            work(workspace.start("g"))
            workspace.me.prefer("theme", "dark")
    for part in ("sessions", "users"):
        assert sorted(path.name for path in (project / ".state" / part).iterdir()) == ["ann", "bob"]


def test_the_pointer_changes_only_with_the_session(workspace: holdfast.Workspace) -> None:
    """No command on a session touches the pointer; switching does, and it names the session first."""
    first = workspace.start("one")
    pointer = Path(workspace.where) / "local" / "current"
    before = pointer.stat().st_mtime_ns, pointer.read_bytes()
    work(first)
    workspace.publish()
    assert (pointer.stat().st_mtime_ns, pointer.read_bytes()) == before
    second = workspace.start("two")
    assert pointer.read_text().splitlines()[0] == f"{second.user}/{second.id}"


def test_the_readme_explains_the_folder(project: Path) -> None:
    """Purpose, form of the ids, layout, and the retention of old sessions are in the README that init writes."""
    text = (project / ".state" / "README.md").read_text()
    for word in (
        "memory",
        "2026-01-21-a1b2c3d4",
        "sessions/",
        "events/",
        "context/",
        "history/",
        "local/",
        "archived",
    ):
        assert word in text, word


def test_phases_have_times_of_entering_and_leaving(workspace: holdfast.Workspace) -> None:
    """A phase that was left says when, the present one does not, and state.json shows both."""
    session = workspace.start("g", phases=["look", "fix"])
    session.enter_phase("fix")
    workspace.publish()
    shown = json.loads((Path(workspace.where) / session.stream / "state.json").read_text())["phase_history"]
    assert [entry["phase"] for entry in shown] == ["look", "fix"]
    assert shown[0]["entered_at"] <= shown[0]["exited_at"] == shown[1]["entered_at"]
    assert shown[1]["exited_at"] is None


def test_questions_by_several_criteria(
    workspace: holdfast.Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Decisions by one agent, of the last days, about a word: one query, and each criterion narrows it."""
    session = workspace.start("g")
    where = workspace.where
    day = 86_400_000
    now = clocks.wall_clock()
    for days, agent, text in (
        (20, "ann", "state"),
        (3, "ann", "State engine"),
        (2, "bob", "state"),
        (1, "ann", "x"),
    ):
        monkeypatch.setattr(clocks, "wall_clock", lambda at=now - days * day: at)
        with holdfast.open(where, by=agent) as other:
            other.session(session.id).decide(text, because="b")
            other.session(session.id).note(text)
    monkeypatch.undo()
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    monkeypatch.chdir(Path(where).parent)

    def ask(*words: str) -> list[str]:
        assert main(["log", *words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["commits"]
        return [event["data"]["text"] for commit in found for event in commit["events"]]

    assert ask("--type", "decision", "--by", "ann", "--grep", "state", "--limit", "0") == [
        "State engine",
        "state",
    ]
    assert ask("--type", "decision", "--by", "ann", "--grep", "state", "--since", "7d") == ["State engine"]
    assert ask("--type", "decision", "--until", iso(now - 10 * day)[:16]) == ["state"]
    assert ask("--type", "decision", "--since", "7d", "--by", "bob") == ["state"]
    assert len(ask("--type", "note", "--limit", "2")) == 2
    assert ask("--type", "nothing") == []


def test_everything_open_says_when_and_by_whom(workspace: holdfast.Workspace) -> None:
    """Each open entry of each collection has a time, an actor and an origin; so have the single values."""
    session = workspace.start("g")
    work(session)
    session.propose_plan("p", "steps")
    session.add_risk("r")
    session.add_blocker("b")
    session.add_next("x")
    session.add_error("e")
    session.create_batch(["x"])
    state = session.state
    entries = [
        entry
        for part in state.values()
        if isinstance(part, dict) and isinstance(part.get("open"), dict)
        for entry in part["open"].values()
    ]
    assert len(entries) >= 9
    for entry in [*entries, *state["registers"].values()]:
        assert entry["at"] <= state["updated"]
        assert entry["by"]


def test_fifty_thousand_items(workspace: holdfast.Workspace) -> None:
    """A batch of the largest size knows what is done and what is next, in a state of a few kilobytes."""
    session = workspace.start("g")
    made = session.create_batch([f"item {n}" for n in range(50_000)], done=range(0, 50_000, 2))
    me = {"host": "h"}
    assert session.claim_item(made.id, me) == 1
    session.finish_item(made.id, 1, me, "fine")
    assert session.item_result(made.id, 1) == "fine"
    assert session.claim_item(made.id, me) == 3
    workspace.publish()
    assert (Path(workspace.where) / session.stream / "state.json").stat().st_size < 10_000


def test_a_compaction_leaves_what_governs_alone(workspace: holdfast.Workspace) -> None:
    """Decisions, risks, blockers, next actions and legal reviews are unchanged after any number of compactions."""
    session = workspace.start("g")
    work(session)
    session.add_risk("r")
    session.add_blocker("b")
    session.add_next("x")
    session.legal_review("licence", outcome="fine")
    parts = ("decisions", "risks", "blockers", "next", "legal")
    before = {name: session.state[name] for name in parts}
    for _ in range(3):
        session.compacted("what the summariser kept", trigger="auto")
    assert {name: session.state[name] for name in parts} == before
    assert session.state["compactions"]["count"] == 3


def test_the_summary_of_a_discussion_is_kept(workspace: holdfast.Workspace) -> None:
    """What came out of a discussion is in the log and among the recent updates."""
    session = workspace.start("g")
    session.discuss("Why?")
    session.return_("Because of X")
    assert [e.data.get("summary") for c in session.log() for e in c.events][-1] == "Because of X"
    assert "Because of X" in session.state["recent"][-1]["text"]


def test_local_notes_can_be_lost(workspace: holdfast.Workspace, project: Path) -> None:
    """Without local/ (pointer, snapshots, keys) everything is readable, and work continues."""
    session = workspace.start("g")
    work(session)
    before = session.state
    workspace.close()
    shutil.rmtree(project / ".state" / "local")
    with holdfast.open(project) as again:
        found = again.session(session.id)
        assert {**found.state, "numbers": None} == {**before, "numbers": None}
        found.note("on")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_page_keeps_its_permissions(workspace: holdfast.Workspace, project: Path, mode: int) -> None:
    """A project file that holdfast changes keeps its permissions."""
    page = project / "AGENTS.md"
    page.write_text("# Mine\n")
    page.chmod(mode)
    workspace.start("g")
    workspace.close()
    assert main(["agents-md", "block"]) == 0
    assert "# Mine" in page.read_text()
    assert page.read_text() != "# Mine\n"
    assert stat.S_IMODE(page.stat().st_mode) == mode


def test_a_checkpoint_starts_no_process(project: Path) -> None:
    """The one-liner runs nothing: no fork, no exec, no shell, no socket."""
    script = (
        "import sys\n"
        "ran = []\n"
        "forbidden = ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn', 'os.fork', 'socket.connect')\n"
        "sys.addaudithook(lambda event, arguments: event in forbidden and ran.append(event))\n"
        "import holdfast\n"
        "print(holdfast.checkpoint('half', tools=['Read']), ran)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(holdfast.__file__).parents[1])},
    )
    assert ran.stdout == "True []\n"


def test_the_same_commits_in_every_engine(project: Path, tmp_path: Path) -> None:
    """The same work in files, SQLite and memory leaves the same events and the same state."""
    found = {}
    for name, where in (
        ("files", str(project)),
        ("sqlite", f"sqlite:///{tmp_path}/s.db"),
        ("memory", "memory:"),
    ):
        with holdfast.open(where, user="alice", by="me") as workspace:
            session = workspace.start("g", phases=["look", "fix"])
            work(session)
            session.settle("D-1", "done")
            events = [[event.type, event.data] for commit in session.log() for event in commit.events]
            events[0][1]["session"] = ""
            found[name] = json.dumps([[t, {k: v for k, v in d.items() if k != "saw"}] for t, d in events])
    assert found["files"] == found["sqlite"] == found["memory"]
