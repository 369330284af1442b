"""Examples in the documentation are real: commands parse and run, and so do Python blocks."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import COMMANDS, load
from holdfast.edge.cli.command import _verb, parser

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if "reference" not in page.parts
]
NAMES = {page: str(page.relative_to(ROOT)) for page in PAGES}
ENDS = ("&&", "||", "|", ">", "<", ";")


def lines_of(page: Path) -> list[str]:
    """Every command line that begins with `$ holdfast` in a console block, continuation lines joined."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
    text = "\n".join(blocks).replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ holdfast")]


def python_of(page: Path) -> list[str]:
    """Every Python block of a page."""
    return [
        textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    ]


COMMAND_LINES = [(page, line) for page in PAGES for line in lines_of(page)]


@pytest.mark.parametrize(
    ("page", "line"), COMMAND_LINES, ids=[f"{NAMES[page]}: {line[:50]}" for page, line in COMMAND_LINES]
)
def test_a_command_is_understood(page: Path, line: str) -> None:
    """The real parser accepts the arguments of every command that a console block shows."""
    words = shlex.split(line, comments=True)[1:]
    if not words:
        return
    ends = [place for place, word in enumerate(words) if word in ENDS]
    words = words[: ends[0]] if ends else words
    name = words[0]
    assert name in COMMANDS, f"{NAMES[page]} shows holdfast {name}"
    command = load(name)
    found = _verb(name, command, words[1:]) if command.verbs else (name, command, words[1:])
    assert found is not None, f"{NAMES[page]}: {line}"
    whole, inner, rest = found
    parser(whole, inner).parse_args(rest)


@pytest.mark.parametrize("page", [page for page in PAGES if python_of(page)], ids=NAMES.get)
def test_python_blocks_compile(page: Path) -> None:
    """Every Python block of the documentation is valid Python."""
    for block in python_of(page):
        ast.parse(block)


def test_the_python_of_projections_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block goes on where the one before it ended; its assertions hold."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "service").mkdir()
    namespace: dict[str, object] = {"__name__": "example"}
    for block in python_of(ROOT / "docs" / "howto" / "projections.md"):
        exec(compile(block, "projections.md", "exec"), namespace)


def test_the_python_of_readme_and_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of README and tutorial run in a new workspace and record what they say."""
    from holdfast.edge.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    done: list[str] = []
    names = {
        "upload": lambda: done.append("upload"),
        "add_header": lambda: done.append("header"),
        "holdfast": holdfast,
    }
    for block in python_of(ROOT / "README.md"):
        exec(compile(block, "README.md", "exec"), names)
    with holdfast.open() as workspace:
        names["session"] = workspace.session()
        for block in python_of(ROOT / "docs" / "tutorial.md"):
            exec(compile(block, "tutorial.md", "exec"), names)
    assert done == ["upload", "header"]
    assert names["builds"] == 1


RUN = (
    "README.md",
    "docs/tutorial.md",
    *(f"docs/howto/{name}.md" for name in ("steer-the-work", "hand-over")),
)
RUN += ("docs/howto/questions-and-concerns.md", "docs/howto/project-memory.md", "docs/howto/git.md")


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that a page shows succeed one after the other, in a new workspace with a session."""
    from holdfast.edge.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["init"]) == 0
    assert main(["start", "A goal", "--phases", "look,build,prove"]) == 0
    for line in lines_of(ROOT / name):
        words = shlex.split(line, comments=True)[1:]
        # What changes the settings of hosts is in tests/hooks, what starts a host in tests/hosts.
        if words[:1] != ["install"] and "--in" not in words:
            assert main(words) == 0, line
