"""Help: ten everyday commands, the rest in groups, within 80 columns, and errors for what does not exist."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.edge.cli import COMMANDS, EVERYDAY, GROUPS, hints, load, main
from holdfast.edge.cli.overview import help_of
from holdfast.edge.cli.repair import REPAIR
from holdfast.version import __version__

ROOT = Path(__file__).parents[2]
WIDTH = 80


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def too_long(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > WIDTH]


def all_words() -> Iterator[list[str]]:
    """Every command and every verb."""
    for name in COMMANDS:
        yield [name]
        yield from ([name, verb] for verb in load(name).verbs or ())


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_without_arguments_it_shows_the_everyday_commands(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten commands with one line each, an example, and how to see the rest."""
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^  ([a-z-]+) +[A-Z]", shown, re.MULTILINE) == list(EVERYDAY)
    assert len(EVERYDAY) == 10
    assert "$ holdfast init" in shown
    assert "holdfast help --all" in shown
    assert not too_long(shown)


def test_help_all_shows_every_command_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command is listed, within 80 columns, with the table that compares the repair commands."""
    assert main(["help", "--all"]) == 0
    shown = capsys.readouterr().out
    for group, names in GROUPS.items():
        part = shown.partition(f"{group}\n")[2].partition("\n\n")[0]
        assert all(re.search(rf"\b{name}\b", part) for name in names), group
    for name, use, does in REPAIR:
        assert re.search(rf"{name} +{use} +{does}", shown)
    assert not too_long(shown)


@pytest.mark.parametrize("name", [name for name, _, _ in REPAIR])
def test_each_repairing_command_compares_itself_with_the_others(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The help of recover, restore, heal and doctor has the same table."""
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(use in shown for _, use, _ in REPAIR)


@pytest.mark.parametrize("words", list(all_words()), ids=" ".join)
def test_help_fits_80_columns(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`holdfast help COMMAND VERB` and `--help` print the same text, and no line of it is too long."""
    assert main([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert not too_long(shown)
    assert main(["help", *words]) == 0
    assert capsys.readouterr().out.rstrip() == shown.rstrip()


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both options print the version."""
    assert main([option]) == 0
    assert capsys.readouterr().out == f"holdfast {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--bogus"],
        ["--bogus", "status"],
        ["--because", "x", "status"],
        ["status", "--bogus"],
        ["task", "--bogus"],
        ["task", "list", "--bogus"],
        ["note", "text", "--bogus=1"],
        ["-x"],
        ["--json"],
        ["--json=1", "status", "extra"],
        ["status", "extra"],
        ["help", "nothing"],
        ["help", "task", "nothing"],
        ["nothing"],
        ["focus"],
        ["--workspace"],
        ["status", "--session"],
    ],
    ids=" ".join,
)
def test_what_does_not_exist_is_a_usage_error(
    project: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown option, command, verb or argument exits with status 2, wherever it is."""
    assert main(words) == 2
    assert capsys.readouterr().out.startswith("{" if "--json" in words else "")


def test_options_may_come_anywhere(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the command, before the verb and between the arguments, also where an argument is optional."""
    assert main(["start", "Ship it"]) == 0
    capsys.readouterr()
    for words in (
        ["--json", "task", "add", "one"],
        ["--workspace", str(project), "--json", "task", "add", "two"],
        ["task", "--json", "--after", "T-1", "add", "three"],
        ["task", "add", "--after", "T-1", "four", "--json"],
        ["prefer", "language", "--op", "x", "en", "--json"],
        ["control", "review", "--json", "caught it"],
    ):
        assert main(words) == 0, words
        assert json.loads(capsys.readouterr().out)["ok"] is True
    assert main(["prefer", "language", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == "en"
    assert main(["task", "list", "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)["open"]
    assert [task["depends_on"] for task in tasks] == [[], [], ["T-1"], ["T-1"]]


@pytest.mark.parametrize("text", ["- a list", "-1", "--", "---", "-x y", "a --json b"])
def test_texts_that_begin_like_options(project: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """After `--` every word is text; a text with a space is text in any case."""
    assert main(["start", "Ship it"]) == 0
    assert main(["note", "--json", "--", text]) == 0
    if " " in text:
        assert main(["note", text]) == 0


def test_an_argument_that_belongs_to_a_verb_is_answered_with_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its verb, the error shows the whole command."""
    assert main(["phase", "my build"]) == 2
    assert "holdfast phase enter 'my build'" in capsys.readouterr().err


MENTION = re.compile(r"`holdfast ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
FOLDERS = ("src/holdfast", "docs", "packages", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def mentions() -> Iterator[tuple[str, str, str]]:
    for folder in FOLDERS:
        found = [ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*")
        for path in found:
            if path.suffix not in (".py", ".md", ".mdc", ".toml", ".json", ".ts", ".html"):
                continue
            for match in MENTION.finditer(path.read_text()):
                yield str(path.relative_to(ROOT)), match[1], match[2] or ""


def hinted() -> Iterator[tuple[str, str, str]]:
    for use, form in hints.FORMS.items():
        if match := MENTION.match(f"`{form}"):
            yield f"hint {use}", match[1], match[2] or ""


def test_every_command_that_is_mentioned_exists() -> None:
    """Every `holdfast …` in messages, hints, views and documentation is a command, with that verb."""
    wrong = set()
    for place, name, verb in [*mentions(), *hinted()]:
        if name not in COMMANDS or (verb and load(name).verbs and verb not in (load(name).verbs or {})):
            wrong.add((place, f"{name} {verb}"))
    assert not wrong


def test_the_manual_page_is_well_formed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`help --man` names every command and verb, and man's own tools accept it."""
    assert main(["help", "--man"]) == 0
    page = capsys.readouterr().out
    for words in all_words():
        assert " ".join(words).replace("-", "\\-") in page
    (tmp_path / "holdfast.1").write_text(page)
    if shutil.which("mandoc"):
        command = ["mandoc", "-T", "lint", "-W", "warning", "holdfast.1"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        # The page has no date: it is generated, and the same commands make the same page.
        assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
    if shutil.which("groff"):
        command = ["groff", "-man", "-Tutf8", "-ww", "holdfast.1"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "durable working memory" in done.stdout


def test_help_does_not_need_a_workspace(tmp_path: Path) -> None:
    """Help works in an empty folder and leaves it empty."""
    code = "from holdfast.edge.cli import script; script()"
    environment = {**os.environ, "HOME": str(tmp_path)}
    for words in (["help", "--all"], ["help", "--man"], ["completion", "bash"], ["task", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, env=environment, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b"")
    assert not list(tmp_path.iterdir())


def test_help_of_a_verb_names_the_verb() -> None:
    """`holdfast help task add` is the help of that verb."""
    assert help_of(["task", "add"]).startswith("usage: holdfast task add ")
