"""Hints are data: each edge names the same use case in its own terms, and every name exists there."""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import holdfast
from holdfast.core import actions
from holdfast.core.concepts.session import BY_COMMAND
from holdfast.edge.cli import COMMANDS, load, main
from holdfast.edge.cli import hints as cli
from holdfast.edge.cli.command import parser
from holdfast.edge.mcp import hints as mcp
from holdfast.edge.mcp.tools import BY_NAME
from holdfast.errors import PYTHON, Hint, HoldfastError, NoSession, Refused, Use
from holdfast.workspace.person import Person
from holdfast.workspace.presence import Presence
from holdfast.workspace.project import Project
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace

ROOT = Path(holdfast.__file__).parent
LAYERS = ("core", "workspace", "store", "recovery")
OWNERS = {"workspace": Workspace, "session": Session}
PARTS = {"project": Project, "me": Person, "presence": Presence}


def named_in_code() -> set[str]:
    """The use cases that a hint in the package names."""
    found = set(BY_COMMAND.values())
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Use":
                name = node.args[0]
                if isinstance(name, ast.Constant):
                    found.add(str(name.value))
    return found


def test_every_use_case_has_a_form_at_every_edge() -> None:
    """What a hint names can be rendered as Python and as a command; no form is left over."""
    assert named_in_code() == set(PYTHON) == set(cli.FORMS)
    assert set(mcp.FORMS) | set(mcp.NOT_TOOLS) <= set(cli.FORMS)
    assert not set(mcp.FORMS) & set(mcp.NOT_TOOLS)


@pytest.mark.parametrize("name", [name for name, form in cli.FORMS.items() if form.startswith("holdfast ")])
def test_commands_in_hints_exist(name: str) -> None:
    """A command that a hint names is parsed by the real parser."""
    words = re.sub(r"\{[^}]*\}", "X-1", cli.FORMS[name]).split()[1:]
    assert words[0] in COMMANDS
    command, title = load(words[0]), words[0]
    rest = words[1:]
    if command.verbs is not None:
        verb = rest.pop(0) if rest and rest[0] in command.verbs else command.default
        title, command = f"{title} {verb}", command.verbs[verb]
    parser(title, command).parse_args(rest)


@pytest.mark.parametrize("name", mcp.FORMS)
def test_tools_in_hints_exist(name: str) -> None:
    """A tool that a hint names takes the arguments that the hint gives it."""
    tool, _, inside = mcp.FORMS[name].rstrip(")").partition("(")
    schema = BY_NAME[tool].schema()
    given = dict(argument.split("=", 1) for argument in inside.split(", ") if argument)
    assert set(schema.get("required", ())) <= set(given) <= set(schema["properties"])
    for argument, value in given.items():
        assert value.startswith("{") or value in schema["properties"][argument].get("enum", [value])
    if "action" in given:
        assert given["action"].split()[0].removeprefix("/") in actions.CATALOGUE


@pytest.mark.parametrize("name", [name for name, form in PYTHON.items() if form.startswith(tuple(OWNERS))])
def test_methods_in_hints_exist(name: str) -> None:
    """A method that a hint names exists and takes the arguments that the hint gives it."""
    form = re.sub(r"\{[^}]*\}", "None", PYTHON[name])
    node = ast.parse(form, mode="eval").body
    call = node if isinstance(node, ast.Call) else None
    chain: list[str] = []
    inner = call.func if call else node.value if isinstance(node, ast.Subscript) else node
    while isinstance(inner, ast.Attribute):
        chain.insert(0, inner.attr)
        inner = inner.value
    assert isinstance(inner, ast.Name)
    found: object = OWNERS[inner.id]
    for attribute in chain:
        found = PARTS.get(attribute) or getattr(found, attribute)
    if call:
        assert callable(found)
        names = {keyword.arg: None for keyword in call.keywords if keyword.arg}
        inspect.signature(found).bind(None, *call.args, **names)


def test_no_layer_below_the_edge_names_a_command() -> None:
    """Core, workspace, store and recovery are data: none of their texts names a CLI command."""
    named = [
        str(path.relative_to(ROOT))
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*.py")
        if "`holdfast " in path.read_text()
    ]
    assert named == []


def test_each_edge_renders_a_hint_in_its_own_terms() -> None:
    """The same hint is a command, a tool call or a method call; an unknown value is a placeholder."""
    hint = Hint("Settle it: ", Use("settle", id="D-1"), ".")
    assert cli.text(hint) == "Settle it: `holdfast settle D-1 OUTCOME`."
    assert mcp.text(hint) == "Settle it: the tool settle(id=D-1, outcome=…)."
    assert str(hint) == "Settle it: `session.settle('D-1', …)`."


def test_what_no_tool_does_is_a_command_for_mcp_too() -> None:
    """An agent behind MCP can run a shell command, and gets resources by URI."""
    assert mcp.text(Hint(Use("heal"), " recovers them.")) == "`holdfast heal` recovers them."
    assert mcp.text(Hint(Use("sessions"), " lists them.")) == "The resource holdfast://sessions lists them."


def test_values_in_hints_are_quoted_for_the_shell() -> None:
    """A value that a person pastes cannot become a second command."""
    hint = Hint(Use("ref.drop", path="a b; rm -rf $HOME"))
    assert cli.text(hint) == "`holdfast ref drop 'a b; rm -rf $HOME'`"


def test_braces_in_text_are_text() -> None:
    """Only forms have parameters: user text in a hint is shown as it is."""
    hint = Hint("Allowed: {name}, {0}. ", Use("phase.enter", name="{id}"))
    assert cli.text(hint) == "Allowed: {name}, {0}. `holdfast phase enter '{id}'`"


def test_a_traceback_shows_the_hint() -> None:
    """Below the message there is what to do next, in Python; the message itself is unchanged."""
    error = Refused("It is refused.", hint=Hint("Use ", Use("settle", id="D-1"), "."))
    error.add_note("A note of the caller's.")
    shown = "".join(traceback.format_exception(error))
    assert "It is refused.\nHint: Use `session.settle('D-1', …)`.\nA note of the caller's.\n" in shown
    assert (str(error), error.message, error.args) == (
        "It is refused.",
        "It is refused.",
        ("It is refused.",),
    )


def test_an_uncaught_error_shows_the_hint() -> None:
    """Also where the interpreter prints the traceback itself."""
    code = "from holdfast.errors import NoSession; raise NoSession"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Hint: `workspace.start(…)` starts one" in done.stderr


def test_an_error_survives_pickling() -> None:
    """A worker process can pass an error with its hint to its parent."""
    error = pickle.loads(pickle.dumps(Refused("No.", hint=Hint("Use ", Use("settle", id="D-1"), "."))))
    assert (error.message, error.hint) == ("No.", Hint("Use ", Use("settle", id="D-1"), "."))
    assert repr(error.hint) == "Hint('Use ', Use('settle', id='D-1'), '.')"


def test_json_keeps_its_shape(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` gives code, message and hint as texts, the hint as commands."""
    assert main(["status", "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert error == {
        "code": "HF-NO-SESSION",
        "message": "There is no current session here.",
        "hint": cli.text(NoSession.hint),
    }
    assert "`holdfast start GOAL`" in error["hint"]


def test_an_empty_hint_is_none() -> None:
    """An error without a hint shows none."""
    error = HoldfastError("No.", hint="")
    assert not error.hint
    assert error.as_json()["hint"] == ""
    assert traceback.format_exception(error)[-1].endswith("HoldfastError: No.\n")
