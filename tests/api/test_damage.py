"""No wrong state is called sound: damage under a snapshot is seen, and state, snapshot, view and log are compared."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.workspace import publish


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    monkeypatch.chdir(tmp_path)
    with holdfast.init(tmp_path) as workspace:
        session = workspace.start("Stay sound")
        for number in range(5):
            session.settle(session.decide(f"decision {number}", because="x", action="y").id, "done")
    return tmp_path


def segment(project: Path) -> Path:
    (found,) = (project / ".state/events/sessions").rglob("*.jsonl")
    return found


def flip(path: Path, line: int) -> None:
    """Change one byte of a line in place, as a bad disk or an editor does."""
    lines = path.read_bytes().split(b"\n")
    changed = bytearray(lines[line])
    changed[changed.index(b'"by":"') + 6] ^= 1
    at = sum(len(one) + 1 for one in lines[:line])
    before = path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.seek(at)
        file.write(changed)
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def test_status_sees_a_flipped_byte_that_the_snapshot_covers(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snapshot has the whole state, and yet the first opening after the flip names the damaged line."""
    path = segment(project)
    flip(path, 3)
    main(["status", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert f"{path.name}:4" in json.dumps(said)
    with holdfast.open(project) as workspace:
        assert any(f"{path.name}:4" in fault.where for fault in workspace.session().peek().faults)


def test_a_later_commit_does_not_hide_the_damage(project: Path) -> None:
    """A commit after the flip saves a new snapshot, and that one still names the damaged line."""
    path = segment(project)
    flip(path, 3)
    with holdfast.open(project) as workspace:
        workspace.session().note("after the flip")
    with holdfast.open(project) as workspace:
        assert any(f"{path.name}:4" in fault.where for fault in workspace.session().peek().faults)


def test_a_process_that_stays_open_sees_the_flip(project: Path) -> None:
    """A handle that has read and written the segment checks it again when its time changes and its length does not."""
    with holdfast.open(project) as workspace:
        session = workspace.session()
        session.note("before the flip")
        path = segment(project)
        flip(path, 3)
        session.note("after the flip")
        assert any(f"{path.name}:4" in fault.where for fault in session.peek().faults)


def test_a_flip_during_a_burst_is_found_by_the_next_process(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quick appends do not look at the segment's time, so the snapshot of a burst makes the next opening verify it."""
    from holdfast.store.files import segment_set

    monkeypatch.setattr(segment_set, "_BURST_MS", 3_600_000)
    with holdfast.open(project) as workspace:
        session = workspace.session()
        session.note("begins the burst")
        session.note("in the burst: its time is not known")
        monkeypatch.setattr(segment_set, "_BURST_MS", 0)  # and now it is over
        path = segment(project)
        flip(path, 3)
    with holdfast.open(project) as workspace:
        assert any(f"{path.name}:4" in fault.where for fault in workspace.session().peek().faults)


def test_an_untouched_segment_is_not_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the snapshot covers is verified again only if the file was written to since."""
    from holdfast.store.files import segment_set

    with holdfast.open(
        project
    ) as workspace:  # on a slow machine the burst was over when its snapshot was saved
        assert workspace.session().version == 11
    monkeypatch.setattr(segment_set.SegmentSet, "_is_intact", lambda *_: pytest.fail("read again"))
    with holdfast.open(project) as workspace:
        assert workspace.session().version == 11


def spoil_snapshot(workspace: holdfast.Workspace) -> holdfast.Session:
    """Save a snapshot, and views of it, that count more decisions than the log has."""
    session = workspace.session()
    state = session.peek().state
    state["decisions"]["made"] = 1375
    session.peek().save()
    for name in ("state.json", "STATE.md"):
        workspace.store.put(f"{session.stream}/{name}", publish.render(name, state))
    return session


@pytest.mark.parametrize("command", ["doctor", "validate", "verify"])
def test_a_wrong_state_is_never_called_sound(
    project: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Each check folds the log and names the snapshot and the views that say something else."""
    with holdfast.open(project) as workspace:
        spoil_snapshot(workspace)
    with holdfast.open(project) as workspace:
        assert workspace.session().decisions.opened == 1375, "every command believes the snapshot"
    assert main([command, "--json"]) == (5 if command == "doctor" else 1)
    said = capsys.readouterr().out
    assert "local/snapshots/" in said
    assert "state.json" in said
    assert "differs from the log" in said


def test_doctor_rebuilds_a_wrong_state(project: Path) -> None:
    """With fix, snapshot and views are made from the log, and the next check finds nothing."""
    with holdfast.open(project) as workspace:
        session = spoil_snapshot(workspace)
    with holdfast.open(project) as workspace:
        assert [fault.kind for fault in workspace.doctor(fix=True)][:1] == ["wrong-state"]
    with holdfast.open(project) as workspace:
        assert workspace.doctor() == []
        assert workspace.session().decisions.opened == 5
        shown = json.loads(workspace.store.get(f"{session.stream}/state.json") or b"")
        assert shown["decisions"]["made"] == 5
