"""`holdfast recover`: what a look at the world says of each decision without an outcome."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.codec import Event
from holdfast.edge.cli import main


@pytest.fixture
def repository(project: Path) -> Path:
    """A project in a git repository with one commit, a branch and a tag."""
    for words in (
        ["init", "-q", "-b", "main"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["branch", "stable"],
        ["tag", "-m", "x", "v1.4"],
    ):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=project, check=True
        )
    return project


@pytest.fixture
def session(project: Path) -> Iterator[holdfast.Session]:
    with holdfast.open(project) as workspace:
        yield workspace.start("Ship it")


def head(repository: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def status(session: holdfast.Session, done_when: str) -> tuple[str, str]:
    session.decide("Do it", because="it is due", done_when=done_when)
    found = session.workspace.recover()[-1]
    return found.status, found.seen


def test_names_in_git(repository: Path, session: holdfast.Session) -> None:
    """Tags, branches and commits are done if they are there, and not done if not."""
    assert status(session, "git-tag:v1.4") == ("done", "there is a tag v1.4")
    assert status(session, "git-tag:v1.5") == ("not done", "there is no tag v1.5")
    assert status(session, "git-tag:stable")[0] == "not done"
    assert status(session, "git-branch:stable") == ("done", "there is a branch stable")
    assert status(session, "git-branch:v1.4")[0] == "not done"
    assert status(session, f"commit:{head(repository)}")[0] == "done"
    assert status(session, f"commit:{head(repository)[:10]}")[0] == "done"
    assert status(session, "commit:0123456789")[0] == "not done"


@pytest.mark.parametrize("done_when", ["git-tag:v1.4", "git-branch:main", "commit:0123456789"])
def test_without_git_nobody_can_tell(session: holdfast.Session, done_when: str) -> None:
    """Where there is no repository, a name in it is neither there nor missing."""
    assert status(session, done_when) == ("cannot tell", "git is not available here")


def test_files(project: Path, session: holdfast.Session) -> None:
    """A file is looked for in the project; what is no plain file cannot be told."""
    (project / "made").write_text("x")
    (project / "folder").mkdir()
    (project / "away").symlink_to("/etc/passwd")
    assert status(session, "file:made") == ("done", "there is a file made")
    assert status(session, "file:missing") == ("not done", "there is no file missing")
    assert status(session, "file:folder")[0] == "cannot tell"
    assert status(session, "file:away")[0] == "cannot tell"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_port_of_this_machine(session: holdfast.Session, address: str) -> None:
    """Something that listens on the loopback is done; after it is closed, not done."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"no {address} here")
    with server:
        port = server.getsockname()[1]
        assert status(session, f"port:{port}") == ("done", f"port {port} accepts connections")
    assert status(session, f"port:{port}") == ("not done", f"nothing listens on port {port}")


def test_the_command_line_says_it_per_decision(
    project: Path, session: holdfast.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """Condition, status, class and the next step; --json has the same."""
    (project / "made").write_text("x")
    assert (
        main(["decide", "Build", "--because", "y", "--done-when", "file:made", "--recovery", "idempotent"])
        == 0
    )
    assert main(["decide", "Ask", "--because", "y", "--action", "ask"]) == 0
    capsys.readouterr()
    assert main(["recover"]) == 0
    shown = capsys.readouterr().out
    assert "done if  file:made\n    status   done: there is a file made\n" in shown
    assert "class    idempotent: it can be run again\n    Confirm it:\n" in shown
    assert "status   cannot tell: nothing says how to see that it was done\n" in shown
    assert main(["recover", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["unsettled"]
    assert (first["done_when"], first["recovery"]) == ({"file-exists": "made"}, "idempotent")
    assert (first["status"], second["status"]) == ("done", "cannot tell")


def test_a_condition_of_a_foreign_log_is_not_looked_at(project: Path, session: holdfast.Session) -> None:
    """A log can hold anything: a path outside of the project, or a kind that is not of the set, is ignored."""
    foreign = ({"file-exists": "/etc/passwd"}, {"exec": "touch made"}, {"port-open": "1; touch made"}, 5)
    for place, condition in enumerate(foreign):
        data = {"id": f"D-{place + 1}", "text": "x", "because": "y", "done_when": condition}
        session.commit([Event("decision.made", data)])
    assert [found.status for found in session.workspace.recover()] == ["cannot tell"] * 4
    assert not (project / "made").exists()


def test_python_says_it_too(project: Path, session: holdfast.Session) -> None:
    """An acting block can say how to see its action, and the decision has it."""
    with session.acting("x", because="y", done_when="file:a", recovery="never"):
        assert session.workspace.recover()[0].status == "not done"
    made = session.read().decisions.recent[-1]
    assert (made.done_when, made.recovery, made.ok) == ({"file-exists": "a"}, "never", True)
