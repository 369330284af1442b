"""kill -9 at random times: several writers on one stream, and a parent that counts acknowledged commits."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from holdfast.store.protocol import Store
from holdfast.testing.crash.workload import (
    Acknowledged,
    Violation,
    append,
    commit_until_killed,
    heard,
    verify,
)
from holdfast.testing.processes import Pipe, kill, spawn

MakeStore = Callable[[], Store]
_ROUNDS_PER_STREAM = 12


class Killed(NamedTuple):
    """The counts of a run of kills."""

    kills: int
    acknowledged: int
    rounds: int


def stream_of(number: int) -> str:
    return f"sessions/kim/2026-01-15-{number:08d}"


def forked(make_store: MakeStore, kills: int, seed: int, *, writers: int = 4) -> Killed:
    """Kill forked writers at random times until there were ``kills``; raise at the first violation."""
    rng = random.Random(seed)
    done = rounds = total = 0
    known: list[Acknowledged] = []
    while done < kills:
        if rounds % _ROUNDS_PER_STREAM == 0:
            known.clear()
        stream = stream_of(rounds // _ROUNDS_PER_STREAM)
        said = _one_round(make_store, stream, rounds, rng, writers)
        known += said
        total += len(said)
        done += writers
        rounds += 1
        known.append(_reopen(make_store, stream, known, f"seed {seed}, round {rounds}"))
    return Killed(done, total, rounds)


def _one_round(
    make_store: MakeStore, stream: str, number: int, rng: random.Random, writers: int
) -> list[Acknowledged]:
    pipe = Pipe()
    pids = []
    try:
        for writer in range(writers):

            def body(prefix: str = f"k{number}.{writer}") -> None:
                commit_until_killed(make_store(), stream, prefix, pipe.writer)

            pids.append(spawn(body))
        # Kills range from opening stores and creating files to the middle of the work.
        pipe.listen(rng.expovariate(1 / 0.006))
        rng.shuffle(pids)
        for pid in list(pids):
            pids.remove(pid)
            if not kill(pid):
                raise Violation(f"round {number}: a writer failed before it was killed; its message is above")
            pipe.listen(rng.expovariate(1 / 0.001))
    finally:
        for pid in pids:
            kill(pid)
    return heard(pipe.finish())


def _reopen(make_store: MakeStore, stream: str, known: list[Acknowledged], where: str) -> Acknowledged:
    """Open as a successor does, check everything, and continue without any repair."""
    store = make_store()
    try:
        before = verify(store, stream, known, where)
        op = f"successor.{len(before)}.{len(known)}"
        mine = append(store, stream, op)
        after = verify(store, stream, [*known, mine], where)
        assert after == [*before, op], f"{where}: appending after the kill changed what was there"
        return mine
    finally:
        store.close()


def fresh_interpreters(engine: str, where: str, make_store: MakeStore, kills: int, seed: int) -> Killed:
    """The same with new interpreters, two at a time: start-up, imports and opening are killed too."""
    rng = random.Random(seed)
    stream = stream_of(99_999_999)
    known: list[Acknowledged] = []
    done = rounds = 0
    while done < kills:
        rounds += 1
        pipe = Pipe()
        children = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "holdfast.testing.crash.run",
                    "child",
                    engine,
                    where,
                    stream,
                    f"f{rounds}.{n}",
                ],
                stdout=pipe.writer,
            )
            for n in range(2)
        ]
        try:
            pipe.listen(0.03 + rng.random() * 0.25)
        finally:
            for child in children:
                child.kill()
                if child.wait() != -signal.SIGKILL:
                    raise Violation(f"fresh round {rounds}: a writer failed; its message is above")
        done += len(children)
        known += heard(pipe.finish())
        known.append(_reopen(make_store, stream, known, f"seed {seed}, fresh round {rounds}"))
    return Killed(done, len(known) - rounds, rounds)
