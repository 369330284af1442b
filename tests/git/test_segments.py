"""The segment rule, case by case: git never gets two versions of one segment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import Conflict
from holdfast.store.faults import RECOVERED
from holdfast.workspace.session import Session


def segments(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob(".state/events/**/*.jsonl"))}


def texts(session: Session) -> list[str]:
    return [
        event.data["text"]
        for commit in session.log()
        for event in commit.events
        if event.type == "note.added"
    ]


@pytest.fixture
def session(repository: Path) -> Session:
    with holdfast.open() as workspace:
        yield workspace.start("goal")


def test_what_was_staged_is_never_appended_to(session: Session, repository: Path, git) -> None:
    """A segment in the index keeps its bytes: a commit of what was staged has it complete."""
    git("add", "-A")
    before = segments(repository)
    session.note("after staging")
    after = segments(repository)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1
    git("commit", "-q", "-m", "what was staged")
    session.note("after the commit")
    assert git("diff", "--name-only", "--", "*.jsonl") == ""


def test_staging_other_files_opens_no_segment(session: Session, repository: Path, git) -> None:
    """Only a staged segment is closed: other changes of the index cost nothing."""
    before = len(segments(repository))
    (repository / "code.txt").write_text("more\n")
    git("add", "code.txt")
    session.note("the index changed")
    git("status")
    session.note("and again")
    assert len(segments(repository)) == before


@pytest.mark.parametrize("way", ["--soft", "--mixed"])
def test_an_undone_commit_still_has_its_segment(session: Session, repository: Path, git, way: str) -> None:
    """After commit and reset HEAD is unchanged, but a branch may hold the commit: no append to its segment."""
    git("add", "-A")
    git("commit", "-q", "-m", "to take back")
    git("branch", "saved")
    git("reset", "-q", way, "HEAD~1")
    session.note("after the reset")
    git("add", "-A")
    git("commit", "-q", "-m", "again")
    git("merge", "-q", "--no-edit", "saved", ok=False)
    assert ".jsonl" not in git("diff", "--name-only", "--diff-filter=U")
    assert texts(session) == ["after the reset"]


def test_an_applied_stash_stays_as_it_is(session: Session, repository: Path, git) -> None:
    """A stash that was applied and kept can be applied again: its segments have not grown."""
    git("add", "-A")
    git("stash", "push", "-q")
    git("stash", "apply", "-q")
    before = segments(repository)
    with holdfast.open() as workspace:
        workspace.session(f"{session.user}/{session.id}").note("after apply")
    assert before.items() <= segments(repository).items()


@pytest.mark.parametrize("destroy", ["reset", "clean", "drop", "checkout"])
def test_what_no_git_commit_has_is_restored(session: Session, repository: Path, git, destroy: str) -> None:
    """Git destroyed uncommitted files; the acknowledged commits in them are restored."""
    session.note("precious")
    name = f"{session.user}/{session.id}"
    if destroy == "reset":
        git("add", "-A")
        git("reset", "-q", "--hard")
    elif destroy == "clean":
        git("clean", "-q", "-fdx")
    elif destroy == "drop":
        git("add", "-A")
        git("stash", "push", "-q")
        git("stash", "drop", "-q")
    else:
        git("add", "-A")
        git("commit", "-q", "-m", "on a branch that is deleted")
        git("reset", "-q", "--hard", "HEAD~1")
    assert segments(repository) == {}
    with holdfast.open() as workspace:
        faults = workspace.doctor(fix=True)
        assert any(fault.done == RECOVERED for fault in faults)
        assert texts(workspace.session(name)) == ["precious"]
        assert workspace.doctor(fix=True) == [] or workspace.session(name).version == 2


def test_a_segment_on_another_branch_is_not_restored(session: Session, repository: Path, git) -> None:
    """A checkout removes a branch's segments and adds them back: they are not restored elsewhere."""
    git("checkout", "-q", "-b", "feature")
    session.note("on the feature branch")
    git("add", "-A")
    git("commit", "-q", "-m", "feature")
    git("checkout", "-q", "main")
    with holdfast.open() as workspace:
        assert workspace.salvage() == []
        assert workspace.sessions() == []


@pytest.mark.parametrize("lost", ["all", "last"])
def test_a_writer_that_forgot_a_hidden_branch_takes_a_new_name(
    session: Session, repository: Path, git, lost: str
) -> None:
    """After a power cut the state can be older than a segment on another branch: no number is used twice."""
    name = f"{session.user}/{session.id}"
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    git("checkout", "-q", "-b", "feature")
    first = session.decide("first", because="reasons").id
    note = next((repository / ".state/local/locks").glob("sessions*.lock"))
    before = note.read_bytes()
    second = session.decide("second", because="reasons").id
    git("add", "-A")
    git("commit", "-q", "-m", "feature")
    session.workspace.close()
    git("checkout", "-q", "main")
    note.write_bytes(b"" if lost == "all" else before)
    with holdfast.open() as workspace:
        third = workspace.session(name).decide("third", because="reasons").id
    assert len({first, second, third}) == 3
    git("add", "-A")
    git("commit", "-q", "-m", "main")
    git("merge", "-q", "--no-edit", "feature", ok=False)
    assert ".jsonl" not in git("diff", "--name-only", "--diff-filter=U")
    with holdfast.open() as workspace:
        assert workspace.session(name).version == 4


def test_a_copied_folder_takes_a_new_identity(
    session: Session, repository: Path, git, tmp_path: Path
) -> None:
    """Original and copy continue from the same open segment; committed in both, git merges them without a conflict."""
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    with holdfast.open(copy / ".state") as workspace:
        workspace.session(f"{session.user}/{session.id}").note("in the copy")
    session.note("in the original")
    for folder in (repository, copy):
        git("add", "-A", cwd=folder)
        git("commit", "-q", "-m", "work", cwd=folder)
    git("pull", "-q", "--no-edit", "--no-rebase", str(copy), "main", ok=False)
    assert ".jsonl" not in git("diff", "--name-only", "--diff-filter=U")
    assert sorted(texts(session)) == ["in the copy", "in the original"]
    assert session.version == 3


def test_a_conversion_to_crlf_costs_nothing(session: Session, repository: Path) -> None:
    """Every line of a converted segment is still read, and the writer continues in a new segment."""
    session.note("first")
    for path in repository.rglob(".state/events/**/*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    session.note("second")
    assert texts(session) == ["first", "second"]
    assert session.peek().faults == ()


def test_no_two_tracked_names_differ_in_case_alone(session: Session, repository: Path, git) -> None:
    """On a case-insensitive file system, every tracked file has its own path."""
    session.note("a file or two")
    session.workspace.publish()
    git("add", "-A")
    names = git("ls-files").split()
    assert len({name.lower() for name in names}) == len(names)
    assert all(name == name.lower() for name in names if "events/" in name)


def test_hundreds_of_segments_open_like_one(repository: Path) -> None:
    """A session of 300 segments reads like a session of one: the same commits, in order."""
    with holdfast.open() as workspace:
        session = workspace.start("many")
        name = f"{session.user}/{session.id}"
        for number in range(300):
            os.utime(repository / ".git" / "HEAD", ns=(number, number))
            session.note(f"note {number}")
        assert len(segments(repository)) >= 300
    with holdfast.open() as workspace:
        assert texts(workspace.session(name)) == [f"note {number}" for number in range(300)]


def test_a_segment_in_conflict_is_joined(session: Session, repository: Path, git) -> None:
    """A segment that a program changed on two branches is settled by joining its lines, and staged."""
    session.note("common")
    git("add", "-A")
    git("commit", "-q", "-m", "both lines")
    path = next(repository.rglob(".state/events/**/*.jsonl"))
    whole = path.read_bytes()
    git("checkout", "-q", "-b", "cut")
    path.write_bytes(whole.splitlines(keepends=True)[0])
    git("commit", "-qam", "one line")
    git("checkout", "-q", "main")
    path.write_bytes(whole.splitlines(keepends=True)[1])
    git("commit", "-qam", "the other line")
    git("merge", "-q", "cut", ok=False)
    assert "jsonl" in git("diff", "--name-only", "--diff-filter=U")
    with holdfast.open() as workspace:
        workspace.heal()
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    assert path.read_bytes() == whole


def test_markers_in_a_segment_are_named_and_healed(session: Session, repository: Path, git) -> None:
    """Committed conflict markers are reported with their line, and removed without losing a commit."""
    session.note("one")
    session.note("two")
    path = next(repository.rglob(".state/events/**/*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join([lines[0], b"<<<<<<< ours\n", lines[1], b"=======\n", lines[2], b">>>>>>> theirs\n"])
    )
    with holdfast.open() as workspace:
        again = workspace.session(f"{session.user}/{session.id}")
        assert texts(again) == ["one", "two"]
        assert any(":2" in fault.where and "conflict marker" in fault.what for fault in again.peek().faults)
        workspace.heal()
        assert again.peek().faults == ()
        assert texts(again) == ["one", "two"]
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("where", ["index", "HEAD", "branch"])
def test_doctor_restores_a_damaged_segment_from_git(
    session: Session, repository: Path, git, where: str
) -> None:
    """A damaged segment is joined with git's versions; the damaged file is saved, and everything is reported."""
    session.note("precious")
    session.note("more")
    git("add", "-A")
    if where != "index":
        git("checkout", "-q", "-b", "other")
        git("commit", "-q", "-m", "segments")
    path = next(repository.rglob(".state/events/**/*.jsonl"))
    whole = path.read_bytes()
    if where == "branch":
        git("checkout", "-q", "main")
        path.parent.mkdir(parents=True, exist_ok=True)
    damaged = whole.replace(b"precious", b"precioux")
    path.write_bytes(damaged)
    with holdfast.open() as workspace:
        assert [fault for fault in workspace.doctor() if not fault.harmless]
        faults = workspace.doctor(fix=True)
        assert not [fault for fault in faults if not fault.harmless]
        assert any("1 from" in str(fault.action) or fault.done == RECOVERED for fault in faults)
    assert path.read_bytes() == whole
    kept = list((repository / ".state" / "local" / "quarantine").glob("*.bin"))
    assert [file.read_bytes() for file in kept] == [damaged]


def test_a_stale_expectation_is_refused_after_a_merge(session: Session) -> None:
    """Commits that a merge adds count: an earlier version is no longer the present one."""
    version = session.version
    session.note("somebody else's")
    with pytest.raises(Conflict):
        session.note("mine", expect=version)


def test_a_checkout_after_a_burst_keeps_the_writer(repository: Path, git) -> None:
    """A branch that hides the segment does not make the writer take a new identity: its numbers stay plain."""
    with holdfast.open() as workspace:
        name = workspace.start("goal").id
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    git("checkout", "-q", "-b", "other")
    with holdfast.open() as workspace:
        session = workspace.session(name)
        for number in range(40):
            session.record("x.step", {"n": number})
    git("add", "-A")
    git("commit", "-q", "-m", "more")
    git("checkout", "-q", "main")
    with holdfast.open() as workspace:
        assert workspace.session(name).decide("plain", because="one writer").id == "D-1"
