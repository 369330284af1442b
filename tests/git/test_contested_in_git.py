"""Values that two branches set concurrently, after a real merge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.core import contested
from holdfast.edge.cli import main


def branches(git, place: str) -> None:
    """Two branches set the same value and add the same kinds of things, and are merged."""
    git("add", "-A")
    git("commit", "-q", "-m", "start")
    for branch in ("one", "two"):
        git("checkout", "-q", "-b", branch, "main")
        with holdfast.open() as workspace:
            session = workspace.session(place)
            session.set_goal(f"goal of {branch}")
            session.decide(f"decision of {branch}", because="it is so", action="do it")
            session.add_task(f"task of {branch}")
        git("add", "-A")
        git("commit", "-q", "-m", branch)
    git("merge", "--no-edit", "one")


def shown(place: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Everywhere that people and agents see the value."""
    capsys.readouterr()
    found = {}
    for name, command in {"status": ["status"], "brief": ["resume"], "json": ["status", "--json"]}.items():
        assert main(command) == 0
        found[name] = capsys.readouterr().out
    folder = Path(".state/sessions") / place
    found["STATE.md"] = (folder / "STATE.md").read_text()
    found["state.json"] = json.dumps(json.loads((folder / "state.json").read_text())["contested"])
    return found


def test_a_contested_value_is_seen_everywhere_until_it_is_set_again(repository: Path, git, capsys) -> None:
    """State, views, brief and status name both values; a new set settles it in all of them."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        place = f"{session.user}/{session.id}"
    branches(git, place)
    with holdfast.open() as workspace:
        registers = workspace.session(place).state["registers"]
        assert [contest["name"] for contest in contested.contests(registers)] == ["goal"]
    for where, text in shown(place, capsys).items():
        assert "goal of one" in text, where
        assert "goal of two" in text, where
    with holdfast.open() as workspace:
        workspace.session(place).set_goal("the goal of both")
        assert contested.contests(workspace.session(place).state["registers"]) == []
    for where, text in shown(place, capsys).items():
        assert "goal of one" not in text or where == "brief", where
        assert "ontested" not in text.replace('"contested": []', "").replace('"contested_count": 0', ""), (
            where
        )


def test_what_both_branches_add_stays_under_its_own_id(repository: Path, git) -> None:
    """Concurrent additions are all present, with unique ids that a merge does not change."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        place = f"{session.user}/{session.id}"
    branches(git, place)
    with holdfast.open() as workspace:
        state = workspace.session(place).state
        decisions, tasks = state["decisions"]["open"], state["tasks"]["open"]
    assert len(decisions) == len(tasks) == 2
    for branch in ("one", "two"):
        git("checkout", "-q", branch + ("~1" if branch == "two" else ""))
        with holdfast.open() as workspace:
            before = workspace.session(place).state
        assert set(before["decisions"]["open"]) <= set(decisions)
        assert set(before["tasks"]["open"]) <= set(tasks)
        for key, entry in before["decisions"]["open"].items():
            assert entry["text"] == decisions[key]["text"]
