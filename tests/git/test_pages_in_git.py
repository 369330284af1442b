"""Pages in the project's own folder heal after a merge, like views."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main


@pytest.fixture
def session(repository: Path, git) -> str:
    (repository / "AGENTS.md").write_text("# Rules\n\nBe kind.\n\nBe brief.\n")
    with holdfast.open() as workspace:
        name = workspace.start("goal").id
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    return name


def on_branches(git, *commands: list[list[str]], force: bool = False) -> None:
    """Run commands on one branch each, from the same start; the last branch stays checked out. ``force``: with a page
    in git that holdfast keeps out of it."""
    for number, listed in enumerate(commands):
        git("checkout", "-q", "-b", f"b{number}", "main")
        for command in listed:
            assert main(command) == 0
        git("add", "-A")
        if force:
            git("add", "-f", ".continue-here.md", ok=False)
        git("commit", "-q", "-m", f"b{number}")


def conflicts(git) -> set[str]:
    return {Path(path).name for path in git("diff", "--name-only", "--diff-filter=U").split()}


def test_a_pause_stays_out_of_git(session: str, git) -> None:
    """The page of a pause is local to its clone: no merge ever sees it, and info/exclude names it once."""
    on_branches(git, [["pause", "out for lunch"], ["continue"], ["pause", "again"]], [["pause", "gone home"]])
    assert ".continue-here.md" not in git("ls-files")
    assert git("status", "--porcelain") == ""
    git("merge", "-q", "--no-edit", "b0")
    assert Path(".git/info/exclude").read_text().count(".continue-here.md") == 1
    assert "gone home" in Path(".continue-here.md").read_text()


def test_two_pauses_heal(session: str, git) -> None:
    """If the page is in git, two branches that paused leave one page, of the session after the merge."""
    on_branches(git, [["pause", "out for lunch"]], [["pause", "gone home"]], force=True)
    git("merge", "-q", "--no-edit", "b0", ok=False)
    assert ".continue-here.md" in conflicts(git)
    assert main(["heal"]) == 0
    assert not conflicts(git)
    page = Path(".continue-here.md").read_text()
    assert "<<<<<<<" not in page
    assert f"session: {session}\n" in page


def test_a_pause_that_ended_on_the_other_side_heals(session: str, git) -> None:
    """A page that one side changed and the other removed exists only if the session is still paused."""
    assert main(["pause", "first"]) == 0
    git("add", "-f", ".continue-here.md")
    git("add", "-A")
    git("commit", "-q", "-m", "paused")
    on_branches(git, [["pause", "again"]], [["continue"], ["complete"]])
    git("merge", "-q", "--no-edit", "b0", ok=False)
    assert ".continue-here.md" in conflicts(git)
    assert main(["heal"]) == 0
    assert not conflicts(git)
    with holdfast.open() as workspace:
        from holdfast.views import parts

        paused = parts.value(workspace.session(session).state, "status") == "paused"
    assert Path(".continue-here.md").exists() == paused


@pytest.mark.parametrize("command", [["status"], ["note", "more"], ["heal"]])
def test_two_handoffs_merge_and_the_next_command_heals_the_page(
    session: str, git, capsys, command: list[str]
) -> None:
    """Two branches that handed off merge without stopping; after any command the page is that of the later one."""
    on_branches(git, [["handoff", "from the first"]], [["handoff", "from the second"]])
    git("merge", "-q", "--no-edit", "b0")
    page = Path("handoff/latest.md")
    merged = page.read_text()
    assert "from the first" in merged
    assert "<<<<<<<" not in merged
    assert main(command) == 0
    healed = page.read_text()
    assert "from the first" not in healed
    assert "from the second" in healed
    assert healed.count("sealed: ") == 1
    (kept,) = Path(".state/local").glob("merged-latest.md/*")
    assert kept.read_text() == merged


def test_two_handoffs_heal(session: str, git) -> None:
    """The user's own attributes stay: then two branches that handed off conflict, and heal leaves the page of the later
    one."""
    Path("handoff").mkdir()
    Path("handoff/.gitattributes").write_text("# mine\n")
    git("add", "-A")
    git("commit", "-q", "-m", "attributes of my own")
    on_branches(git, [["handoff", "from the first"]], [["handoff", "from the second"]])
    git("merge", "-q", "--no-edit", "b0", ok=False)
    assert "latest.md" in conflicts(git)
    assert main(["heal"]) == 0
    assert not conflicts(git)
    page = Path("handoff/latest.md").read_text()
    assert "<<<<<<<" not in page
    assert "from the second" in page
    assert Path("handoff/.gitattributes").read_text() == "# mine\n"


def test_the_block_in_agents_md_heals_and_the_rest_is_merged(session: str, git) -> None:
    """If only the block conflicts, both sides' text is present, and the block is current."""
    assert main(["agents-md"]) == 0
    git("add", "-A")
    git("commit", "-q", "-m", "block")
    on_branches(git, [["goal", "set", "one"], ["agents-md"]], [["goal", "set", "two"], ["agents-md"]])
    page = Path("AGENTS.md")
    page.write_text(page.read_text().replace("Be kind.", "Be very kind."))
    git("commit", "-q", "-am", "kinder")
    git("merge", "-q", "--no-edit", "b0", ok=False)
    assert "AGENTS.md" in conflicts(git)
    assert main(["heal"]) == 0
    assert not conflicts(git)
    text = page.read_text()
    assert "Be very kind." in text
    assert "<<<<<<<" not in text
    assert text.count("holdfast:begin") == 1


def test_a_conflict_between_people_is_left_to_people(session: str, git, capsys) -> None:
    """If two people's words conflict in AGENTS.md, the file stays as git left it and is reported."""
    page = Path("AGENTS.md")
    for branch, words in (("b0", "Be kind to cats."), ("b1", "Be kind to dogs.")):
        git("checkout", "-q", "-b", branch, "main")
        page.write_text(page.read_text().replace("Be kind.", words))
        git("commit", "-q", "-am", branch)
    git("merge", "-q", "--no-edit", "b0", ok=False)
    before = page.read_bytes()
    main(["heal"])
    assert page.read_bytes() == before
    assert conflicts(git) == {"AGENTS.md"}
    assert "AGENTS.md" in capsys.readouterr().out
