"""Validate: schemas, and what does not have their form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.checks import schema, validate
from holdfast.edge.cli import main
from holdfast.errors import NotFound

GOOD: dict[str, Any] = {
    "goal": "g",
    "current_phase": "p",
    "decisions": ["d"],
    "open_risks": [],
    "blocked_by": [],
    "next_actions": [],
    "artifacts": [],
    "last_updated": "2026-05-05T00:00:00Z",
}
TOOLS = Path(sys.executable).parent


def test_the_contract() -> None:
    """All eight fields are required, with their types; the three of the runtime are checked if they are there."""
    assert schema.problems("session-state", GOOD) == []
    runtime = {"plugin_version": "1", "legal_reviews": ["l"], "compaction_count": 0}
    assert schema.problems("session-state", GOOD | runtime) == []
    for name in GOOD:
        rest = {key: value for key, value in GOOD.items() if key != name}
        assert [p.where for p in schema.problems("session-state", rest)] == [f"/{name}"]
        assert schema.problems("session-state", GOOD | {name: 7})
    for wrong in (
        {"legal_reviews": "x"},
        {"compaction_count": -1},
        {"compaction_count": True},
        {"decisions": [1]},
    ):
        assert schema.problems("session-state", GOOD | wrong), wrong
    assert schema.problems("session-state", GOOD | {"last_updated": "yesterday"})
    assert schema.problems("session-state", []) == [schema.Problem("", "must be of type object")]


def test_our_own_export_fulfils_the_contract(project: Path) -> None:
    """session-state.json as holdfast writes it is valid."""
    from holdfast.views.exports import session_state

    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.decide("A", because="b")
        exported = json.loads(session_state.render(session.state, session.stored_commits()))
    assert schema.problems("session-state", exported) == []


def test_a_workspace_is_valid_until_something_is_changed(project: Path) -> None:
    """Commits and views have the form of their schemas; a broken view is found."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work", phases=["a", "b"])
        session.decide("A", because="b")
        session.record("x.own", {"deep": {"er": [1]}}, op="o-1")
        workspace.project.add_item("Item")
        workspace.publish()
        assert validate.validate_workspace(workspace) == []
        path = project / ".state" / session.stream / "state.json"
        path.write_text(path.read_text().replace('"format": 1', '"format": "one"'))
        assert [f.rule.id for f in validate.validate_workspace(workspace)] == ["HF301"]
        path.write_text("{")
        assert [f.rule.id for f in validate.validate_workspace(workspace)] == ["HF305"]


def test_damage_in_a_segment_is_named_by_line(project: Path) -> None:
    """A flipped byte is found, with file and line."""
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.note("hello")
    (segment,) = (project / ".state" / "events" / session.stream).iterdir()
    segment.write_bytes(segment.read_bytes().replace(b"hello", b"jello"))
    with holdfast.open(project) as workspace:
        found = validate.validate_workspace(workspace)
    assert [(f.rule.id, f.line) for f in found] == [("HF304", 2)]
    lines = segment.read_bytes().replace(b'"v":1,"id"', b'"v":1,"extra":1,"id"', 1)
    segment.write_bytes(lines)
    assert [(f.rule.id, f.line) for f in validate.validate_file(str(segment))] == [("HF303", 1)]


def test_files_by_name(tmp_path: Path) -> None:
    """A session-state.json is checked wherever it is; a problem is reported with its line."""
    path = tmp_path / "session-state.json"
    path.write_text(json.dumps(GOOD | {"decisions": "none"}, indent=1))
    (found,) = validate.validate_file(str(path))
    assert (found.rule.id, found.line) == ("HF302", 4)
    path.write_text("nonsense")
    assert [f.rule.id for f in validate.validate_file(str(path))] == ["HF305"]
    with pytest.raises(NotFound):
        validate.validate_file(str(tmp_path / "no.json"))


@pytest.mark.parametrize("place", ["state/session-state.json", "services/billing/state/session-state.json"])
def test_the_session_state_is_checked_where_it_is(
    project: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """`validate` and `lint` without a file check the project's session-state.json, also in a part of the project."""
    path = project / place
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(GOOD, indent=1))
    assert main(["validate"]) == 0
    assert main(["lint", "--rule", "HF113"]) == 0
    path.write_text(json.dumps(GOOD | {"decisions": "none"}, indent=1))
    capsys.readouterr()
    assert main(["validate", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["rule"], found["path"], found["line"]) == ("HF302", place, 4)
    assert main(["lint", "--rule", "HF113", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["rule"], found["path"]) == ("HF113", place)


def test_what_commands_print_has_its_schema(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON of a command, fine or failed, has the form of the shipped schema."""
    for words in (["start", "x", "--json"], ["status", "--json"], ["settle", "D-99", "x", "--json"]):
        main(words)
        printed = json.loads(capsys.readouterr().out)
        assert schema.problems("output", printed) == []


@pytest.mark.parametrize("name", schema.NAMES)
def test_schemas_are_printed_as_shipped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`holdfast schema NAME` prints the file, byte for byte."""
    assert main(["schema", name]) == 0
    assert capsys.readouterr().out == schema.text(name)
    assert json.loads(schema.text(name))["$schema"] == "https://json-schema.org/draft/2020-12/schema"


CHECKER = TOOLS / "check-jsonschema"


@pytest.mark.parametrize("name", schema.NAMES)
def test_schemas_pass_the_metaschema(name: str, tmp_path: Path) -> None:
    """The schemas are JSON Schemas of 2020-12."""
    path = tmp_path / "s.json"
    path.write_text(schema.text(name))
    subprocess.run([str(CHECKER), "--check-metaschema", str(path)], check=True)


def test_our_checker_agrees_with_a_full_one(tmp_path: Path) -> None:
    """On good and bad values our small checker agrees with a complete implementation."""
    from jsonschema import Draft202012Validator

    values: list[tuple[str, Any]] = [("session-state", GOOD)]
    values += [("session-state", {k: v for k, v in GOOD.items() if k != name}) for name in GOOD]
    values += [
        ("session-state", GOOD | {name: value}) for name in GOOD for value in (1, "", [], [1], None, True)
    ]
    values += [
        ("output", value) for value in ({}, {"ok": 1}, {"ok": True}, {"ok": False, "error": {"code": "x"}})
    ]
    for name, value in values:
        full = Draft202012Validator(json.loads(schema.text(name))).is_valid(value)
        ours = [p for p in schema.problems(name, value) if "ISO-8601" not in p.what] == []
        assert ours == full, (name, value)
