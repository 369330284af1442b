"""Opening: from nothing in memory to the current state, in a process that has done its imports."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from bench import stats
from bench.contender import Contender
from bench.settings import Settings

SLOW_NS = 50_000_000
SLOW_EVERY = 8
BLOCK = 3


class Lane:
    """One contender at one length of history."""

    def __init__(self, contender: Contender, history: int, folder: str) -> None:
        self.contender = contender
        self.history = history
        self.folder = folder
        self.first_ns = self._once()
        self._once()
        self.slow = self._once() > SLOW_NS
        self.blocks: dict[int, list[float]] = {}

    def _once(self) -> int:
        start = perf_counter_ns()
        found = self.contender.load(self.folder)
        took = perf_counter_ns() - start
        if found != self.history:
            raise RuntimeError(f"{self.contender.name}: state covers {found}, not {self.history} commits")
        return took

    def run(self, turn: int) -> None:
        if not self.slow:
            self.blocks[turn] = [float(self._once()) for _ in range(BLOCK)]
        elif turn % SLOW_EVERY == 0:
            self.blocks[turn] = [float(self._once())]

    def medians(self, turns: Sequence[int]) -> list[float]:
        return [stats.median(self.blocks[turn]) for turn in turns]


def run(
    settings: Settings, contenders: Sequence[Contender], folder: str, say: Callable[[str], None]
) -> dict[str, Any]:
    lanes: list[Lane] = []
    rows: list[dict[str, Any]] = []
    for history in settings.open_histories:
        for contender in contenders:
            if not contender.opens:
                continue
            row = {"contender": contender.name, "history": history}
            if reason := contender.missing():
                rows.append({**row, "status": reason})
            elif history > contender.open_reach:
                rows.append({**row, "status": "not run at this length"})
            else:
                say(f"open: preparing {contender.name} at {history:,}")
                place = os.path.join(folder, "open", f"{contender.name}-{history}".replace(" ", "-"))
                os.makedirs(place)
                contender.fill(place, history)
                lanes.append(Lane(contender, history, place))
    _take_turns(lanes, settings, say)
    rows += [_row(lane, lanes) for lane in lanes]
    names = [contender.name for contender in contenders]
    rows.sort(key=lambda row: (row["history"], names.index(row["contender"])))
    return {"rows": rows}


def _take_turns(lanes: list[Lane], settings: Settings, say: Callable[[str], None]) -> None:
    os.sync()
    gc.collect()
    gc.freeze()
    order = list(lanes)
    shuffle = random.Random(2).shuffle
    for turn in range(settings.open_rounds):
        if turn % 10 == 0:
            say(f"open: round {turn} of {settings.open_rounds}")
        shuffle(order)
        for lane in order:
            lane.run(turn)
            gc.collect()
    gc.unfreeze()


def _row(lane: Lane, lanes: Sequence[Lane]) -> dict[str, Any]:
    shortest = min(
        (other for other in lanes if other.contender is lane.contender), key=lambda other: other.history
    )
    turns = sorted(lane.blocks.keys() & shortest.blocks.keys())
    summary = stats.blocks_summary([[ns / 1000 for ns in block] for block in lane.blocks.values()])
    return {
        "contender": lane.contender.name,
        "history": lane.history,
        "ratio": stats.paired(lane.medians(turns), shortest.medians(turns)),
        "ratio_to": shortest.history,
        "us": summary,
        "first_us": round(lane.first_ns / 1000, 1),
    }
