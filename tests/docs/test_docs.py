"""Documentation is a tested artefact."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.edge.cli import COMMANDS, load
from holdfast.edge.cli.command import _verb, parser

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_command_reference_is_up_to_date() -> None:
    """docs/reference/cli.md is what the commands say of themselves."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_summary_and_examples(name: str) -> None:
    """Help says what a command does in one sentence and shows how it is used."""
    command = load(name)
    assert command.summary.endswith(".")
    assert command.examples
    assert all(example.startswith(f"holdfast {name}") for example in command.examples)
    help_text = parser(name, command).format_help()
    assert "examples:" in help_text
    assert "--json" in help_text


def called(example: str, name: str) -> str:
    """The command or verb that an example calls, seen with the real parser; its arguments are understood too."""
    last = [part.strip() for part in example.split(" | ") if part.strip().startswith("holdfast ")][-1]
    words = shlex.split(last, comments=True)[1:]
    ends = [place for place, word in enumerate(words) if word in ("&&", ">", "<", ";")]
    words = words[: ends[0]] if ends else words
    assert words[0] == name, example
    command = load(name)
    found = _verb(name, command, words[1:]) if command.verbs else (name, command, words[1:])
    assert found is not None
    whole, inner, rest = found
    parser(whole, inner).parse_args(rest)
    return whole


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_calls_its_command(name: str) -> None:
    """Each example in help really is a call of that command or verb, and one of them spells it out."""
    command = load(name)
    for verb, inner in (command.verbs or {"": command}).items():
        whole = f"{name} {verb}".strip()
        for example in inner.examples:
            assert called(example, name) == whole, example
        assert any(f"holdfast {whole}" in example for example in inner.examples), whole


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link in the documentation leads to a file that exists."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_documentation_exist(page: Path) -> None:
    """Every `holdfast WORD` in a console block names a real command."""
    for block in re.findall(r"```(?:console|sh)\n(.*?)```", page.read_text(), re.DOTALL):
        for word in re.findall(r"^\$ holdfast (\S+)", block, re.MULTILINE):
            assert word in COMMANDS, f"{page.relative_to(ROOT)} shows holdfast {word}"


def test_the_index_lists_every_page() -> None:
    """docs/README.md links to every page; decision records and references are listed in their own folders."""
    folder = ROOT / "docs"
    linked = set(re.findall(r"\]\(([^)#\s]+\.md)\)", (folder / "README.md").read_text()))
    pages = {str(page.relative_to(folder)) for page in folder.rglob("*.md")}
    listed_apart = {page for page in pages if page.startswith(("decisions/", "reference/"))}
    assert pages - listed_apart - {"README.md"} <= linked


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_source_files_exist(page: Path) -> None:
    """Every Python file and test folder that a page names in backticks exists, from the top or from src/holdfast."""
    named = re.findall(r"`([\w./-]+\.py|tests/[\w./-]*)(?:::\w+)?`", page.read_text())
    for name in named:
        places = [
            folder / name for folder in (ROOT, ROOT / "src" / "holdfast", ROOT / "src" / "holdfast" / "edge")
        ]
        assert "/" not in name or any(place.exists() for place in places), f"{page.relative_to(ROOT)}: {name}"
