"""A batch under kill -9 of its runner and its workers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import holdfast
from holdfast import batch as runner
from holdfast.workspace import entries

WORKER = str(Path(__file__).with_name("worker.py"))
CLI = [sys.executable, "-c", "import sys; from holdfast.edge.cli import main; sys.exit(main())"]
ITEMS = [f"item {number}" for number in range(200)]
KILLS = 50


def start_runner(name: str, made: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-S", "-E", WORKER, str(folder), "{item}"]
    words = ["batch", "resume", "--batch", made, "--session", name, "--json", "-j", "4", "--"]
    return subprocess.Popen([*CLI, *words, *command], stdout=subprocess.DEVNULL)


def test_every_item_is_done_once_under_random_kills(project: Path, tmp_path: Path) -> None:
    """200 items, 4 at a time, 50 kills: each item is recorded once, none is lost, no two workers share one."""
    chance = random.Random(7)
    with holdfast.open(project) as workspace:
        session = workspace.start("Survive")
        made = session.create_batch(ITEMS, retries=20)
        process = start_runner(session.id, made.id, tmp_path)
        killed = Counter[str]()
        deadline = time.monotonic() + 120
        while sum(killed.values()) < KILLS and time.monotonic() < deadline:
            time.sleep(chance.uniform(0.01, 0.08))
            if process.poll() is not None:
                process = start_runner(session.id, made.id, tmp_path)
            claims = entries.batch(session, made.id)["running"].values()
            workers = [claim["claimant"]["worker"] for claim in claims]
            workers = [worker for worker in workers if runner._born(worker[0]) == worker[1]]
            if not workers:
                continue  # the runner is still starting: a kill now would test nothing but Python's start
            victim = chance.choice([*workers, [process.pid, None]])
            if victim[1] is None:
                process.kill()
                process.wait()
                killed["runner"] += 1
            elif runner._born(victim[0]) == victim[1]:
                os.kill(victim[0], signal.SIGKILL)
                killed["worker"] += 1
        assert sum(killed.values()) == KILLS, killed
        assert min(killed["runner"], killed["worker"]) >= 5, killed
        while process.poll() is None and time.monotonic() < deadline:
            counts = entries.batch(session, made.id)
            if counts["done"] == [[0, 12], [14, 199]]:
                break
            time.sleep(0.02)
        if process.poll() is not None:
            assert start_runner(session.id, made.id, tmp_path).wait(60) == 1
        else:
            process.wait(60)
        ended = entries.batch(session, made.id)
        assert ended["done"] == [[0, 12], [14, 199]]
        assert ended["failed"] == {"21": [[13, 13]]}
        assert "unlucky" in ended["failures"][0]["reason"]
        recorded = Counter(
            event.data["item"]
            for commit in session.log()
            for event in commit.events
            if event.type == "batch.item-done"
        )
        assert recorded == Counter(number for number in range(200) if number != 13)
    assert not (tmp_path / "overlaps").exists()
    completions = set((tmp_path / "completions").read_text().splitlines())
    assert completions == {item for item in ITEMS if item != "item 13"}
