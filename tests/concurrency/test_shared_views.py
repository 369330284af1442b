"""Several processes that write to one session: one of them writes its views, and nobody reads the whole log for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import holdfast
from holdfast.store.files.segment_set import SegmentSet
from holdfast.views import seal
from holdfast.workspace import publish
from holdfast.workspace.clock import wall_clock


def view(session: holdfast.Session) -> bytes:
    found = session.workspace.store.get(f"{session.stream}/state.json")
    assert found is not None
    return found


def test_fresh_views_of_another_process_are_left(tmp_path: Path) -> None:
    """A view of less than a second ago counts as fresh; an older one, or none at all, does not."""
    with holdfast.init(tmp_path) as workspace:
        session = workspace.start("Share the work")
        assert not publish.is_fresh(session, wall_clock())
        workspace.publish()
        now = wall_clock()
        assert publish.is_fresh(session, now - 500)
        assert not publish.is_fresh(session, now + 1500)
        workspace.store.put(f"{session.stream}/state.json", b"\xff garbage")
        assert not publish.is_fresh(session, now)


def test_views_are_complete_when_all_have_closed(tmp_path: Path) -> None:
    """Whoever wrote the views last, after closing they show every commit."""
    with holdfast.init(tmp_path) as first:
        name = first.start("Share the work").name
        with holdfast.open(tmp_path) as second:
            for number in range(20):
                first.session(name).record("x.one", {"n": number})
                second.session(name).note(f"note {number}")
    with holdfast.open(tmp_path) as workspace:
        session = workspace.session(name)
        assert seal.is_current(view(session), session.peek().commits)
        assert session.version == 41


def test_a_view_of_another_process_costs_no_reading_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the log has the commit that a view shows is found from the end, once the order of the log is known."""
    with holdfast.init(tmp_path) as mine:
        session = mine.start("Share the work")
        with holdfast.open(tmp_path) as other:
            theirs = other.session(session.name)
            theirs.note("published by the other process")
            other.publish()
            session.note("mine")
            mine.publish()  # reads everything once
            theirs.note("published again")
            other.publish()
            session.note("mine again")
            monkeypatch.setattr(SegmentSet, "_read_all", lambda *_: pytest.fail("reads everything"))
            assert mine.publish() == []
            assert seal.head(view(session)) == session.peek().head


def test_unread_commits_are_in_the_state_when_it_is_asked_for(tmp_path: Path) -> None:
    """Processes that only record never read each other's commits, and yet every state has all of them."""
    with holdfast.init(tmp_path) as first, holdfast.open(tmp_path) as second:
        one = first.start("Share the work")
        two = second.session(one.name)
        one.record("x.one", {"n": 0})
        time.sleep(0.06)  # the folder's time stamp has settled
        for number in range(150):
            one.record("x.one", {"n": number})
            two.record("x.two", {"n": number})
        assert one.state["own"] == two.state["own"] == 301
