"""Commits that were cut from a segment in place: reported as loss, and restored from the copy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.store import faults
from holdfast.workspace.workspace import Workspace


@pytest.fixture(params=["folder", "git"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "git":
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    holdfast.init(tmp_path)
    return tmp_path


def recorded(project: Path) -> tuple[str, Path]:
    """A session of four decisions, and its segment."""
    with holdfast.open(project, user="kim") as workspace:
        session = workspace.start("Ship it")
        for number in range(1, 5):
            session.decide(f"Decision {number}", because="a reason", action="do it")
        (segment,) = (project / ".state" / "events" / session.stream).glob("*.jsonl")
        return f"kim/{session.id}", segment


def cut(segment: Path, keep: int) -> None:
    """Cut all lines but the first few, in place: hard links to the file lose them too."""
    lines = segment.read_bytes().splitlines(keepends=True)
    os.truncate(segment, sum(map(len, lines[:keep])))


def losses(workspace: Workspace, name: str) -> list[holdfast.Fault]:
    return [fault for fault in workspace.session(name).peek().faults if fault.kind == faults.LOST_COMMITS]


@pytest.mark.parametrize("keep", [0, 1, 2, 4])
def test_a_cut_segment_is_reported_as_loss(project: Path, keep: int) -> None:
    """The session's own faults and doctor name the segment and how many commits it lost."""
    name, segment = recorded(project)
    cut(segment, keep)
    with holdfast.open(project, user="kim") as workspace:
        if keep:  # of a session that has lost its first commit, only doctor can tell
            (fault,) = losses(workspace, name)
            assert fault.data["commits"] == 5 - keep
            assert not fault.harmless
        found = [fault for fault in workspace.doctor() if fault.kind == faults.LOST_COMMITS]
        assert [fault.data["commits"] for fault in found] == [5 - keep]


def test_a_loss_is_not_forgotten_by_the_next_commit(project: Path) -> None:
    """A snapshot taken after the loss still records it, and no short id is used twice."""
    name, segment = recorded(project)
    cut(segment, 2)
    with holdfast.open(project, user="kim") as workspace:
        assert workspace.session(name).decide("Another", because="a reason", action="do it").id == "D-5"
    with holdfast.open(project, user="kim") as workspace:
        assert len(losses(workspace, name)) == 1


@pytest.mark.parametrize("repair", ["heal", "doctor"])
def test_lost_commits_are_restored_from_the_copy(project: Path, repair: str) -> None:
    """All decisions are back, each once, and nothing is reported any more."""
    name, segment = recorded(project)
    cut(segment, 2)
    with holdfast.open(project, user="kim") as workspace:
        workspace.session(name).decide("Another", because="a reason", action="do it")
        done = workspace.heal() if repair == "heal" else workspace.doctor(fix=True)
        assert (faults.LOST_COMMITS, faults.RECOVERED) in [(fault.kind, fault.done) for fault in done]
    with holdfast.open(project, user="kim") as workspace:
        session = workspace.session(name)
        assert [decision.id for decision in session.decisions.open] == ["D-1", "D-2", "D-3", "D-4", "D-5"]
        assert losses(workspace, name) == []
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []


def test_an_overwritten_segment_is_restored(project: Path) -> None:
    """A file that was overwritten with other text is reported, and its commits are restored."""
    name, segment = recorded(project)
    with segment.open("r+b") as file:
        file.write(b"not a commit\n")
        file.truncate()
    with holdfast.open(project, user="kim") as workspace:
        assert any(fault.kind == faults.LOST_COMMITS for fault in workspace.doctor())
        workspace.heal()
        assert len(workspace.session(name).decisions.open) == 4


def test_what_no_copy_has_is_accepted_once(project: Path) -> None:
    """If no copy has the commits, doctor says so once and the log continues."""
    name, segment = recorded(project)
    for folder in (project / ".state" / "local" / "copies", project / ".git" / "holdfast" / "copies"):
        for copy in folder.rglob("*.jsonl"):
            copy.unlink()
    cut(segment, 2)
    with holdfast.open(project, user="kim") as workspace:
        done = [fault.done for fault in workspace.doctor(fix=True) if fault.kind == faults.LOST_COMMITS]
        assert done == [faults.ACCEPTED]
    with holdfast.open(project, user="kim") as workspace:
        assert losses(workspace, name) == []
        assert workspace.session(name).decide("Go on", because="a reason").id == "D-5"


def test_a_checkout_is_no_loss(tmp_path: Path) -> None:
    """A branch without the newest segment hides its commits; nothing is lost."""

    def git(*words: str) -> None:
        identity = ("-c", "user.name=kim", "-c", "user.email=kim@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    holdfast.init(tmp_path)
    name, _ = recorded(tmp_path)
    git("add", "-A")
    git("commit", "-qm", "First")
    git("checkout", "-qb", "other")
    with holdfast.open(tmp_path, user="kim") as workspace:
        workspace.session(name).decide("Only here", because="a reason")
    git("add", "-A")
    git("commit", "-qm", "Second")
    git("checkout", "-q", "-")
    with holdfast.open(tmp_path, user="kim") as workspace:
        assert len(workspace.session(name).decisions.open) == 4
        assert losses(workspace, name) == []
        assert [fault for fault in workspace.doctor() if fault.kind == faults.LOST_COMMITS] == []
