"""Views in git never block it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.store.faults import EDITED_VIEW, MERGED_VIEW
from holdfast.workspace import upkeep


def diverge(git, session: str) -> None:
    """Two branches that both wrote to the session, with their views committed."""
    git("add", "-A")
    git("commit", "-q", "-m", "both")
    for branch, phase in (("one", "plan"), ("two", "build")):
        git("checkout", "-q", "-b", branch, "main")
        with holdfast.open() as workspace:
            workspace.session(session).enter_phase(phase)
        git("add", "-A")
        git("commit", "-q", "-m", branch)


@pytest.fixture
def session(repository: Path) -> str:
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        return f"{session.user}/{session.id}"


@pytest.fixture
def no_attributes(repository: Path, git, tracked_views: None) -> None:
    """A repository that tracks views, whose owner removed the workspace's attributes."""
    (repository / ".state" / ".gitattributes").unlink()
    git("commit", "-q", "-a", "-m", "no attributes")


@pytest.mark.usefixtures("no_attributes")
def test_a_conflicted_view_is_healed_and_staged(
    session: str, git, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where git merges views like any text they conflict; one command settles them, and the merge can be committed."""
    diverge(git, session)
    git("merge", "-q", "--no-edit", "one", ok=False)
    conflicts = git("diff", "--name-only", "--diff-filter=U").split()
    assert {Path(path).name for path in conflicts} == {"STATE.md", "state.json"}
    assert main(["heal"]) == 0
    assert git("diff", "--name-only", "--diff-filter=U") == ""
    git("commit", "-q", "--no-edit")
    assert git("status", "--porcelain") == ""
    with holdfast.open() as workspace:
        assert [c["name"] for c in _contests(workspace, session)] == ["phase"]
    assert "contested" in Path(conflicts[0]).read_text().lower()


def _contests(workspace, session: str) -> list[dict]:
    from holdfast.core.contested import contests

    return [c for c in contests(workspace.session(session).state["registers"]) if c["name"] == "phase"]


@pytest.mark.usefixtures("no_attributes")
def test_a_conflicted_view_heals_at_the_next_command(session: str, git) -> None:
    """Conflicts in views need no action: any command regenerates them."""
    diverge(git, session)
    git("merge", "-q", "--no-edit", "one", ok=False)
    assert main(["status"]) == 0
    for name in ("STATE.md", "state.json"):
        text = (Path(".state/sessions") / session / name).read_text()
        assert "<<<<<<<" not in text


@pytest.mark.usefixtures("tracked_views")
def test_a_merge_of_older_commits_makes_a_view_stale(session: str, git) -> None:
    """A view records the set of commits it shows: earlier ones that arrive later are in it after the next command."""
    git("add", "-A")
    git("commit", "-q", "-m", "both")
    git("checkout", "-q", "-b", "early")
    with holdfast.open() as workspace:
        workspace.session(session).note("early note")
    git("add", "-A", "--", ":(glob)**/*.jsonl")
    git("commit", "-q", "-m", "segments only")
    git("checkout", "-q", "-f", "main")
    with holdfast.open() as workspace:
        workspace.session(session).note("late note")
    git("add", "-A")
    git("commit", "-q", "-m", "late")
    git("merge", "-q", "--no-edit", "early")
    assert main(["status"]) == 0
    with holdfast.open() as workspace:
        assert workspace.doctor() == []
        assert workspace.session(session).version == 3


@pytest.mark.usefixtures("tracked_views")
def test_views_can_stay_out_of_git(session: str, git) -> None:
    """With local views only segments are tracked, also if views were tracked before, and in the archive."""
    with holdfast.open() as workspace:
        upkeep.archive(workspace, workspace.start("Put away").id)
        workspace.switch(session)
    git("add", "-A")
    git("commit", "-q", "-m", "with views")
    assert main(["init", "--views", "local"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "without views")
    assert "STATE.md" not in git("ls-files")
    assert (Path(".state/sessions") / session / "STATE.md").exists()
    assert main(["init", "--views", "local"]) == 0
    assert git("status", "--porcelain") == ""


def test_views_can_be_tracked_and_untracked(session: str, git) -> None:
    """Views are out of git by default, and the user's own lines in .gitignore stay."""
    ignore = Path(".state/.gitignore")
    before = ignore.read_text()
    ignore.write_text(before + "/mine/\n")
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    assert "STATE.md" not in git("ls-files")
    assert main(["init", "--views", "git"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "with views")
    assert f".state/sessions/{session}/STATE.md" in git("ls-files")
    assert "/mine/" in ignore.read_text()
    assert main(["init", "--views", "local"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "without views")
    assert "STATE.md" not in git("ls-files")
    assert sorted(ignore.read_text().splitlines()) == sorted((before + "/mine/\n").splitlines())


def test_a_user_file_of_that_name_is_in_git(session: str, repository: Path, git) -> None:
    """Only views are ignored: a STATE.md among a session's own files is tracked."""
    place = repository / ".state" / "sessions" / session / "context" / "STATE.md"
    place.parent.mkdir()
    place.write_text("mine\n")
    git("add", "-A")
    assert [path for path in git("ls-files").split() if path.endswith(".md")] == [
        ".state/README.md",
        str(place.relative_to(repository)),
    ]


def test_init_changes_nothing_in_the_configuration(repository: Path, git) -> None:
    """An init, plain or with any choice about views, changes nothing in git's configuration."""
    before = (repository / ".git" / "config").read_bytes()
    for arguments in ([], ["--views", "git"], ["--views", "local"]):
        assert main(["init", *arguments]) == 0
    assert (repository / ".git" / "config").read_bytes() == before


@pytest.fixture
def on_path(repository: Path, monkeypatch) -> None:
    """The command line, where git's hooks find it."""
    tools = repository.parent / "bin"
    tools.mkdir()
    script = tools / "holdfast"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n"
        "from holdfast.edge.cli import main\nsys.exit(main())\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("on_path")
def test_commits_name_their_session(session: str, repository: Path, git, capsys) -> None:
    """The hook adds a trailer once, and `log --git` finds the commit by it."""
    assert main(["init", "--commit-hook"]) == 0
    assert main(["init", "--commit-hook"]) == 0
    (repository / "code.txt").write_text("new\n")
    git("commit", "-qam", "work")
    git("commit", "-q", "--amend", "--no-edit")
    message = git("log", "-1", "--format=%B")
    assert message.count(f"Holdfast-Session: {session}") == 1
    capsys.readouterr()
    assert main(["log", "--git"]) == 0
    assert "work" in capsys.readouterr().out


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("option", [(), ("-v",)])
def test_an_empty_message_still_means_no_commit(
    session: str, repository: Path, git, monkeypatch, option: tuple[str, ...]
) -> None:
    """An empty message still means no commit; a typed message gets the trailer."""
    assert main(["init", "--commit-hook"]) == 0
    (repository / "code.txt").write_text("new\n")
    assert "Aborting commit due to empty commit message" in git("commit", "-a", *option, ok=False)
    monkeypatch.setenv("GIT_EDITOR", "sed -i -e '1s/^/typed by hand/'")
    git("commit", "-q", "-a", *option)
    assert git("log", "-1", "--format=%B").splitlines() == [
        "typed by hand",
        "",
        f"Holdfast-Session: {session}",
        "",
    ]


def test_an_existing_commit_msg_hook_is_left_alone(repository: Path, git, capsys) -> None:
    """If a commit-msg hook exists, the other hook is installed, and the line to add is printed."""
    hook = repository / ".git" / "hooks" / "commit-msg"
    hook.write_text("#!/bin/sh\n")
    assert main(["init", "--commit-hook"]) == 0
    assert hook.read_text() == "#!/bin/sh\n"
    assert (repository / ".git" / "hooks" / "prepare-commit-msg").exists()
    assert 'holdfast hook-commit-message "$1"' in capsys.readouterr().out


@pytest.mark.parametrize("archived", [False, True])
def test_commits_are_found_by_the_segments_in_them(session: str, git, capsys, archived: bool) -> None:
    """Without a trailer and without views in git, `log --git` finds what holds the session's segments, and no more."""
    assert main(["init", "--views", "local"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "it holds segments")
    git("commit", "-q", "--allow-empty", "-m", "it holds none")
    if archived:
        assert main(["archive", "--session", session]) == 0
        git("add", "-A")
        git("commit", "-q", "-m", "it holds joined ones")
    capsys.readouterr()
    assert main(["log", "--git", "--session", session]) == 0
    said = capsys.readouterr().out
    assert "it holds segments" in said
    assert "it holds none" not in said
    assert ("it holds joined ones" in said) == archived


def test_an_existing_hook_is_left_alone(repository: Path, git, capsys) -> None:
    """An existing hook is not touched; the message says what to add."""
    hook = repository / ".git" / "hooks" / "prepare-commit-msg"
    hook.write_text("#!/bin/sh\n")
    assert main(["init", "--commit-hook"]) == 1
    assert hook.read_text() == "#!/bin/sh\n"
    assert "hook-commit-message" in capsys.readouterr().err


@pytest.mark.parametrize(
    "commands",
    [
        [["checkout", "-q", "--detach", "HEAD~1"]],
        [["reset", "-q", "--hard", "HEAD~1"]],
        [["revert", "--no-edit", "HEAD"]],
        [["reset", "-q", "--soft", "HEAD~1"], ["stash", "push", "-q"]],
        [["reset", "-q", "HEAD~1"], ["stash", "push", "-q", "-u"]],
        [["reset", "-q", "--soft", "HEAD~1"], ["rm", "-q", "-r", "-f", ".state/events"], ["reset", "-q"]],
        [["reset", "-q", "HEAD~1"], ["clean", "-q", "-fd"]],
    ],
)
@pytest.mark.parametrize("pinned", [True, False])
def test_a_commit_that_git_still_has_is_not_lost(
    session: str, repository: Path, git, capsys, commands: list[list[str]], pinned: bool
) -> None:
    """Git removed segments and left untracked views: nothing is lost, and views are regenerated."""
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    assert main(["note", "on this branch only"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "more")
    view = repository / ".state" / "sessions" / session / "STATE.md"
    assert "on this branch only" in view.read_text()
    if not pinned:
        shutil.rmtree(repository / ".git" / "holdfast" / "kept")
    for command in commands:
        git(*command)
    capsys.readouterr()
    if main(["status", "--session", session]) == 0:
        assert "on this branch only" not in view.read_text()
    assert "lost" not in capsys.readouterr().err


@pytest.mark.usefixtures("tracked_views")
def test_a_view_of_two_versions_under_one_seal_is_regenerated(repository: Path, session: str, git) -> None:
    """A merge can join lines of two versions under the seal of one; no person wrote such a view, and it is saved."""
    path = repository / ".state" / "sessions" / session / "STATE.md"
    with holdfast.open() as workspace:
        workspace.session(session).note("one")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    older = path.read_text()
    with holdfast.open() as workspace:
        workspace.session(session).note("two")
    git("commit", "-q", "-a", "-m", "two")
    newer = path.read_text()
    gone = "Note: two ("
    path.write_text("".join(line for line in newer.splitlines(keepends=True) if gone not in line))
    assert path.read_text() != older
    with holdfast.open() as workspace:
        (fault,) = workspace.heal()
        assert fault.kind == MERGED_VIEW
    assert path.read_text() == newer
    path.write_text(newer.replace("## ", "## My ", 1))
    with holdfast.open() as workspace:
        (fault,) = workspace.heal()
        assert fault.kind == EDITED_VIEW
