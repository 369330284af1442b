"""Who works on what: alive, stopped, dead, elsewhere; leases and claims."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.fs.process import Process, identify, is_alive
from holdfast.workspace.presence import Held, LeaseLost, Presence

TAKER = """
import sys, time
sys.path[:0] = {path!r}
import holdfast
from holdfast.errors import HoldfastError
from holdfast.workspace.presence import Presence
with holdfast.open({where!r}, by=sys.argv[1]) as workspace:
    presence = Presence(workspace)
    presence.beat("alice/2026-01-21-a1b2c3d4")
    try:
        lease = presence.lease("alice/2026-01-21-a1b2c3d4")
        print("took", lease.number, flush=True)
        sys.stdin.readline()
    except HoldfastError as error:
        print("refused", error.code, flush=True)
"""


def takers(where: Path, count: int, first: int = 0) -> list[subprocess.Popen[str]]:
    program = TAKER.format(path=sys.path, where=str(where))
    return [
        subprocess.Popen(
            [sys.executable, "-c", program, f"agent-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(first, first + count)
    ]


def end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.timeout(120)
def test_one_of_thirty_takers_gets_the_lease(repository: Path) -> None:
    """Thirty processes at once on a new workspace: one takes the lease, and all are visible."""
    processes = takers(repository / ".state", 30)
    try:
        answers = [process.stdout.readline().split() for process in processes]
        assert sorted(answer[0] for answer in answers) == ["refused"] * 29 + ["took"]
        with holdfast.open() as workspace:
            assert len(Presence(workspace).who()) == 30
    finally:
        end(processes)


@pytest.mark.timeout(120)
def test_exactly_one_contender_gets_a_dead_holders_lease(repository: Path) -> None:
    """After kill -9 exactly one of many contenders gets the lease, with a higher number."""
    first = takers(repository / ".state", 1)
    assert first[0].stdout.readline().split() == ["took", "1"]
    end(first)
    processes = takers(repository / ".state", 10)
    try:
        answers = sorted(process.stdout.readline().split() for process in processes)
        assert answers == [["refused", "HF-HELD"]] * 9 + [["took", "2"]]
    finally:
        end(processes)


@pytest.mark.timeout(60)
def test_a_stopped_holder_keeps_its_lease(repository: Path) -> None:
    """A stopped holder keeps its lease, however long it is stopped."""
    processes = takers(repository / ".state", 1)
    try:
        assert processes[0].stdout.readline().split() == ["took", "1"]
        os.kill(processes[0].pid, signal.SIGSTOP)
        time.sleep(0.2)
        with holdfast.open(by="rival") as workspace:
            presence = Presence(workspace)
            with pytest.raises(Held):
                presence.lease("alice/2026-01-21-a1b2c3d4")
            assert [person["state"] for person in presence.who()] == ["alive"]
        os.kill(processes[0].pid, signal.SIGCONT)
    finally:
        end(processes)


@pytest.mark.timeout(60)
def test_who_distinguishes_live_and_dead_agents(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`holdfast who` names each agent, its session, its start, and whether its process is still running."""
    (living,) = takers(repository / ".state", 1)
    try:
        assert living.stdout is not None
        living.stdout.readline()
        dead = takers(repository / ".state", 1, first=1)
        dead[0].wait()
        end(dead)
        capsys.readouterr()
        assert main(["who", "--json"]) == 0
        people = {person["by"]: person for person in json.loads(capsys.readouterr().out)["people"]}
        assert (people["agent-0"]["state"], people["agent-1"]["state"]) == ("alive", "gone")
        assert {person["session"] for person in people.values()} == {"alice/2026-01-21-a1b2c3d4"}
        assert all(person["since"] <= person["seen"] for person in people.values())
        assert main(["who"]) == 0
        text = capsys.readouterr().out
        for word in ("agent-0", "agent-1", "alive", "gone", "2026-01-21-a1b2c3d4"):
            assert word in text
    finally:
        end([living])


def test_a_reused_pid_is_another_process() -> None:
    """The same process id with another start time or boot is gone; on another machine it is unknown."""
    me = identify()
    assert is_alive(me, me) is True
    assert is_alive(me._replace(start="1"), me) is False
    assert is_alive(me._replace(boot="another"), me) is False
    assert is_alive(me._replace(host="elsewhere", boot="another"), me) is None
    assert is_alive(me._replace(space="a container"), me) is None


def test_a_zombie_is_gone() -> None:
    """A process that has ended and was not yet waited for holds nothing."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    process = Process(*identify(child.pid))
    deadline = time.monotonic() + 10
    while is_alive(process, identify()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_alive(process, identify()) is False
    child.wait()


def test_a_former_lease_holder_cannot_write(repository: Path) -> None:
    """The number is compared under the stream's lock: a former holder's commit is refused, the new holder's is not."""
    with holdfast.open() as workspace:
        session = workspace.start("goal")
        name = f"{session.user}/{session.id}"
        dead = Process(*identify()._replace(start="1"))
        old = Presence(workspace, dead).lease(name)
        slow = session.under(old)
        slow.note("still the holder")
        new = Presence(workspace).lease(name)
        assert new.number == old.number + 1
        with pytest.raises(LeaseLost):
            slow.note("too late")
        session.under(new).note("the successor")
        new.release()
        with pytest.raises(LeaseLost):
            session.under(new).note("given back")
        assert session.version == 3


def test_a_second_agent_is_warned(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim on a folder covers its files; the second agent sees who has it, and nothing is claimed."""
    with holdfast.open(by="first") as workspace:
        Presence(workspace).claim(["src"])
    assert main(["claim", "src/billing.py"]) == 1
    assert "first" in capsys.readouterr().out
    assert main(["claim", "src/billing.py", "--json"]) == 1
    refused = json.loads(capsys.readouterr().out)
    assert (refused["ok"], refused["error"]["code"], refused["claimed"]) == (False, "HF-REFUSED", [])
    assert "first" in refused["error"]["message"]
    assert main(["claim", "docs"]) == 0
    assert main(["claim", "src/billing.py", "--anyway"]) == 0
    with holdfast.open(by="first") as workspace:
        assert Presence(workspace).release() == ["src"]
    assert main(["release"]) == 0
    assert "docs" in capsys.readouterr().out


def test_a_claim_dies_with_its_holder(repository: Path) -> None:
    """There is no warning about an agent that is gone."""
    with holdfast.open(by="first") as workspace:
        Presence(workspace, identify()._replace(start="1")).claim(["src"])
    with holdfast.open(by="second") as workspace:
        assert Presence(workspace).claim(["src"]) == []


def test_worktrees_see_each_other(repository: Path, git, tmp_path: Path) -> None:
    """Presence is shared by all worktrees of a repository."""
    git("worktree", "add", "-q", str(tmp_path / "second"))
    with holdfast.open(by="first") as workspace:
        Presence(workspace).beat("alice/2026-01-21-a1b2c3d4")
    with holdfast.open(tmp_path / "second" / ".state", by="second") as workspace:
        seen = Presence(workspace).who()
    assert [(person["by"], person["worktree"]) for person in seen] == [("first", str(repository))]


def test_where_the_git_directory_cannot_be_written_it_is_local(repository: Path) -> None:
    """A sandboxed agent has its own presence, and reports that others are not visible."""
    (repository / ".git" / "holdfast").write_text("in the way")
    with holdfast.open() as workspace:
        presence = Presence(workspace)
        presence.beat()
        assert not presence.folder.shared
        assert len(presence.who()) == 1
    assert (repository / ".state" / "local" / "presence" / "agents").is_dir()
