"""Dead weight of the memory: lint names what is stored twice, what changes all the time and what nobody reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.checks.lint import lint
from holdfast.edge.cli import main
from holdfast.workspace import reads
from holdfast.workspace.handover import make_brief

RULES = {"HF501", "HF502", "HF503"}
MONTH_MS = 31 * 86_400_000


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    holdfast.init(str(tmp_path)).close()
    return tmp_path


def messages(project: Path, rule: str) -> list[str]:
    return [found.message for found in lint(str(project), only={rule})]


def count_reads(project: Path) -> None:
    with (project / ".state" / "config.toml").open("a") as file:
        file.write("\n[memory]\ncount_reads = true\n")


def test_nothing_is_found_in_a_tidy_memory(project: Path) -> None:
    """A workspace with a few different records has no dead weight."""
    with holdfast.open() as workspace:
        workspace.start("goal").decide("Use WAL", because="readers")
        workspace.project.add_fact("CI runs on Debian")
    assert lint(str(project), only=RULES) == []


def test_duplicates_are_named(project: Path) -> None:
    """The same fact or decision in two places is named with both."""
    with holdfast.open() as workspace:
        workspace.project.add_fact("CI runs on Debian")
        workspace.project.add_fact("ci runs on debian ")
        for goal in ("one", "two"):
            workspace.start(goal).decide("Use WAL", because=goal)
    fact, decision = messages(project, "HF501")
    assert "2 records have the same fact" in fact
    assert "decision 'Use WAL'" in decision
    assert decision.count("D-1") == 2


def test_values_that_change_all_the_time_are_named(project: Path) -> None:
    """A focus that was set 40 times is named, with the session."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        for number in range(40):
            session.set_focus(f"part {number}")
    (message,) = messages(project, "HF502")
    assert "focus of sessions/" in message
    assert "40 times" in message


def test_reads_are_not_counted_by_default(project: Path) -> None:
    """Without the setting nothing is counted, whatever is read."""
    with holdfast.open() as workspace:
        workspace.start("goal")
        workspace.project.add_fact("CI runs on Debian")
        workspace.search("Debian")
        assert reads.counts(workspace) is None


def test_what_nobody_reads_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With reads counted for two weeks, a fact that no brief, search or page showed is named."""
    count_reads(project)
    with holdfast.open() as workspace:
        session = workspace.start("Debug the nightly job")
        old = workspace.project.add_fact("The office moved to the third floor").id
        used = workspace.project.add_fact("Staging is reset every night").id
        workspace.search("staging")
        counted = reads.counts(workspace)
        assert counted is not None
        assert counted["reads"] == {f"project {used}": 1}
        assert messages(project, "HF503") == []
        counted["since"] = counted["since"] + 1  # after both facts
        workspace.store.put(reads.NOTE, json.dumps(counted).encode())
    with pytest.MonkeyPatch.context() as patch:
        later = reads.wall_clock() + MONTH_MS
        patch.setattr("holdfast.checks.lint_memory.wall_clock", lambda: later)
        (message,) = messages(project, "HF503")
        assert message.startswith(f"{old} of project")
        assert main(["show", old, "--project"]) == 0
        assert messages(project, "HF503") == []
    with holdfast.open() as workspace:
        make_brief(workspace.session(session.id))
        counted = reads.counts(workspace)
        assert counted is not None
        assert counted["reads"] == {f"project {used}": 2, f"project {old}": 2}
