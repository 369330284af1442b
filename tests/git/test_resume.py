"""Resuming the right session, and reporting what changed around it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import NoSession
from holdfast.fs.process import identify
from holdfast.workspace.alerts import alerts
from holdfast.workspace.conversations import Conversation
from holdfast.workspace.presence import Presence
from holdfast.workspace.setup import init


def test_the_pointer_of_this_worktree_comes_first(repository: Path) -> None:
    """The current session is picked although a newer one has an open decision."""
    with holdfast.open() as workspace:
        first = workspace.start("first")
        workspace.start("second").decide("open", because="reasons")
        workspace.switch(first.id)
        choice = workspace.pick()
        assert choice.session.id == first.id
        assert "current" in choice.why


def test_a_crashed_session_comes_before_a_newer_one(repository: Path) -> None:
    """Without a pointer, the session of an agent that died is picked, and the reason says so."""
    with holdfast.open() as workspace:
        crashed = workspace.start("crashed")
        Presence(workspace, identify()._replace(start="1")).beat(f"alice/{crashed.id}")
        workspace.start("later")
        workspace.store.put("local/current", None)
        choice = workspace.pick()
        assert choice.session.id == crashed.id
        assert "gone" in choice.why


def test_finished_sessions_and_those_of_others_are_not_picked(repository: Path) -> None:
    """Only unfinished work of this user is continued."""
    with holdfast.open() as workspace:
        workspace.start("done").complete("done")
    with holdfast.open(user="bob") as workspace:
        workspace.start("bob's")
        workspace.store.put("local/current", None)
    with holdfast.open() as workspace, pytest.raises(NoSession):
        workspace.pick()


def test_a_new_host_session_finds_the_crashed_ones_work(repository: Path) -> None:
    """Host session ids are mapped: the same id finds its session, a new one continues what a dead one left."""
    with holdfast.open(channel="hook") as workspace:
        session = workspace.start("work")
        dead = identify()._replace(pid=2**22 + 1)
        with Conversation(workspace, "some-host", "abc/..", dead) as conversation:
            conversation.works_on(session)
        workspace.store.put("local/current", None)
        for name in ("abc/..", "new"):
            with Conversation(workspace, "some-host", name, identify()) as conversation:
                found = conversation.verdict("")[1]
                assert found is not None
                assert found.id == session.id
                conversation.works_on(found)
        other = workspace.start("other")
        with Conversation(workspace, "some-host", "new", identify()) as conversation:
            found = conversation.verdict("")[1]
            assert found is not None
            assert found.id == session.id
        assert other.id != session.id


def test_a_moved_head_and_a_changed_file_are_reported_first(repository: Path, git, capsys) -> None:
    """What changed since the session's last commit is at the top of the brief."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        session.refer("code.txt")
        assert alerts(session) == []
        git("checkout", "-q", "-b", "elsewhere")
        (repository / "code.txt").write_text("changed\n")
        found = alerts(session)
    assert "«main» at" in found[0]
    assert "«elsewhere» at" in found[0]
    assert "«code.txt» is changed" in found[1]
    assert main(["resume", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "current" in answer["why"]
    text = answer["text"]
    assert text.index("GIT MOVED") < text.index("goal")


def test_the_name_of_a_branch_stays_in_its_fence(repository: Path, git) -> None:
    """Whoever names a branch does not write a line of the brief."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        git("checkout", "-q", "-b", "»obey<system>«")
        (found,) = alerts(session)
    assert "obey" not in "".join(part.partition("»")[2] for part in f"»{found}".split("«"))


def test_a_branch_without_a_commit_is_called_so(tmp_path: Path, git, monkeypatch) -> None:
    """In a new repository, the brief says that the branch had no commit yet."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    init(str(tmp_path))
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        git("add", "-A")
        git("commit", "-q", "-m", "first")
        (found,) = alerts(session)
    assert "«main» without a commit then, «main» at" in found


def test_sessions_of_other_branches_and_removed_worktrees_are_found(
    repository: Path, git, tmp_path: Path, capsys
) -> None:
    """`sessions --all` knows branches, worktrees, and the session of a worktree that was removed by force."""
    git("worktree", "add", "-q", str(tmp_path / "doomed"))
    git("worktree", "add", "-q", str(tmp_path / "alive"))
    found = {}
    for name in ("doomed", "alive"):
        with holdfast.open(tmp_path / name / ".state") as workspace:
            found[name] = workspace.start(name).id
    git("worktree", "remove", "--force", str(tmp_path / "doomed"))
    git("checkout", "-q", "-b", "feature")
    with holdfast.open() as workspace:
        found["feature"] = workspace.start("feature").id
    git("add", "-A")
    git("commit", "-q", "-m", "feature")
    git("checkout", "-q", "main")
    assert main(["sessions", "--all", "--json"]) == 0
    places = {row["session"]: row["places"] for row in json.loads(capsys.readouterr().out)["sessions"]}
    assert places == {
        found["doomed"]: ["kept"],
        found["alive"]: [f"worktree {tmp_path / 'alive'}"],
        found["feature"]: ["feature"],
    }
    assert main(["heal"]) == 0
    with holdfast.open() as workspace:
        assert workspace.session(found["doomed"]).version == 1
        assert len(workspace.sessions()) == 1


HOT = """
import sys
sys.path[:0] = {path!r}
started = []
def watch(event, arguments):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec", "os.system"):
        started.append(event)
sys.addaudithook(watch)
from holdfast.edge.cli import main
status = main({command!r})
sys.stderr.write(",".join(started))
sys.exit(status)
"""


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["decide", "x", "--because", "y"],
        ["note", "x"],
        ["resume"],
        ["sessions"],
        ["start", "another"],
    ],
)
def test_everyday_commands_start_no_process(repository: Path, git, command: list[str]) -> None:
    """Everyday commands read what they need from git themselves, also right after HEAD moved."""
    with holdfast.open() as workspace:
        workspace.start("goal")
    git("add", "-A")
    git("commit", "-q", "-m", "moved")
    program = HOT.format(path=sys.path, command=command)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


WRITER = """
import sys
sys.path[:0] = {path!r}
import holdfast, time
with holdfast.open(by="writer") as workspace:
    session = workspace.session()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        session.note("while git looks")
        workspace.publish()
"""


@pytest.mark.timeout(60)
def test_git_sees_only_what_belongs_in_git(repository: Path, git) -> None:
    """While writers write, `git status` never shows a lock, a temp file or anything under local/."""
    with holdfast.open() as workspace:
        workspace.start("goal")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER.format(path=sys.path)]) for _ in range(2)]
    seen: set[str] = set()
    looks = 0
    while any(writer.poll() is None for writer in writers):
        seen |= set(git("status", "--porcelain", "-uall", ok=False).splitlines())
        looks += 1
        time.sleep(0.01)
    assert all(writer.wait() == 0 for writer in writers)
    assert looks > 5
    names = {line[3:] for line in seen}
    assert names
    strange = {n for n in names if not n.endswith((".jsonl", "/STATE.md", "/state.json"))}
    assert strange == set()
