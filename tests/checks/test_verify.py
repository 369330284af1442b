"""Verify: the memory against the real files, branches and commits. Nothing stored is run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.checks import verify
from holdfast.core.codec import Event
from holdfast.git import look
from holdfast.workspace.clock import wall_clock

HOUR = 3_600_000


@pytest.fixture
def workspace(project: Path) -> Any:
    """A workspace in a git repository with one commit."""
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=project, check=True
        )
    with holdfast.open(project) as opened:
        yield opened


def rules(workspace: holdfast.Workspace, later: int = 0) -> list[str]:
    return [f.rule.id for f in verify.verify(workspace, now=wall_clock() + later)]


def head(project: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_references(workspace: holdfast.Workspace, project: Path) -> None:
    """A changed or missing file is reported; an unchanged one is not."""
    session = workspace.start("Work")
    for name in ("same.md", "changed.md", "gone.md"):
        (project / name).write_text("a")
        session.refer(name)
    assert rules(workspace) == []
    (project / "changed.md").write_text("b")
    (project / "gone.md").unlink()
    found = {f.path: f.rule.id for f in verify.verify(workspace, now=wall_clock())}
    assert found == {"changed.md": "HF402", "gone.md": "HF401"}


def test_silent_workers_and_unconfirmed_decisions(workspace: holdfast.Workspace) -> None:
    """A task in progress and a decision without outcome are reported once the worker has been silent."""
    session = workspace.start("Work")
    session.add_task("T")
    session.start_task("T-1")
    session.decide("D", because="b", action="a")
    assert rules(workspace) == []
    assert rules(workspace, later=3 * HOUR) == ["HF405", "HF406"]
    session.pause("later")
    assert rules(workspace, later=3 * HOUR) == ["HF406"]


def test_the_heartbeat_decides_where_there_is_one(project: Path) -> None:
    """A killed worker leaves a stalled task immediately; a live one does not, however long it is silent."""
    program = (
        "import time, holdfast\n"
        "from holdfast.workspace.presence import Presence\n"
        "with holdfast.open(by='worker') as workspace:\n"
        "    session = workspace.session()\n"
        "    Presence(workspace).beat(f'{session.user}/{session.id}')\n"
        "    print('here', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with holdfast.open(project) as workspace:
        session = workspace.start("Work")
        session.add_task("T")
        session.start_task("T-1")
        worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=project)
        try:
            assert worker.stdout is not None
            worker.stdout.readline()
            assert rules(workspace, later=3 * HOUR) == []
        finally:
            worker.kill()
            worker.communicate()
        assert rules(workspace) == ["HF405"]


def test_facts(workspace: holdfast.Workspace, project: Path) -> None:
    """Each kind of check distinguishes true from false."""
    facts = workspace.project
    (project / "here.md").write_text("x")
    true: list[dict[str, Any]] = [
        {"branch-exists": "main"},
        {"commit-exists": head(project)[:10]},
        {"file-exists": "here.md"},
        {"file-missing": "not-here.md"},
        {
            "file-hash": {
                "path": "here.md",
                "hash": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
            }
        },
    ]
    false: list[dict[str, Any]] = [
        {"branch-exists": "feature-x"},
        {"commit-exists": "deadbeef00"},
        {"file-exists": "not-here.md"},
        {"file-missing": "here.md"},
        {"file-hash": {"path": "here.md", "hash": "0" * 64}},
    ]
    for check in true:
        facts.add_fact("true", check=check)
    assert rules(workspace) == []
    for check in false:
        facts.add_fact("false", check=check)
    assert rules(workspace) == ["HF403"] * len(false)


HOSTILE = [
    {"branch-exists": "--upload-pack=touch pwned"},
    {"branch-exists": "$(touch pwned)"},
    {"commit-exists": "HEAD; touch pwned"},
    {"commit-exists": "--batch-all-objects"},
    {"file-exists": "../../../etc/passwd"},
    {"file-exists": "/etc/passwd"},
    {"file-hash": {"path": "a|touch pwned", "hash": "x"}},
    {"shell": "touch pwned"},
    {"file-exists": ["a"]},
    "touch pwned",
    {"branch-exists": "main", "shell": "touch pwned"},
]


@pytest.mark.parametrize("check", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_checks_are_data(workspace: holdfast.Workspace, project: Path, check: Any) -> None:
    """A check that bypassed every rule is refused again when it is evaluated, and nothing runs."""
    workspace.project.commit([Event("fact.added", {"id": "F-9.aaaaaaaa", "text": "x", "check": check})])
    assert rules(workspace) == ["HF404"]
    assert not (project / "pwned").exists()


def test_hostile_references_stay_inside(workspace: holdfast.Workspace, project: Path) -> None:
    """A stored path that leads out of the project is not read."""
    session = workspace.start("Work")
    for path in ("../../etc/passwd", "/etc/passwd", "a\0b", "link"):
        data = {"path": path, "kind": "context", "size": 1, "hash": "0" * 64}
        session.commit([Event("reference.added", data)])
    (project / "link").symlink_to("/etc/passwd")
    found = verify.verify(workspace, now=wall_clock())
    assert {f.rule.id for f in found} == {"HF401"}
    assert "root:" not in json.dumps([f.message for f in found])


def test_git_is_asked_with_fixed_words(
    workspace: holdfast.Workspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No stored text becomes an argument of a command."""
    asked: list[list[str]] = []
    real = subprocess.run

    def spy(words: list[str], **options: Any) -> Any:
        asked.append(words)
        return real(words, **options)

    monkeypatch.setattr(subprocess, "run", spy)
    workspace.project.add_fact("b", check={"branch-exists": "stored-branch"})
    workspace.project.add_fact("c", check={"commit-exists": "abcdef1234"})
    verify.verify(workspace, now=wall_clock())
    assert asked
    assert not any("stored-branch" in word or "abcdef1234" in word for words in asked for word in words)


def test_without_git(tmp_path: Path, project: Path) -> None:
    """Without git, a fact about it is neither true nor false."""
    with holdfast.open(project) as workspace:
        workspace.project.add_fact("b", check={"branch-exists": "main"})
        assert rules(workspace) == ["HF404"]
    assert look.branches(str(tmp_path)) is None
