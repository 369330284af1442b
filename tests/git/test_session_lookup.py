"""Finding the newest session, the same user in every worktree, and the git commits of a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import NoSession
from holdfast.fs.process import identify
from holdfast.workspace import choose
from holdfast.workspace.presence import Presence


def started(workspace, count: int) -> list[str]:
    """Sessions of one day, in the order in which they were started."""
    return [workspace.start(f"session {number}").id for number in range(count)]


def test_the_newest_of_one_day_is_the_one_that_was_written_last(repository: Path) -> None:
    """Ids do not order the sessions of one day; their last commits do."""
    with holdfast.open() as workspace:
        found = started(workspace, 12)
        for name in (min(found), max(found), sorted(found)[5]):
            workspace.session(name).note("the latest")
            workspace.store.put("local/current", None)
            assert workspace.pick().session.id == name


def test_sessions_lists_the_latest_first(repository: Path, capsys) -> None:
    """A page of sessions has those of one day in the order of their last commits."""
    with holdfast.open() as workspace:
        found = started(workspace, 6)
    capsys.readouterr()
    assert main(["sessions", "--json"]) == 0
    assert [row["session"] for row in json.loads(capsys.readouterr().out)["sessions"]] == found[::-1]


@pytest.mark.parametrize("user", [None, "alice"])
def test_a_page_has_the_session_that_was_just_begun(repository: Path, capsys, monkeypatch, user) -> None:
    """Among more sessions of one day than a page holds, the one just started is shown."""
    monkeypatch.setenv("HOLDFAST_USER", "alice")
    with holdfast.open() as workspace:
        found = started(workspace, 30)
        for name in (min(found), max(found)):
            (repository / ".git" / "HEAD").touch()  # so that it gets another segment
            workspace.session(name).note("at work again")
            capsys.readouterr()
            assert main(["sessions", "--limit", "5", "--json", *(["--user", user] if user else [])]) == 0
            rows = json.loads(capsys.readouterr().out)["sessions"]
            assert len(rows) == 5
            assert rows[0]["session"] == name


def test_an_unfinished_session_older_than_many_finished_ones_is_found(repository: Path) -> None:
    """Fifty sessions finished since do not hide the unfinished one."""
    with holdfast.open() as workspace:
        wanted = workspace.start("unfinished").id
        for number in range(50):
            workspace.start(f"session {number}").complete("done")
        workspace.store.put("local/current", None)
        assert workspace.pick().session.id == wanted


def test_a_crashed_session_older_than_many_is_found(repository: Path, monkeypatch) -> None:
    """The session whose agent died is picked first, however many were started since."""
    monkeypatch.setattr(choose, "LOOKED_AT", 3)
    with holdfast.open() as workspace:
        crashed = workspace.start("crashed")
        Presence(workspace, identify()._replace(start="1")).beat(f"{crashed.user}/{crashed.id}")
        started(workspace, 8)
        workspace.store.put("local/current", None)
        choice = workspace.pick()
        assert choice.session.id == crashed.id
        assert "gone" in choice.why


def test_the_error_mentions_unopened_sessions(repository: Path, monkeypatch) -> None:
    """If there are more sessions than were opened, the message says so."""
    monkeypatch.setattr(choose, "LOOKED_AT", 3)
    monkeypatch.setattr(choose, "AT_MOST", 5)
    with holdfast.open() as workspace:
        for number in range(8):
            workspace.start(f"session {number}").complete("done")
        with pytest.raises(NoSession, match="among the newest 5"):
            workspace.pick()


def test_all_worktrees_know_the_same_user(repository: Path, git, tmp_path: Path, monkeypatch) -> None:
    """A name that only the repository's own configuration has is the user in linked worktrees too."""
    for name in ("HOLDFAST_USER", "GIT_AUTHOR_NAME"):
        monkeypatch.delenv(name, raising=False)
    git("config", "user.name", "Repo Name")
    git("worktree", "add", "-q", str(tmp_path / "linked"))
    users = []
    for folder in (repository, tmp_path / "linked"):
        monkeypatch.chdir(folder)
        with holdfast.open() as workspace:
            users.append(workspace.user)
    assert users == ["repo-name", "repo-name"]


def test_sessions_everywhere_can_be_narrowed_down(repository: Path, git, tmp_path: Path, capsys) -> None:
    """With --all, --user and --limit work as without it, and a remote's HEAD is not a separate branch."""
    for user, count in (("alice", 3), ("bob", 2)):
        with holdfast.open(user=user) as workspace:
            started(workspace, count)
    git("add", "-A")
    git("commit", "-q", "-m", "sessions")
    git("clone", "-q", str(repository), str(tmp_path / "clone"))
    os.chdir(tmp_path / "clone")
    capsys.readouterr()
    assert main(["sessions", "--all", "--user", "bob", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sessions"]
    assert [row["user"] for row in rows] == ["bob", "bob"]
    assert {place for row in rows for place in row["places"]} == {"here", "main", "origin/main"}
    assert all(row["goal"] for row in rows)
    assert main(["sessions", "--all", "--limit", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (len(answer["sessions"]), answer["total"]) == (2, 5)
    assert main(["sessions", "--all", "--limit", "2"]) == 0
    assert "3 more: --limit N shows them." in capsys.readouterr().out


def test_commits_that_only_a_removed_worktree_had_are_reported(
    repository: Path, git, tmp_path: Path, capsys
) -> None:
    """A session that is also on a branch is listed as kept if a removed worktree had written more to it."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        place = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    git("worktree", "add", "-q", str(tmp_path / "doomed"))
    with holdfast.open(tmp_path / "doomed" / ".state") as workspace:
        workspace.session(place).note("nowhere else")
    git("worktree", "remove", "--force", str(tmp_path / "doomed"))
    capsys.readouterr()
    assert main(["sessions", "--all", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sessions"]
    assert row["places"] == ["here", "doomed", "main", "kept"]
    assert main(["heal"]) == 0
    capsys.readouterr()
    assert main(["sessions", "--all", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sessions"]
    assert "kept" not in row["places"]


def test_log_git_finds_old_commits(repository: Path, git, capsys, monkeypatch) -> None:
    """However many git commits came since, those that name the session or hold its segments are found."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        place = f"{session.user}/{session.id}"
    git("add", "-A")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-21T10:00:00Z")
    git("commit", "-q", "-m", "it holds segments")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-21T11:00:00Z")
    git("commit", "-q", "--allow-empty", "-m", f"it names the session\n\nHoldfast-Session: {place}")
    for number in range(60):
        git("commit", "-q", "--allow-empty", "-m", f"other work {number}")
    git("commit", "-q", "--allow-empty", "-m", f"it talks of the session {session.id}")
    for limit, wanted in (
        ("0", ["it names the session", "it holds segments"]),
        ("1", ["it names the session"]),
    ):
        capsys.readouterr()
        assert main(["log", "--git", "--limit", limit, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["git_commits"]
        assert [entry["subject"] for entry in found] == wanted


def test_log_git_links_the_commits_of_both(repository: Path, git, capsys) -> None:
    """Each git commit that holds segments lists the session's commits that it added."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        first = [session.peek().head, session.note("one").commit]
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    with holdfast.open() as workspace:
        second = [workspace.session(session.id).decide("two", because="it is so").commit]
    git("add", "-A")
    git("commit", "-q", "-m", "second")
    capsys.readouterr()
    assert main(["log", "--git", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["git_commits"]
    assert {entry["subject"]: entry["session_commits"] for entry in found} == {
        "first": first,
        "second": second,
    }
    assert main(["log", "--git"]) == 0
    said = capsys.readouterr().out
    assert "2 commits of the session" in said
    assert "1 commit of the session" in said


def test_a_changed_file_is_reported_before_other_agents(repository: Path) -> None:
    """A changed file, which would mislead a successor, comes first in the brief."""
    from holdfast.workspace.alerts import alerts

    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with holdfast.open() as workspace:
            session = workspace.start("goal")
            session.refer("code.txt")
        with holdfast.open(by="another") as workspace:
            Presence(workspace, identify(other.pid)).beat(f"{session.user}/{session.id}")
        (repository / "code.txt").write_text("changed\n")
        with holdfast.open() as workspace:
            found = [line.split()[0] for line in alerts(workspace.session(session.id))]
    finally:
        other.communicate(b"\n")
    assert found == ["CHANGED", "ALSO"]
