"""Archiving and restoring sessions, and pruning by policy."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.concepts import session as session_rules
from holdfast.errors import Forbidden, HoldfastError, Refused
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.store import faults
from holdfast.testing.crash.wrapped import CHANGES, Wrapped
from holdfast.workspace import upkeep
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.handover import hand_off
from holdfast.workspace.upkeep import DAY, Policy
from holdfast.workspace.workspace import Workspace


def work(workspace: Workspace, goal: str = "Work") -> holdfast.Session:
    session = workspace.start(goal)
    for number in range(5):
        session.note(f"note {number}")
    session.complete("done")
    return session


@pytest.fixture(params=["files", "sqlite", "memory"])
def workspace(request: pytest.FixtureRequest, project: Path, tmp_path: Path) -> Any:
    """A workspace on each engine."""
    where = {"files": str(project), "sqlite": f"sqlite:///{tmp_path / 'm.db'}", "memory": "memory:"}
    with holdfast.open(where[request.param]) as opened:
        yield opened


def test_an_archived_session_is_read_only_and_complete(workspace: Workspace) -> None:
    """After archiving everything can be read and nothing written, and the pointer is cleared."""
    session = work(workspace)
    place = f"{session.user}/{session.id}"
    before = [commit.events for commit in session.log()]
    upkeep.archive(workspace, place)
    assert workspace.current() is None
    again = workspace.session(place)
    assert [commit.events for commit in again.log()][:-1] == before
    assert again.state["notes"]["count"] == 5
    with pytest.raises(Forbidden, match="archived"):
        again.note("late")
    with pytest.raises(Forbidden, match="archived"):
        again.set_goal("late")
    assert [s.id for s in upkeep.archived(workspace)] == [session.id]


def test_a_session_is_restored(workspace: Workspace) -> None:
    """A restored session can be continued; archived again, it is complete again."""
    session = work(workspace)
    place = f"{session.user}/{session.id}"
    upkeep.archive(workspace, place)
    back = upkeep.restore(workspace, place)
    back.note("later")
    assert workspace.session().state["notes"]["count"] == 6
    upkeep.archive(workspace, place)
    assert workspace.session(place).state["notes"]["count"] == 6
    assert workspace.session(place).version == session.version
    assert workspace.doctor() == []


def test_a_handle_writes_again_after_a_restore(workspace: Workspace) -> None:
    """A handle that was refused because the session was archived writes again once somebody restored it."""
    session = workspace.start("Work")
    session.record("x.step", {})
    for _ in range(2):
        upkeep.archive(workspace, session.name)
        with pytest.raises(Forbidden, match="archived"):
            session.record("x.step", {})
        upkeep.restore(workspace, session.name)
        session.record("x.step", {})
    assert session.state["own"] == 3


def test_a_session_with_unsettled_decisions_is_not_archived(workspace: Workspace) -> None:
    """A session with an unsettled decision stays where `recover` sees it."""
    session = workspace.start("Work")
    session.decide("Do it", because="why", action="do")
    with pytest.raises(Refused, match="unsettled decision"):
        upkeep.archive(workspace)
    assert workspace.current() == f"{session.user}/{session.id}"


def test_on_disk(project: Path) -> None:
    """history/ has one segment per month folder with the session's files, and nothing is left in the old place."""
    with holdfast.open(project) as workspace:
        session = work(workspace)
        (project / ".state" / session.stream / "context").mkdir()
        (project / ".state" / session.stream / "context" / "a.md").write_text("kept")
        upkeep.archive(workspace)
        folder = project / ".state" / "history" / session.id[:7] / session.id
        (joined,) = (project / ".state" / "events" / "history" / session.id[:7] / session.id).iterdir()
        assert joined.name.startswith("00000000-")
        assert not (project / ".state" / "events" / session.stream).exists()
        assert (folder / "context" / "a.md").read_text() == "kept"
        assert json.loads((folder / "state.json").read_text())["session_id"] == session.id
        assert not (project / ".state" / session.stream).exists()
        workspace.touch(workspace.session(f"{session.user}/{session.id}"))
        workspace.publish()
        assert not (project / ".state" / session.stream).exists()


def test_two_clones_archive_to_identical_files(project: Path, tmp_path: Path) -> None:
    """Joined segments are a function of their commits: git sees the same bytes under the same name."""
    import shutil

    with holdfast.open(project) as workspace:
        session = work(workspace)
        session.commit(lambda state, mint: session_rules.archive(state))
    other = tmp_path / "other"
    shutil.copytree(project, other)
    found = []
    for root in (project, other):
        with holdfast.open(root) as workspace:
            upkeep.archive(workspace, f"{session.user}/{session.id}")
        (segment,) = (root / ".state" / "events" / "history" / session.id[:7] / session.id).iterdir()
        found.append((segment.name, segment.read_bytes()))
    assert found[0] == found[1]


class DiesAt(Wrapped):
    """A file system that fails after a number of changes."""

    def __init__(self, left: int) -> None:
        super().__init__(posix)
        self.left = left

    def around(self, call: str, path: str, perform: Any) -> Any:
        if call in CHANGES or call == "create":
            if self.left == 0:
                raise OSError(5, "dead")
            self.left -= 1
        return perform()


@pytest.mark.parametrize("death", range(0, 60, 2))
def test_a_crash_at_any_call_loses_nothing(project: Path, death: int) -> None:
    """Whatever call the process dies at, the session is complete; archiving again finishes the job."""
    with holdfast.open(project) as workspace:
        session = work(workspace)
        for name in ("context", "artifacts"):
            (project / ".state" / session.stream / name / "deep").mkdir(parents=True)
            (project / ".state" / session.stream / name / "deep" / "f.md").write_text(name)
        place = f"{session.user}/{session.id}"
        expected = [commit.events for commit in session.log()]
    dying = FilesStore(str(project / ".state"), clock=wall_clock, fs=DiesAt(death))
    try:
        upkeep.archive(Workspace(dying, user="alice", by="alice"), place)
    except (HoldfastError, OSError):
        pass
    with holdfast.open(project) as workspace:
        found = [commit.events for commit in workspace.session(place).log()]
        assert found[: len(expected)] == expected
        upkeep.archive(workspace, place)
        found = [commit.events for commit in workspace.session(place).log()]
        assert found[: len(expected)] == expected
        assert len(found) == len(expected) + 1
        assert not (project / ".state" / session.stream).exists()
        folder = project / ".state" / "history" / session.id[:7] / session.id
        assert (folder / "context" / "deep" / "f.md").read_text() == "context"
        assert (folder / "artifacts" / "deep" / "f.md").read_text() == "artifacts"
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []


def test_damage_stops_archiving(project: Path) -> None:
    """A session with an unreadable line is not archived."""
    with holdfast.open(project) as workspace:
        session = work(workspace)
    (segment,) = (project / ".state" / "events" / session.stream).iterdir()
    segment.write_bytes(segment.read_bytes().replace(b"note 2", b"note X"))
    with holdfast.open(project) as workspace, pytest.raises(HoldfastError, match="cannot be archived"):
        upkeep.archive(workspace)
    assert segment.exists()


def test_damage_in_the_archive_is_reported(project: Path) -> None:
    """Doctor checks archived sessions too, and names the damaged file."""
    with holdfast.open(project) as workspace:
        session = work(workspace)
        upkeep.archive(workspace)
    (segment,) = (project / ".state" / "events" / "history").rglob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"note 2", b"note X"))
    with holdfast.open(project) as workspace:
        (fault,) = [fault for fault in workspace.doctor() if not fault.harmless]
    assert fault.stream == session.stream
    name, _, line = fault.where.partition(":")
    assert project / ".state" / name == segment
    assert b"note X" in segment.read_bytes().splitlines()[int(line) - 1]


def test_prune_by_count_size_and_age(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run changes nothing; applied, exactly what was reported is removed, and the project's log names it."""
    sessions = [work(workspace, f"Goal {number}") for number in range(4)]
    for session in sessions:
        time.sleep(0.003)  # which is the newest is told by the millisecond
        upkeep.archive(workspace, f"{session.user}/{session.id}")
    live = work(workspace, "Still active")
    plan = upkeep.plan_prune(workspace, Policy(keep=3))
    assert [kept.session for kept in plan if kept.reason] == [sessions[0].id]
    assert len(upkeep.archived(workspace)) == 4
    upkeep.prune(workspace, Policy(keep=3))
    assert {s.id for s in upkeep.archived(workspace)} == {s.id for s in sessions[1:]}
    assert sessions[0].id in workspace.project.state["notes"]["last"][-1]["text"]
    size = plan[0].size
    upkeep.prune(workspace, Policy(max_size=int(size * 2.5)))
    assert {s.id for s in upkeep.archived(workspace)} == {s.id for s in sessions[2:]}
    monkeypatch.setattr(upkeep, "wall_clock", lambda: wall_clock() + 10 * DAY)
    assert upkeep.prune(workspace, Policy(older_than=11 * DAY)) != []
    assert len(upkeep.archived(workspace)) == 2
    upkeep.prune(workspace, Policy(older_than=9 * DAY))
    assert upkeep.archived(workspace) == []
    assert workspace.session(f"{live.user}/{live.id}").state["notes"]["count"] == 5
    with pytest.raises(Refused, match="policy is needed"):
        upkeep.prune(workspace, Policy())


class RestoresOnRemoval(Wrapped):
    """A file system on which somebody restores a session, and writes to it, when the first file is removed."""

    def __init__(self, restore: Callable[[], None]) -> None:
        super().__init__(posix)
        self.restore: Callable[[], None] | None = restore

    def unlink(self, path: str) -> None:
        if self.restore is not None and path.endswith(".jsonl"):
            restore, self.restore = self.restore, None
            restore()
        super().unlink(path)


def test_prune_keeps_a_session_that_is_restored_meanwhile(project: Path) -> None:
    """A session that somebody restores and writes to while a prune is under way stays, with its commits."""
    with holdfast.open(project) as workspace:
        sessions = [work(workspace, f"Goal {number}") for number in range(3)]
        for session in sessions:
            upkeep.archive(workspace, session.name)
    plan = upkeep.plan_prune(holdfast.open(project), Policy(keep=0))
    last = f"{plan[-1].user}/{plan[-1].session}"

    def restore() -> None:
        with holdfast.open(project) as other:
            upkeep.restore(other, last).decide("Keep this", because="acknowledged")

    pruning = FilesStore(str(project / ".state"), clock=wall_clock, fs=RestoresOnRemoval(restore))
    report = upkeep.prune(Workspace(pruning, user="alice", by="alice"), Policy(keep=0))
    assert [f"{kept.user}/{kept.session}" for kept in report if not kept.reason] == [last]
    with holdfast.open(project) as workspace:
        assert workspace.current() == last
        types = [event.type for commit in workspace.session().log() for event in commit.events]
        assert types.count("decision.made") == 1
        assert len(workspace.sessions()) == 1
        assert last in workspace.project.state["notes"]["last"][-1]["text"]


@pytest.mark.parametrize("death", range(0, 30, 2))
def test_prune_killed_at_any_call_keeps_what_the_policy_keeps(project: Path, death: int) -> None:
    """Whatever call a prune dies at, the sessions that the policy keeps are complete."""
    with holdfast.open(project) as workspace:
        sessions = [work(workspace, f"Goal {number}") for number in range(3)]
        for session in sessions:
            time.sleep(0.003)
            upkeep.archive(workspace, f"{session.user}/{session.id}")
    dying = FilesStore(str(project / ".state"), clock=wall_clock, fs=DiesAt(death))
    try:
        upkeep.prune(Workspace(dying, user="alice", by="alice"), Policy(keep=2))
    except (HoldfastError, OSError):
        pass
    with holdfast.open(project) as workspace:
        for session in sessions[1:]:
            assert workspace.session(f"{session.user}/{session.id}").state["notes"]["count"] == 5
        upkeep.prune(workspace, Policy(keep=2))
        assert {s.id for s in upkeep.archived(workspace)} == {s.id for s in sessions[1:]}


def test_rotate(workspace: Workspace) -> None:
    """Complete sessions are archived once they are idle; active ones stay."""
    done = work(workspace)
    busy = workspace.start("Busy")
    assert upkeep.rotate(workspace, idle=DAY)["archived"] == []
    assert upkeep.rotate(workspace, idle=0)["archived"] == [f"{done.user}/{done.id}"]
    assert workspace.session().id == busy.id
    assert upkeep.rotate(workspace, idle=0, policy=Policy(keep=0))["pruned"][0]["session"] == done.id


def test_rotate_reaches_sessions_that_nobody_ended(project: Path) -> None:
    """Sessions that nobody ended are closed and archived when asked for; with an unsettled action, only closed."""
    with holdfast.open(project) as workspace:
        left = workspace.start("Left")
        acting = workspace.start("Acting")
        acting.decide("Upload it", because="it is ready", action="upload dist/")
        names = [f"{session.user}/{session.id}" for session in (left, acting)]
        assert upkeep.rotate(workspace, idle=0, abandoned=True)["closed"] == []
    with (project / ".state" / "config.toml").open("a") as config:
        config.write('\n[sessions]\nabandoned_after = "0m"\n')
    with holdfast.open(project) as workspace:
        assert upkeep.rotate(workspace, idle=0)["archived"] == []
        done = upkeep.rotate(workspace, idle=0, abandoned=True)
        assert sorted(each["session"] for each in done["closed"]) == sorted(names)
        assert done["archived"] == names[:1]
        assert [entry["session"] for entry in done["waiting"]] == names[1:]


def test_the_handoff_page_follows_its_session(project: Path) -> None:
    """handoff/latest.md says who claimed the work, that it is complete, and that it is archived; edited, it is left."""
    with holdfast.open(project, by="ann") as workspace:
        session = workspace.start("Move the tables")
        hand_off(session, "half done")
        page = project / "handoff" / "latest.md"
        assert "`holdfast resume --claim` claims it." in page.read_text()
        other = workspace.start("Something else")
        session.claim("bob")
        assert "claimed by bob" in page.read_text()
        assert "--claim" not in page.read_text()
        other.complete()
        assert "Move the tables" in page.read_text()
        session.complete("moved")
        assert "The session is complete: there is nothing to claim." in page.read_text()
        upkeep.archive(workspace, f"{session.user}/{session.id}")
        assert "The session is archived: there is nothing to claim." in page.read_text()
        page.write_text(page.read_text() + "\nMy own line\n")
        edited = page.read_text()
        upkeep.restore(workspace, f"{session.user}/{session.id}").continue_()
        assert page.read_text() == edited


@pytest.mark.parametrize(("text", "size"), [("500", 500), ("10k", 10240), ("2MB", 2 << 20), ("1G", 1 << 30)])
def test_sizes(text: str, size: int) -> None:
    """Sizes are written as people write them."""
    assert upkeep.parse_size(text) == size


def test_malformed_sizes() -> None:
    """What is not a size is refused."""
    with pytest.raises(HoldfastError):
        upkeep.parse_size("many")


def test_no_leftovers_in_the_archive(project: Path) -> None:
    """Files in history/ that archiving did not put there are left alone."""
    stray = project / ".state" / "history" / "2026-01" / "notes"
    stray.mkdir(parents=True)
    (stray / "x").write_text("mine")
    with holdfast.open(project) as workspace:
        assert upkeep.archived(workspace) == []
    assert os.path.exists(stray / "x")


def test_an_archive_that_lost_its_name_is_found_and_named_again(project: Path) -> None:
    """Without the file that names the stream, the first commit identifies the archive; doctor rewrites the file."""
    with holdfast.open(project) as workspace:
        session = work(workspace)
        place = f"{session.user}/{session.id}"
        upkeep.archive(workspace, place)
    (owner,) = (project / ".state" / "history").rglob("stream")
    text = owner.read_bytes()
    for lost in (None, b"sessions/somebody/2020-01-01-aaaaaaaa\n", b"\xff"):
        if lost is None:
            owner.unlink()
        else:
            owner.write_bytes(lost)
        with holdfast.open(project) as workspace:
            assert [found.id for found in upkeep.archived(workspace)] == [session.id]
            assert [f.kind for f in workspace.doctor()] == [faults.MISSING_OWNER]
            assert [f.done for f in workspace.doctor(fix=True)] == [faults.REWRITTEN]
            assert workspace.doctor() == []
        assert owner.read_bytes() == text


def test_a_folder_in_history_that_is_no_archive_is_left_alone(project: Path) -> None:
    """Other files under history/ are neither listed nor named."""
    folder = project / ".state" / "history" / "2026-01" / "2026-01-15-abcdefgh"
    events = project / ".state" / "events" / "history" / "2026-01" / "2026-01-15-abcdefgh"
    for made in (folder, events):
        made.mkdir(parents=True)
    (events / "aaaaaaaa-1.abc123.jsonl").write_bytes(b"not a commit\n")
    with holdfast.open(project) as workspace:
        assert upkeep.archived(workspace) == []
        workspace.doctor(fix=True)
    assert not (folder / "stream").exists()


def test_status_after_an_archive_that_was_cut_short(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A death between the commit and the move leaves the pointer: status says archived, not working."""
    from holdfast.edge.cli import main

    with holdfast.open() as workspace:
        session = workspace.start("goal")
        session.commit(lambda state, mint: session_rules.archive(state))
    capsys.readouterr()
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    assert ", archived\n" in said
    assert "working" not in said
