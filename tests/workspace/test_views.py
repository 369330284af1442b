"""Views: generated from the state, sealed, never over a person's edit."""

from __future__ import annotations

import json
from pathlib import Path

import holdfast
from holdfast.views import seal


def view(project: Path, session: holdfast.Session, name: str) -> Path:
    return project / ".state" / session.stream / name


def test_views_follow_every_commit(project: Path) -> None:
    """After a command the views show it; a second publish changes no byte."""
    with holdfast.open() as workspace:
        session = workspace.start("sealed: tricky goal")
        session.decide("A", because="b")
    state = view(project, session, "state.json").read_text()
    assert json.loads(state)["decisions"]["made"] == 1
    assert json.loads(state)["goal"] == "sealed: tricky goal"
    markdown = view(project, session, "STATE.md").read_bytes()
    assert seal.condition(markdown) == seal.condition(state.encode()) == "intact"
    with holdfast.open() as workspace:
        workspace.touch(workspace.session())
    assert view(project, session, "STATE.md").read_bytes() == markdown


def test_broken_and_missing_views_heal(project: Path) -> None:
    """The next command regenerates empty, garbage, conflicted and missing views."""
    with holdfast.open() as workspace:
        session = workspace.start("heal")
    good = view(project, session, "STATE.md").read_bytes()
    conflicted = b"<<<<<<< ours\n" + good + b"=======\n" + good + b">>>>>>> theirs\n"
    for damage in (b"", b"\0\0\0", b"\xff\xfe", conflicted, None):
        path = view(project, session, "STATE.md")
        path.unlink() if damage is None else path.write_bytes(damage)
        with holdfast.open() as workspace:
            workspace.touch(workspace.session())
            assert all(fault.harmless for fault in workspace.publish())
        assert path.read_bytes() == good


def test_an_edited_view_is_left_alone_and_reported(project: Path) -> None:
    """A person's edit of a view is neither reverted nor silently ignored."""
    with holdfast.open() as workspace:
        session = workspace.start("edit me")
    path = view(project, session, "STATE.md")
    edited = path.read_text() + "\nmy own line\n"
    path.write_text(edited)
    with holdfast.open() as workspace:
        workspace.session().note("more")
        (fault,) = workspace.publish()
        assert "edited by hand" in fault.what
        assert any("edited by hand" in fault.what for fault in workspace.doctor())
    assert path.read_text() == edited


def test_a_stale_view_of_an_older_commit_is_regenerated(project: Path) -> None:
    """A view that git or a backup restored is intact but old: it is replaced."""
    with holdfast.open() as workspace:
        session = workspace.start("old")
    path = view(project, session, "state.json")
    old = path.read_bytes()
    with holdfast.open() as workspace:
        workspace.session().note("new")
    new = path.read_bytes()
    path.write_bytes(old)
    with holdfast.open() as workspace:
        workspace.touch(workspace.session())
    assert path.read_bytes() == new != old
