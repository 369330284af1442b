"""What users run: decide, settle, note and record, in a burst and at a steady pace, against one raw write and sync.

Every engine is a separate program (``bench/verbs_worker.py``). With ``--before PYTHON`` the release that is installed
for that interpreter takes part in the same rounds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bench import stats
from bench.settings import Settings
from bench.verbs_worker import VERBS

ENGINES = ("files", "git", "sqlite")
RAW = "raw"
BEFORE, AFTER = "before", "after"
BURST, PACED = "burst", "4 per second"
_WORKER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "verbs_worker.py")


class Lane:
    """One running program."""

    def __init__(self, python: str, release: str, engine: str, folder: str) -> None:
        self.release, self.engine = release, engine
        place = os.path.join(folder, "verbs", f"{release}-{engine}")
        os.makedirs(place)
        self._process = subprocess.Popen(
            [python, _WORKER, engine, place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=place,
        )
        self.times: dict[tuple[str, str], list[list[float]]] = {}
        self._answer()

    def _answer(self) -> list[str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"verbs: the {self.release} program on {self.engine} ended early")
        return line.split()

    def call(self, verb: str, count: int, rhythm: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{verb} {count}\n")
        self._process.stdin.flush()
        block = [int(word) / 1000 for word in self._answer()]
        self.times.setdefault((verb, rhythm), []).append(block)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def run(settings: Settings, folder: str, say: Callable[[str], None], before: str | None) -> dict[str, Any]:
    releases = {AFTER: sys.executable} | ({BEFORE: before} if before else {})
    lanes = [Lane(sys.executable, RAW, RAW, folder)]
    lanes += [Lane(python, name, engine, folder) for name, python in releases.items() for engine in ENGINES]
    try:
        _burst(lanes, settings, say)
        _paced(lanes, settings, say)
    finally:
        for lane in lanes:
            lane.close()
    raw = lanes[0]
    rows = [_row(lane, raw, verb, rhythm) for lane in lanes[1:] for verb, rhythm in lane.times]
    return {"rows": rows, "sums": _sums(rows)}


def _burst(lanes: list[Lane], settings: Settings, say: Callable[[str], None]) -> None:
    order, shuffle = list(lanes), random.Random(5).shuffle
    for turn in range(settings.verb_rounds + 1):
        if turn % 10 == 0:
            say(f"verbs: round {turn} of {settings.verb_rounds}")
        for verb in VERBS:
            shuffle(order)
            for lane in order:
                lane.call(verb, settings.verb_block, BURST)
        if turn == 0:  # the first round pays for imports and new files
            for lane in lanes:
                lane.times.clear()


def _paced(lanes: list[Lane], settings: Settings, say: Callable[[str], None]) -> None:
    """Each program makes one call per quarter of a second, the others in between: caches are cold, as in real use."""
    order = list(lanes)
    shuffle: Callable[[list[Any]], None] = random.Random(6).shuffle
    say(f"verbs: {settings.verb_paced} calls at 4 per second")
    for lane in lanes:
        lane.call("decide", 1, "")  # so that a settle may come before its decide
        del lane.times["decide", ""]
    due = time.monotonic()
    for _ in range(settings.verb_paced // len(VERBS)):
        verbs = list(
            VERBS
        )  # in any order: views are written once a second, and no verb shall always pay for that
        shuffle(verbs)
        for verb in verbs:
            shuffle(order)
            due += 0.25
            for lane in order:
                lane.call(verb, 1, PACED)
            time.sleep(max(0.0, due - time.monotonic()))


def _row(lane: Lane, raw: Lane, verb: str, rhythm: str) -> dict[str, Any]:
    own, base = lane.times[verb, rhythm], raw.times[verb, rhythm]
    everything = [value for block in own for value in block]
    return {
        "release": lane.release,
        "engine": lane.engine,
        "verb": verb,
        "rhythm": rhythm,
        "ratio": stats.paired([stats.median(b) for b in own], [stats.median(b) for b in base]),
        "us": {
            "p50": stats.quantile(everything, 0.5),
            "p95": stats.quantile(everything, 0.95),
            "mean": sum(everything) / len(everything),
        },
        "samples": len(everything),
    }


def _sums(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The sum over all verbs, engines and rhythms, for each release."""
    return {
        release: {
            key: sum(row["us"][key] for row in rows if row["release"] == release)
            for key in ("p50", "p95", "mean")
        }
        for release in sorted({row["release"] for row in rows})
    }


def changes(section: dict[str, Any]) -> list[dict[str, Any]]:
    """Each figure of this release against the previous one's, in the same run."""
    found = {(r["release"], r["engine"], r["verb"], r["rhythm"]): r["us"] for r in section["rows"]}
    return [
        {
            "engine": engine,
            "verb": verb,
            "rhythm": rhythm,
            "ratio": {key: now[key] / then[key] for key in now},
        }
        for (release, engine, verb, rhythm), now in found.items()
        if release == AFTER and (then := found.get((BEFORE, engine, verb, rhythm))) is not None
    ]
