"""Conflict markers in our files, left or committed: detected, reported with the line, healed."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main


@pytest.fixture
def session(repository: Path) -> str:
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        return f"{session.user}/{session.id}"


def mark(path: Path, line: int) -> None:
    """A conflict in the middle of a file."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join([*lines[:line], "<<<<<<< HEAD\n", *lines[line:], "=======\n", "other\n", ">>>>>>> theirs\n"])
    )


def named_and_healed(repository: Path, git, capsys, name: str, lines: int) -> None:
    """Commit a file with markers after so many lines: doctor names the line, heal restores and stages it."""
    path = repository / name
    whole = path.read_bytes()
    mark(path, lines)
    git("add", "-A")
    git("commit", "-q", "-m", "with markers")
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert (
        f"{name.removeprefix('.state/')}:{lines + 1}: conflict markers of a merge" in capsys.readouterr().out
    )
    assert main(["heal"]) == 0
    assert path.read_bytes() == whole
    assert git("status", "--porcelain") == f"M  {name}\n"


@pytest.mark.usefixtures("tracked_views")
@pytest.mark.parametrize("view", ["STATE.md", "state.json"])
def test_committed_markers_in_a_view_are_named_and_healed(
    session: str, repository: Path, git, capsys, view: str
) -> None:
    """Doctor names the line, heal regenerates the view from the segments and stages it."""
    named_and_healed(repository, git, capsys, f".state/sessions/{session}/{view}", 2)


def test_the_next_command_reports_which_view_it_healed(session: str, repository: Path, capsys) -> None:
    """A view that any command regenerates because of markers is reported with the line."""
    mark(repository / ".state" / "sessions" / session / "STATE.md", 4)
    assert main(["status"]) == 0
    said = capsys.readouterr()
    assert "STATE.md:5: conflict markers of a merge" in said.err
    assert "goal" in said.out
    assert main(["status"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "command"),
    [("handoff/latest.md", ["handoff", "over to you"]), (".continue-here.md", ["pause", "for lunch"])],
)
def test_committed_markers_in_a_page_are_named_and_healed(
    session: str, repository: Path, git, capsys, name: str, command: list[str]
) -> None:
    """Pages in the project's folder with committed markers are regenerated from the session that they name."""
    assert main(command) == 0
    git("add", "-f", name)
    named_and_healed(repository, git, capsys, name, 9)


@pytest.mark.parametrize(
    "name", [".state/config.toml", ".state/.gitattributes", ".state/.gitignore", "AGENTS.md"]
)
def test_markers_that_only_a_person_can_settle_are_named(
    session: str, repository: Path, git, capsys, name: str
) -> None:
    """Settings and people's text are left as they are; doctor and heal name the line and say what to do."""
    assert main(["agents-md"]) == 0
    path = repository / name
    mark(path, 1)
    marked = path.read_bytes()
    for command in (["doctor"], ["heal"]):
        capsys.readouterr()
        assert main(command) != 0
        said = capsys.readouterr().out
        assert f"{Path(name).name}:2: conflict markers of a merge" in said
        assert "edit it" in said
    assert path.read_bytes() == marked


def test_a_text_that_shows_markers_is_no_conflict(session: str, repository: Path, capsys) -> None:
    """Notes about merges, and an AGENTS.md that explains one, are no conflict."""
    (repository / "AGENTS.md").write_text("# Rules\n\n```\n<<<<<<< HEAD\n```\n")
    assert main(["note", "<<<<<<< HEAD\n=======\n>>>>>>> theirs"]) == 0
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "conflict" not in capsys.readouterr().out


@pytest.mark.usefixtures("tracked_views")
def test_views_that_stay_out_of_git_stay_out_after_a_merge(session: str, repository: Path, git) -> None:
    """A branch from before `--views local` has changed and added views: after healing none is tracked."""
    git("add", "-A")
    git("commit", "-q", "-m", "with views")
    git("checkout", "-q", "-b", "feature")
    with holdfast.open() as workspace:
        workspace.session(session).note("on the feature branch")
        workspace.start("a new session")
    git("add", "-A")
    git("commit", "-q", "-m", "feature")
    git("checkout", "-q", "main")
    assert main(["init", "--views", "local"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "without views")
    for branch, other in (("main", "feature"), ("feature", "main")):
        git("checkout", "-q", "-f", branch)
        git("merge", "--no-edit", other, ok=False)
        assert main(["heal"]) == 0
        assert git("diff", "--name-only", "--diff-filter=U") == ""
        git("commit", "-q", "--no-edit", ok=False)
        assert "STATE.md" not in git("ls-files")
        assert "state.json" not in git("ls-files")
        assert main(["status", "--session", session]) == 0
        assert git("status", "--porcelain") == ""
        assert (repository / ".state" / "sessions" / session / "STATE.md").exists()


def test_a_segment_healed_from_two_complete_sides_is_valid(
    repository: Path, git, session: str, capsys
) -> None:
    """Two clones wrote under one name (a restored disk): joined, the lines are chained again."""
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    state = repository / ".state"
    path = next(state.rglob("events/sessions/**/*.jsonl"))
    name = path.with_name(path.name.replace("-1.", "-2."))
    with holdfast.open() as workspace:
        workspace.session(session).note("on one side")
    one = name.read_bytes()
    git("checkout", "-q", "-b", "other")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    git("checkout", "-q", "main")
    with holdfast.open() as workspace:
        workspace.session(session).note("on the other side")
    (other,) = [found for found in path.parent.glob("*.jsonl") if found not in (path, name)]
    from holdfast.store.files import segments
    from holdfast.store.files.padding import line_of

    stream = f"sessions/{session}"
    lines = [segments.in_column(stream, name.name, line_of(line)) for line in other.read_bytes().splitlines()]
    other.unlink()
    name.write_bytes(b"".join(line + b"\n" for line in lines))
    git("add", "-A")
    git("commit", "-q", "-m", "the other one")
    git("merge", "--no-edit", "other", ok=False)
    assert name.name in git("diff", "--name-only", "--diff-filter=U")
    assert main(["heal"]) == 0
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "does not follow" not in capsys.readouterr().out
    with holdfast.open() as workspace:
        assert workspace.session(session).version == 3
        assert workspace.session(session).peek().faults == ()
    assert name.read_bytes().startswith(one)
