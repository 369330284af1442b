"""Workspaces of before the first release, whose segments lay beside the views."""

from __future__ import annotations

from pathlib import Path

import holdfast
from holdfast.workspace import upkeep


def move_back(state: Path) -> list[str]:
    """Put all segments where they lay then; returns their names."""
    names = []
    for path in sorted((state / "events").rglob("*.jsonl")):
        stream = path.parent.relative_to(state / "events")
        target = state / stream / "events" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
        names.append(path.name)
    for folder in sorted((state / "events").rglob("*"), reverse=True):
        folder.rmdir()
    return names


def test_doctor_finds_and_moves_them(project: Path) -> None:
    """Sessions, project, user and archive: named, then moved, and all that was written is there."""
    with holdfast.open(project) as workspace:
        old = workspace.start("Put away")
        upkeep.archive(workspace, f"{old.user}/{old.id}")
        session = workspace.start("Ship it")
        session.note("kept")
        workspace.project.add_fact("The tests need Redis.")
        workspace.me.prefer("editor", "vi")
    names = move_back(project / ".state")
    assert len(names) == 4
    with holdfast.open(project) as workspace:
        found = [fault for fault in workspace.doctor() if "earlier versions" in fault.what]
        assert len(found) == 4
        assert not any(fault.harmless for fault in found)
        workspace.doctor(fix=True)
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []
        assert workspace.session(session.id).state["notes"]["count"] == 1
        assert [archived.id for archived in upkeep.archived(workspace)] == [old.id]
        assert workspace.project.version == 1
        assert workspace.me.version == 1
    assert sorted(path.name for path in (project / ".state" / "events").rglob("*.jsonl")) == sorted(names)


def test_one_that_is_in_both_places_stays_in_both(project: Path) -> None:
    """Nothing is written over."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Ship it")
    (segment,) = (project / ".state" / "events" / session.stream).iterdir()
    old = project / ".state" / session.stream / "events"
    old.mkdir()
    (old / segment.name).write_bytes(b"other bytes\n")
    before = segment.read_bytes()
    with holdfast.open(project) as workspace:
        workspace.doctor(fix=True)
    assert segment.read_bytes() == before
    assert (old / segment.name).read_bytes() == b"other bytes\n"
