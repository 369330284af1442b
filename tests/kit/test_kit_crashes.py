"""holdfast.kit under kill -9, under contention and under power cuts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import kit
from holdfast.testing import scale
from holdfast.testing.crash.disks import LoopDisk, missing

WORKER = """
import sys
from holdfast import kit
file = kit.StateFile(sys.argv[1], version="1", defaults={"count": 0}, first_version="1")
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    with file.update() as state:
        state["count"] += 1
        state["padding"] = "x" * (state["count"] % 9_000)
    print(state["count"], flush=True)
"""
KILLS = 25
CUTS = 25


def counted(path: Path) -> kit.Loaded:
    return kit.StateFile(path, version="1", defaults={"count": 0}, first_version="1").load()


def worker(path: Path, times: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORKER, str(path), str(times)], stdout=subprocess.PIPE)


def acknowledged(process: subprocess.Popen[bytes], enough: int) -> int:
    """Read answers until there are enough; returns the last one."""
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    last = 0
    for _ in range(enough):
        last = int(process.stdout.readline())
    return last


def rest(process: subprocess.Popen[bytes], last: int) -> int:
    assert process.stdout is not None
    for line in process.stdout.read().splitlines(keepends=True):
        last = int(line) if line.endswith(b"\n") else last
    process.stdout.close()
    return last


def test_updates_of_several_processes_are_all_there(tmp_path: Path) -> None:
    """Four processes that count in one file lose no update."""
    path = tmp_path / "state.json"
    workers = [worker(path, 100) for _ in range(4)]
    for process in workers:
        process.communicate()
        assert process.returncode == 0
    assert counted(path).state["count"] == 400


def test_a_killed_process_leaves_a_whole_state(tmp_path: Path) -> None:
    """After kill -9 at any time the file is whole, has what was acknowledged, and the next process goes on."""
    path = tmp_path / "state.json"
    choose = random.Random(scale.seed())
    for _ in range(scale.scaled(KILLS)):
        process = worker(path, 1_000_000)
        last = acknowledged(process, choose.randrange(1, 12))
        process.send_signal(signal.SIGKILL)
        process.wait()
        last = rest(process, last)
        loaded = counted(path)
        assert loaded.source == "file", loaded.problem
        count = loaded.state["count"]
        assert isinstance(count, int)
        assert last <= count <= last + 1
    assert len(os.listdir(tmp_path)) <= 5, "temp files of killed processes pile up"


@pytest.mark.power_cut
@pytest.mark.timeout(900)
def test_a_power_cut_leaves_a_whole_state() -> None:
    """After a power cut on a real ext4 the state is whole and has what was acknowledged."""
    if reason := missing():
        pytest.skip(reason)
    choose = random.Random(scale.seed())
    last = 0
    with LoopDisk() as disk:
        disk.mount()
        path = Path(disk.top) / "state.json"
        for _ in range(scale.scaled(CUTS)):
            process = worker(path, 1_000_000)
            last = acknowledged(process, choose.randrange(1, 8))
            disk.cut()
            process.kill()
            process.wait()
            last = rest(process, last)
            disk.unmount()
            disk.mount()
            loaded = counted(path)
            assert loaded.source == "file", loaded.problem
            assert isinstance(loaded.state["count"], int)
            assert loaded.state["count"] >= last
