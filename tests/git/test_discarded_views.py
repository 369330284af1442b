"""Views that changed since the last git commit can be discarded: they are regenerated from the segments."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main


@pytest.mark.usefixtures("tracked_views")
def test_changed_views_are_given_up_and_nothing_is_lost(repository: Path, git) -> None:
    """Git refuses to switch over changed views; after `git restore .state` it switches, and no note is lost."""
    with holdfast.open() as workspace:
        session = workspace.start("Import all files")
        session.note("one")
        place = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    git("checkout", "-q", "-b", "other")
    assert main(["note", "two"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    assert main(["note", "three"]) == 0
    assert "would be overwritten" in git("checkout", "main", ok=False)
    git("restore", ".state")
    git("checkout", "-q", "main")
    assert main(["note", "four"]) == 0
    with holdfast.open() as workspace:
        assert workspace.session(place).state["notes"]["count"] == 3  # two is on the other branch
    git("add", "-A")
    git("commit", "-q", "-m", "four")
    git("merge", "-q", "--no-edit", "other")
    assert main(["heal"]) == 0
    with holdfast.open() as workspace:
        assert workspace.session(place).state["notes"]["count"] == 4
    shown = (repository / ".state" / "sessions" / place / "STATE.md").read_text()
    assert all(text in shown for text in ("one", "two", "three", "four"))


def test_untracked_views_never_block_git(repository: Path, git) -> None:
    """By default git switches, pulls and merges whatever commands ran since the last git commit."""
    with holdfast.open() as workspace:
        session = workspace.start("Import all files")
        place = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    git("checkout", "-q", "-b", "other")
    assert main(["note", "two"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    assert main(["note", "three"]) == 0
    git("checkout", "-q", "main")
    assert main(["note", "four"]) == 0
    git("merge", "-q", "--no-edit", "other")
    assert main(["status"]) == 0
    shown = (repository / ".state" / "sessions" / place / "STATE.md").read_text()
    assert all(text in shown for text in ("two", "three", "four"))
    with holdfast.open() as workspace:
        assert workspace.doctor() == []
