"""What `doctor` reports about a workspace in git, and what it restores."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import hints, main


@pytest.fixture
def session(repository: Path, git) -> str:
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        for number in range(3):
            session.note(f"note {number}")
        place = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "segments")
    with holdfast.open() as workspace:
        workspace.session(place).note("in another segment")
    git("add", "-A")
    git("commit", "-q", "-m", "more segments")
    return place


def harm(path: Path, way: str) -> None:
    whole = path.read_bytes()
    if way == "cut":
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "zeros":
        path.write_bytes(b"\0" * len(whole))
    else:
        path.unlink()


@pytest.mark.parametrize("way", ["cut", "empty", "zeros", "removed"])
@pytest.mark.parametrize("own", [True, False])
def test_a_segment_that_lost_commits_which_git_has_is_restored(
    session: str, repository: Path, git, tmp_path: Path, way: str, own: bool
) -> None:
    """Missing lines leave no broken checksum: git, which has the complete segment, shows that they existed."""
    where = repository if own else tmp_path / "clone"
    if not own:
        git("clone", "-q", str(repository), str(where))
    path = max(where.rglob(".state/events/sessions/**/*.jsonl"), key=lambda path: path.stat().st_size)
    whole = path.read_bytes()
    harm(path, way)
    with holdfast.open(where / ".state") as workspace:
        assert workspace.session(session).version < 5
        (fault,) = [fault for fault in workspace.doctor() if not fault.harmless]
        assert path.name in fault.where
        assert "git has" in fault.what
        assert "doctor --fix" in hints.text(fault.action)
        faults = workspace.doctor(fix=True)
        assert any("from the index" in str(fault.action) for fault in faults)
        assert workspace.session(session).version == 5
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []
    assert path.read_bytes() == whole


@pytest.mark.parametrize("way", ["empty", "zeros"])
def test_an_empty_segment_that_was_committed_is_restored(
    session: str, repository: Path, git, way: str
) -> None:
    """After a power cut the rest was committed; the version before has the commits."""
    path = max(repository.rglob(".state/events/sessions/**/*.jsonl"), key=lambda path: path.stat().st_size)
    whole = path.read_bytes()
    harm(path, way)
    git("commit", "-q", "-a", "-m", "after the power cut")
    assert main(["doctor"]) == 5
    assert main(["doctor", "--fix"]) == 0
    assert path.read_bytes() == whole


def test_heal_stages_what_it_restored(session: str, repository: Path, git) -> None:
    """A segment that a git commit truncated is complete in the next one."""
    path = max(repository.rglob(".state/events/sessions/**/*.jsonl"), key=lambda path: path.stat().st_size)
    whole = path.read_bytes()
    harm(path, "cut")
    git("add", "-A")
    assert main(["heal"]) == 0
    assert path.read_bytes() == whole
    assert git("status", "--porcelain") == ""


def test_what_grew_after_it_was_staged_is_no_damage(session: str, repository: Path, git) -> None:
    """A segment that has more than git is fine."""
    path = max(repository.rglob(".state/events/sessions/**/*.jsonl"), key=lambda path: path.stat().st_size)
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    git("commit", "-q", "-a", "-m", "in part")
    path.write_bytes(whole)
    assert main(["doctor"]) == 0
    assert main(["doctor", "--fix"]) == 0
    assert path.read_bytes() == whole


def test_an_archived_session_lacks_nothing(session: str, repository: Path, git) -> None:
    """Segments that archiving joined and removed are not reported as missing before git knows."""
    assert main(["archive", "add", session]) == 0
    assert main(["doctor", "--fix"]) == 0
    assert [path.name for path in repository.rglob(".state/events/sessions/**/*.jsonl")] == []


@pytest.mark.parametrize("destroy", ["reset", "clean"])
def test_doctor_reports_what_git_removed(repository: Path, git, capsys, destroy: str) -> None:
    """Acknowledged commits that git destroyed are reported, with the command that restores them."""
    with holdfast.open() as workspace:
        workspace.start("goal").note("precious")
    if destroy == "reset":
        git("add", "-A")
        git("reset", "-q", "--hard")
    else:
        git("clean", "-q", "-fd")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "2 commits that git removed" in said
    assert "`holdfast heal` recovers them" in said
    assert main(["heal"]) == 0
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "git removed" not in capsys.readouterr().out


def test_a_missing_session_hints_at_sessions_all(repository: Path, git, capsys) -> None:
    """On a branch without the session, the message names `sessions --all`, not a new start."""
    git("checkout", "-q", "-b", "feature")
    with holdfast.open() as workspace:
        name = workspace.start("goal").id
    git("add", "-A")
    git("commit", "-q", "-m", "feature")
    git("checkout", "-q", "main")
    for command in (["status"], ["resume", "--session", name], ["switch", name]):
        assert main(command) == 4
        assert "holdfast sessions --all" in capsys.readouterr().err
    assert main(["sessions"]) == 0
    assert "--all" in capsys.readouterr().out
    assert main(["resume"]) == 4
    assert "holdfast sessions --all" in capsys.readouterr().err


def test_a_cut_that_was_committed_is_restored_from_an_earlier_git_commit(repository: Path, git) -> None:
    """Lines that were taken off the end of a segment come back, also once the cut is in git and no copy is left."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        for number in range(3):
            session.note(f"note {number}")
        place = session.name
    git("add", "-A")
    git("commit", "-q", "-m", "segments")
    (segment,) = (repository / ".state" / "events" / session.stream).glob("*.jsonl")
    harm(segment, "cut")
    git("add", "-A")
    git("commit", "-q", "-m", "the cut")
    for copy in (repository / ".git" / "holdfast" / "copies").rglob("*.jsonl"):
        copy.unlink()
    with holdfast.open() as workspace:
        assert [fault.kind for fault in workspace.doctor() if not fault.harmless][:1] == ["behind-git"]
        workspace.doctor(fix=True)
        assert workspace.session(place).state["notes"]["count"] == 3
