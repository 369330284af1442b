"""Workspaces of every released format stay readable, and reading changes no byte of them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import holdfast

HERE = Path(__file__).parent
FORMATS = sorted(path.name for path in HERE.iterdir() if (path / "expected.json").exists())


@pytest.fixture(params=FORMATS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, object]]:
    """A copy of a workspace that an earlier release wrote, and what is in it."""
    source = HERE / request.param
    shutil.copytree(source / "workspace", tmp_path / ".state")
    return tmp_path, json.loads((source / "expected.json").read_text())


def test_there_is_a_golden_workspace() -> None:
    """The current format has a golden workspace."""
    assert "v1" in FORMATS


def test_the_golden_workspace_has_every_kind_of_line() -> None:
    """Lines without spaces, with spaces, and with blanks in both of their places."""
    lines = b"".join(path.read_bytes() for path in (HERE / "v1").rglob("*.jsonl")).splitlines()
    for pattern in (rb'\{"v"', rb'\{ +"v"', rb'.*\][ \t]+,"sum"', rb'.*Z"[ \t]+,"by"'):
        assert any(re.match(pattern, line) for line in lines), pattern


def test_an_old_workspace_is_read_and_not_changed(old: tuple[Path, dict[str, object]]) -> None:
    """Everything that was written is read; segments are not touched."""
    folder, expected = old
    segments = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    with holdfast.open(folder, user="alice") as workspace:
        session = workspace.session(str(expected["session"]))
        state = session.peek().state
        assert session.version == expected["version"]
        assert workspace.project.version == expected["project_version"]
        assert session.peek().faults == ()
        assert state["unknown"] == {}
        assert state["registers"]["goal"]["value"] == expected["goal"]
        assert state["registers"]["phase"]["value"] == expected["phase"]
        assert state["decisions"]["made"] == expected["made"]
        assert {k: d["text"] for k, d in state["decisions"]["open"].items()} == expected["open_decisions"]
        assert [task["title"] for task in state["tasks"]["open"].values()] == expected["tasks"]
        assert [loop["title"] for loop in state["loops"]["open"].values()] == expected["loops"]
        assert [note["text"] for note in state["notes"]["last"]] == expected["notes"]
        seen = session.project(lambda events, event: [*events, [event.type, event.data]], [])
        own = [[kind, data] for kind, data in seen if kind.startswith("x.")]
        assert own == expected["own"]
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []
    assert {path: path.read_bytes() for path in segments} == segments


def test_an_old_workspace_can_be_continued(old: tuple[Path, dict[str, object]]) -> None:
    """A new commit goes into a new segment, and old and new are read together."""
    folder, expected = old
    with holdfast.open(folder, user="alice") as workspace:
        session = workspace.session(str(expected["session"]))
        receipt = session.decide("Go on", because="it is still there", action="go")
        assert "." in receipt.id, "another writer's numbers carry its name"
    with holdfast.open(folder, user="alice") as workspace:
        session = workspace.session(str(expected["session"]))
        assert session.version == int(str(expected["version"])) + 1
        assert receipt.id in session.state["decisions"]["open"]
