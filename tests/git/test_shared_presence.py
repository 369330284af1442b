"""Presence when it is shared, when it cannot be, and when it was copied."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.fs import posix
from holdfast.fs.process import identify, is_alive
from holdfast.workspace.presence import Held, LeaseLost, Presence

PLACE = "alice/2026-01-21-a1b2c3d4"


@pytest.fixture
def boxed(repository: Path, monkeypatch: pytest.MonkeyPatch):
    """Presence of an agent that may read the git directory, but not write there."""
    real = posix.open

    def refused(path: str, flags: int, *mode: int) -> int:
        if path.startswith(str(repository / ".git")) and flags & 3:
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *mode)

    def make(by: str) -> Presence:
        workspace = holdfast.open(by=by)
        with monkeypatch.context() as patched:
            patched.setattr(posix, "open", refused)
            return Presence(workspace)

    return make


def test_concurrent_commands_of_one_agent_lose_no_claim(repository: Path, monkeypatch) -> None:
    """While an agent's first command writes its heartbeat, a second one claims a path: it stays claimed."""
    with holdfast.open(by="agent") as workspace:
        slow, quick = Presence(workspace), Presence(workspace)
        real = slow.folder.get

        def overtaken(name: str) -> dict | None:
            found = real(name)
            monkeypatch.setattr(slow.folder, "get", real)
            assert quick.claim(["quick.txt"]) == []
            return found

        monkeypatch.setattr(slow.folder, "get", overtaken)
        assert slow.claim(["slow.txt"]) == []
        (person,) = slow.who()
    assert set(person["claims"]) == {"quick.txt", "slow.txt"}


def test_a_copied_repository_ignores_agents_of_the_original(
    repository: Path, tmp_path: Path, monkeypatch
) -> None:
    """Agents in the original neither hold nor claim anything in the copy."""
    with holdfast.open(by="first") as workspace:
        presence = Presence(workspace)
        presence.beat(PLACE)
        presence.claim(["src"])
        presence.lease(PLACE)
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    monkeypatch.chdir(copy)
    with holdfast.open(by="second") as workspace:
        presence = Presence(workspace)
        assert presence.who() == []
        assert presence.holder(PLACE) is None
        assert presence.claim(["src"]) == []
        assert presence.lease(PLACE).number == 2


def test_sandboxed_and_other_agents_of_a_worktree_see_each_other(repository: Path, boxed) -> None:
    """An agent that cannot write to the git directory and one that can see each other's claims and leases."""
    inside = boxed("inside")
    assert not inside.folder.shared
    inside.beat(PLACE)
    inside.claim(["src"])
    with holdfast.open(by="outside") as workspace:
        outside = Presence(workspace)
        assert outside.folder.shared
        assert {person["by"] for person in outside.who()} == {"inside"}
        assert [entry["by"] for entry in outside.claim(["src/billing.py"])] == ["inside"]
        outside.beat(PLACE)
        outside.claim(["docs"])
        lease = outside.lease(PLACE)
        assert {person["by"] for person in inside.who()} == {"inside", "outside"}
        assert [entry["by"] for entry in inside.claim(["docs"])] == ["outside"]
        with pytest.raises(Held, match="outside"):
            inside.lease(PLACE)
        lease.release()
        second = inside.lease(PLACE)
        assert second.number > lease.number
        with pytest.raises(Held, match="inside"):
            outside.lease(PLACE)


def test_doctor_says_that_presence_is_not_shared(repository: Path, capsys) -> None:
    """If the git directory is not writable, other worktrees are not visible, and doctor says so."""
    assert main(["doctor"]) == 0
    assert "presence" not in capsys.readouterr().out
    shutil.rmtree(repository / ".git" / "holdfast", ignore_errors=True)
    (repository / ".git" / "holdfast").write_text("in the way")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "local/presence" in said
    assert "other worktrees" in said


def test_a_lease_number_alone_is_not_trusted(repository: Path) -> None:
    """If the records are removed, numbers start again: an earlier holder is still not the present one."""
    with holdfast.open(by="old") as workspace, holdfast.open(by="new") as other:
        old = Presence(workspace).lease(PLACE)
        shutil.rmtree(repository / ".git" / "holdfast" / "presence")
        new = Presence(other).lease(PLACE)
        assert new.number == old.number
        new.check()
        with pytest.raises(LeaseLost):
            old.check()


def test_who_shows_the_agent_that_started_a_session(repository: Path, capsys, monkeypatch) -> None:
    """An agent that only typed `start` or `switch` is visible, with its session."""
    monkeypatch.setenv("HOLDFAST_AGENT", "starter")
    assert main(["start", "goal"]) == 0
    capsys.readouterr()
    assert main(["who", "--json"]) == 0
    (person,) = json.loads(capsys.readouterr().out)["people"]
    with holdfast.open() as workspace:
        current = workspace.current()
    assert (person["by"], person["session"], person["state"]) == ("starter", current, "alive")
    monkeypatch.setenv("HOLDFAST_AGENT", "switcher")
    assert main(["switch", current.partition("/")[2]]) == 0
    capsys.readouterr()
    assert main(["who", "--json"]) == 0
    people = json.loads(capsys.readouterr().out)["people"]
    assert {person["by"]: person["session"] for person in people} == {"starter": current, "switcher": current}


def test_a_machine_that_changed_its_name_is_the_same_machine() -> None:
    """On one boot, in one namespace, a process is recognised whatever the host is called."""
    me = identify()
    if sys.platform != "linux" and not me.boot:
        pytest.skip("this system does not name its boots")
    assert is_alive(me._replace(host="its name of before"), me) is True
    assert is_alive(me._replace(host="its name of before", start="1"), me) is False


def test_a_lease_of_another_machine_needs_anyway(repository: Path, capsys) -> None:
    """A holder on another machine cannot be checked: it keeps the session until a person says that it is gone."""
    with holdfast.open(by="ghost") as workspace:
        session = workspace.start("goal")
        name = f"{session.user}/{session.id}"
        away = identify()._replace(host="elsewhere", boot="another")
        lost = Presence(workspace, away).lease(name)
    capsys.readouterr()
    assert main(["claim"]) == 1
    said = capsys.readouterr().err
    assert "on another machine" in said
    assert "holdfast claim --anyway" in said
    assert main(["claim", "--anyway"]) == 0
    with pytest.raises(LeaseLost):
        lost.check()


def test_a_live_holder_never_loses_its_lease_to_anyway(repository: Path, capsys) -> None:
    """`claim --anyway` does not take the session of a live holder."""
    with holdfast.open(by="living") as workspace:
        session = workspace.start("goal")
        Presence(workspace).lease(f"{session.user}/{session.id}").check()
    capsys.readouterr()
    assert main(["claim", "--anyway"]) == 1
    said = capsys.readouterr().err
    assert "living" in said
    assert "--anyway" not in said
