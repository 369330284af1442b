"""The whole program on a server: HOLDFAST_URL is all that changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing.servers import place_url

pytestmark = pytest.mark.postgres
CLI = [sys.executable, "-m", "holdfast"]


@pytest.fixture
def workspace(tmp_path: Path, postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOLDFAST_URL", place_url(postgres_server, str(tmp_path)) + "&password=s3cret")
    return folder


def run(*words: str, status: int = 0) -> str:
    done = subprocess.run([*CLI, *words], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == status, done.stdout + done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_day_of_work(workspace: Path) -> None:
    """init, start, decide, status, brief, recover, search and doctor work, and no project folder is made."""
    assert "The workspace is postgresql:" in run("init")
    assert os.listdir(workspace) == []
    run("start", "Move billing to the new tax rules")
    run("decide", "Use the read replica", "--because", "load", "--action", "switch the URL")
    assert "Move billing" in run("status")
    assert "read replica" in run("brief")
    assert "D-1" in run("recover")
    run("settle", "D-1", "switched")
    assert "[replica]" in run("search", "replica")
    assert "1" in run("sql", "SELECT count(*) FROM decisions")
    shown = run("doctor")
    assert "fsync = off" in shown
    assert "No damage found" in shown


def test_two_machines_share_sessions_but_not_the_current_one(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine sees the session, and has no current one until it chooses."""
    run("start", "shared work")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    assert "shared work" in run("sessions")
    run("status", status=4)
    (row,) = json.loads(run("sessions", "--json"))["sessions"]
    run("switch", row["session"].rpartition("/")[2])
    run("note", "from the other machine")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert "from the other machine" in run("log")


def test_a_server_that_is_away(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its server a command ends at once with status 6 and says what to check."""
    monkeypatch.setenv("HOLDFAST_URL", f"postgresql://ann:s3cret@/db?host={workspace}")
    assert "Check that the server runs" in run("status", status=6)


def test_update_under_contention(workspace: Path) -> None:
    """Two processes that read, change and write the same state lose no update."""
    import holdfast

    with holdfast.init(os.environ["HOLDFAST_URL"]) as memory:
        memory.start("count")
        session = memory.session()
        program = (
            "import holdfast, sys\n"
            "with holdfast.open() as memory:\n"
            f"    session = memory.session({session.id!r})\n"
            "    for number in range(15):\n"
            "        session.update(lambda now: now.add_task(f'{sys.argv[1]} {number}'))\n"
        )
        children = [subprocess.Popen([sys.executable, "-c", program, tag]) for tag in ("a", "b")]
        assert [child.wait(120) for child in children] == [0, 0]
        names = sorted(task.title for task in memory.session(session.id).read().tasks.open)
    assert names == sorted(f"{tag} {number}" for tag in ("a", "b") for number in range(15))
