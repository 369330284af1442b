"""What the public handles promise beyond their types."""

from __future__ import annotations

import os
import shutil
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast


@pytest.fixture
def workspace(tmp_path: Path) -> holdfast.Workspace:
    return holdfast.init(tmp_path / "project", user="alice")


def test_init_makes_a_workspace_and_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a folder, the folder of a workspace, a URL, or nothing; what is there stays as it is."""
    with holdfast.init(tmp_path / "a", user="alice") as workspace:
        name = workspace.start("Ship it").name
    assert (tmp_path / "a" / ".state" / "config.toml").is_file()
    for again in (tmp_path / "a", tmp_path / "a" / ".state", f"file://{tmp_path}/a"):
        with holdfast.init(again, user="alice") as workspace:
            assert workspace.sessions() == [name]
    monkeypatch.chdir(tmp_path / "a")
    assert holdfast.init(user="alice").sessions() == [name]
    with holdfast.init(f"sqlite:///{tmp_path}/b.db", user="alice") as workspace:
        assert workspace.start("Ship it").name in workspace.sessions()


def test_sessions_gives_what_session_takes(workspace: holdfast.Workspace) -> None:
    """Every name leads to its session, also to another user's; ``limit`` gives the newest."""
    names = [workspace.start(f"Goal {number}").name for number in range(3)]
    with holdfast.open(workspace.where, user="bob") as other:
        names.append(other.start("Bob's").name)
    assert sorted(workspace.sessions()) == sorted(names)
    assert {workspace.session(name).name for name in workspace.sessions()} == set(names)
    assert workspace.sessions(user="bob") == [names[-1]]
    assert len(workspace.sessions(limit=2)) == 2


@pytest.mark.parametrize("form", ["file://{0}", "file:{0}", "file://localhost{0}", "FILE://{0}"])
def test_a_file_url_means_the_same_as_its_path(
    workspace: holdfast.Workspace, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL of the workspace's folder and that of the project open the same workspace, with the same user."""
    session = workspace.start("Ship it")
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    inside = os.path.join(os.path.dirname(workspace.where), "src", "deep")
    os.makedirs(inside)
    for path in (workspace.where, os.path.dirname(workspace.where), inside):
        with holdfast.open(path) as plain, holdfast.open(form.format(path)) as other:
            assert (other.where, other.user, other.sessions()) == (plain.where, plain.user, [session.name])


def test_a_file_url_may_have_escapes(tmp_path: Path) -> None:
    """A space, a percent sign and a colon in the path are given as in any URL."""
    folder = tmp_path / "a b%c:d"
    folder.mkdir()
    with holdfast.init(folder, user="alice") as workspace:
        name = workspace.start("Ship it").name
    with holdfast.open(f"file://{tmp_path}/a%20b%25c%3Ad", user="alice") as workspace:
        assert workspace.sessions() == [name]
    with pytest.raises(holdfast.Usage):
        holdfast.open("file://elsewhere/x")


def test_acting_commits_when_it_is_entered(workspace: holdfast.Workspace) -> None:
    """A call without ``with`` writes nothing, and an action that was begun is not begun again."""
    session = workspace.start("Ship it")
    act = session.acting("Deploy", because="green")
    assert session.version == 1
    with pytest.raises(holdfast.Usage, match="entered"):
        _ = act.id
    with act:
        assert [entry.id for entry in session.decisions.open] == [act.id]
    assert session.decisions.recent[0].outcome == "done"
    with pytest.raises(holdfast.Usage, match="begun before"):
        act.__enter__()
    assert session.version == 3


def test_update_writes_after_its_function_has_returned(workspace: holdfast.Workspace) -> None:
    """The receipt is filled then; before, it cannot be read, and nothing is in the log."""
    session = workspace.start("Ship it")

    def change(handle: holdfast.Session) -> holdfast.Receipt:
        receipt = handle.decide("Use SQLite", because="one file")
        assert session.version == 1
        with pytest.raises(holdfast.Usage, match="has returned"):
            _ = receipt.id
        return receipt

    receipt = session.update(change)
    assert (receipt.id, receipt.version) == ("D-1", 2)
    assert session.update(lambda handle: handle.goal) == "Ship it"
    assert session.version == 2


def test_update_refuses_before_anything_is_written(workspace: holdfast.Workspace) -> None:
    """A second command, an action, a command that a rule refuses, or an exception: the log stays as it was."""
    session = workspace.start("Ship it")
    kept: list[holdfast.Session] = []

    def two(handle: holdfast.Session) -> None:
        kept.append(handle)
        handle.note("a")
        handle.decide("b", because="c")

    def acts(handle: holdfast.Session) -> None:
        with handle.acting("Deploy", because="green"):
            pytest.fail("the action must not begin")

    for change, error in ((two, holdfast.Usage), (acts, holdfast.Usage)):
        with pytest.raises(error):
            session.update(change)
    with pytest.raises(holdfast.NotFound):
        session.update(lambda handle: handle.settle("D-9", "done"))
    with pytest.raises(ZeroDivisionError):
        session.update(lambda handle: (handle.note("a"), 1 // 0))
    session.update(kept.append)
    with pytest.raises(holdfast.Usage, match="over"):
        kept[-1].note("too late")
    assert session.version == 1


def test_update_takes_a_pause(workspace: holdfast.Workspace) -> None:
    """What follows from the command, here the page in the project's folder, follows when it is written."""
    session = workspace.start("Ship it")
    session.update(lambda handle: handle.pause("lunch"))
    page = Path(workspace.where).parent / ".continue-here.md"
    assert "lunch" in page.read_text()
    assert session.status == "paused"


def test_times_are_aware_and_in_utc(workspace: holdfast.Workspace) -> None:
    """Every time of a model is a ``datetime`` that can be compared with any other aware one."""
    session = workspace.start("Ship it")
    receipt = session.decide("Use SQLite", because="one file", action="migrate")
    decision = session.decisions.open[0]
    assert decision.at == receipt.at
    assert receipt.at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - decision.at) < timedelta(minutes=5)
    assert session.created is not None
    assert session.created <= decision.at


def test_a_reading_stays_as_it_was(workspace: holdfast.Workspace) -> None:
    """What ``read`` gave is not changed by later commands, and a past version is read the same way."""
    session = workspace.start("Ship it")
    reading, goals = session.read(), session.loops
    session.set_goal("Ship it soon")
    session.add_loop("Which port?")
    assert (reading.goal, reading.version, reading.loops, goals.open) == ("Ship it", 1, goals, ())
    assert session.read(at=2).goal == session.goal == "Ship it soon"
    assert session.read(at=1).state == reading.state
    raw = session.state
    raw["registers"] = {}
    assert session.goal == "Ship it soon"


def test_models_of_a_contested_session_name_both_sides(tmp_path: Path) -> None:
    """Two clones that settle the same decision: the model has the first outcome, and the second as a rival."""
    with holdfast.init(tmp_path / "one", user="alice") as one:
        name = one.start("Ship it").name
        one.session(name).decide("Use SQLite", because="one file", action="migrate")
    shutil.copytree(tmp_path / "one", tmp_path / "two", ignore=shutil.ignore_patterns("local"))
    for folder in ("one", "two"):
        with holdfast.open(tmp_path / folder, user="alice") as workspace:
            workspace.session(name).settle("D-1", f"done in {folder}")
            workspace.session(name).set_focus(folder)
    for path in (tmp_path / "two/.state/events").rglob("*.jsonl"):
        target = tmp_path / "one" / path.relative_to(tmp_path / "two")
        if not target.exists():
            shutil.copyfile(path, target)
    with holdfast.open(tmp_path / "one", user="alice") as workspace:
        session = workspace.session(name)
        (decision,) = session.decisions.recent
        assert {decision.outcome, *(rival.outcome for rival in decision.rivals)} == {
            "done in one",
            "done in two",
        }
        (focus,) = session.contested
        assert (focus.name, {focus.value, focus.rivals[0].value}) == ("focus", {"one", "two"})


def test_a_traceback_shows_the_hint(workspace: holdfast.Workspace) -> None:
    """What can be done stands below the message, which itself stays clean."""
    session = workspace.start("Ship it")
    with pytest.raises(holdfast.NotFound) as caught:
        session.settle("D-9", "done")
    assert "Hint: " in "".join(traceback.format_exception(caught.value))
    assert "Hint: " not in caught.value.message
