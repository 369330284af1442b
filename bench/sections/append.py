"""One durable append: every contender at every length of history, all lanes interleaved in one run."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable, Sequence
from time import process_time_ns
from typing import Any

from bench import stats
from bench.contender import RAW, RAW_SQLITE, Appender, Contender
from bench.settings import Settings

SLOW_NS = 20_000_000.0
"""A slower append is measured once in a round, and only in some rounds."""
SLOW_EVERY = 8
PROCESSORS = 4
"""The most processors that are tried one after another."""
ALL = "all"


class Lane:
    """One contender at one length of history."""

    def __init__(self, contender: Contender, history: int, appender: Appender) -> None:
        self.contender = contender
        self.history = history
        self.appender = appender
        appender.block(2)
        self.slow = stats.median(appender.block(3)) > SLOW_NS
        self.blocks: dict[int, list[float]] = {}
        self.cpu: list[float] = []

    def run(self, turn: int, size: int) -> None:
        if self.slow:
            if turn % SLOW_EVERY:
                return
            size = 1
        before = process_time_ns()
        self.blocks[turn] = self.appender.block(size)
        self.cpu.append((process_time_ns() - before) / size)

    def medians(self, turns: Sequence[int]) -> list[float]:
        return [stats.median(self.blocks[turn]) for turn in turns]


def run(
    settings: Settings, contenders: Sequence[Contender], folder: str, say: Callable[[str], None]
) -> dict[str, Any]:
    lanes: list[Lane] = []
    rows: list[dict[str, Any]] = []
    for history in settings.append_histories:
        for contender in contenders:
            if contender.append_reach < 0:
                continue
            row = {"contender": contender.name, "history": history}
            if reason := contender.missing():
                rows.append({**row, "status": reason})
            elif history > contender.append_reach:
                rows.append({**row, "status": "not run at this length"})
            else:
                say(f"append: preparing {contender.name} at {history:,}")
                lanes.append(_lane(contender, history, folder))
    _take_turns(lanes, settings, say)
    close = _take_close_turns(contenders, settings, folder, say)
    rows += [_row(lane, lanes) for lane in lanes]
    names = [contender.name for contender in contenders]
    rows.sort(key=lambda row: (row["history"], names.index(row["contender"])))
    for lane in lanes:
        lane.appender.close()
    return {"rows": rows, "flat": _flatness(lanes), "close": close}


def _lane(contender: Contender, history: int, folder: str, section: str = "append") -> Lane:
    place = os.path.join(folder, section, f"{contender.name}-{history}".replace(" ", "-"))
    os.makedirs(place)
    contender.fill(place, history)
    return Lane(contender, history, contender.appender(place))


def _take_turns(lanes: list[Lane], settings: Settings, say: Callable[[str], None]) -> None:
    os.sync()
    gc.collect()
    gc.freeze()  # garbage collection of other contenders' imports must not be charged to this one
    order = list(lanes)
    shuffle = random.Random(1).shuffle
    for turn in range(settings.append_rounds):
        if turn % 10 == 0:
            say(f"append: round {turn} of {settings.append_rounds}")
        shuffle(order)
        for lane in order:
            lane.run(turn, settings.append_block)
        gc.collect()
    gc.unfreeze()


def _take_close_turns(
    contenders: Sequence[Contender], settings: Settings, folder: str, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Contenders with a target, right after one another, with no history, on one processor after the other: where the
    disk's interrupts arrive, a sync takes two thirds of its time elsewhere, and a scheduler may stay with either.
    """
    rows = []
    for limit in (RAW, RAW_SQLITE):
        group = [one for one in contenders if one.has_target and one.limit == limit and not one.missing()]
        taken: dict[str, dict[str, list[float]]] = {}
        for processor in _processors():
            say(f"append: {', '.join(one.name for one in group)} in close turns, processor {processor}")
            # A new one for each: a database that has been written to for a while has a different log than a new one.
            lanes = [_lane(one, 0, folder, f"close-{processor}") for one in group]
            taken[str(processor)] = _close(lanes, processor, settings)
            for lane in lanes:
                lane.appender.close()
        for one in group:
            every: list[tuple[float, float]] = []
            for name, medians in taken.items():
                pairs = list(zip(medians[one.name], medians[limit], strict=True))
                every += pairs
                rows.append(_close_row(one, name, pairs))
            if len(taken) > 1:
                rows.append(_close_row(one, ALL, every))
    return rows


def _processors() -> list[int | str]:
    if not hasattr(os, "sched_setaffinity"):
        return [ALL]
    return list(sorted(os.sched_getaffinity(0))[:PROCESSORS])


def _close(group: Sequence[Lane], processor: int | str, settings: Settings) -> dict[str, list[float]]:
    """The medians of each contender's blocks."""
    allowed = os.sched_getaffinity(0) if isinstance(processor, int) else set()
    medians: dict[str, list[float]] = {lane.contender.name: [] for lane in group}
    order = list(group)
    shuffle = random.Random(2).shuffle
    try:
        if isinstance(processor, int):
            os.sched_setaffinity(0, {processor})
        gc.collect()
        gc.freeze()
        for _ in range(settings.close_rounds):
            shuffle(order)
            for lane in order:
                block = lane.appender.block(settings.append_block)
                medians[lane.contender.name].append(stats.median(block))
        gc.unfreeze()
    finally:
        if allowed:
            os.sched_setaffinity(0, allowed)
    return medians


def _close_row(contender: Contender, processor: str, pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    own, base = zip(*pairs, strict=True)
    return {
        "contender": contender.name,
        "processor": processor,
        "limit": contender.limit,
        "ratio_to_limit": stats.paired(own, base),
        "us": stats.spread([ns / 1000 for ns in own]),
        "rounds": len(pairs),
    }


def _find(lanes: Sequence[Lane], name: str, history: int) -> Lane | None:
    for lane in lanes:
        if lane.contender.name == name and lane.history == history:
            return lane
    return None


def _ratio(lane: Lane, base: Lane | None) -> dict[str, float] | None:
    if base is None:
        return None
    turns = sorted(lane.blocks.keys() & base.blocks.keys())
    return stats.paired(lane.medians(turns), base.medians(turns))


def _row(lane: Lane, lanes: Sequence[Lane]) -> dict[str, Any]:
    summary = stats.blocks_summary([[ns / 1000 for ns in block] for block in lane.blocks.values()])
    return {
        "contender": lane.contender.name,
        "history": lane.history,
        "ratio": _ratio(lane, _find(lanes, RAW, lane.history)),
        "limit": lane.contender.limit,
        "ratio_to_limit": _ratio(lane, _find(lanes, lane.contender.limit, lane.history)),
        "us": summary,
        "cpu_us": stats.spread([ns / 1000 for ns in lane.cpu]),
    }


def _flatness(lanes: Sequence[Lane]) -> dict[str, dict[str, Any]]:
    """Per contender: the longest history against the shortest, round by round."""
    result: dict[str, dict[str, Any]] = {}
    for lane in lanes:
        short = min(other.history for other in lanes if other.contender is lane.contender)
        base = _find(lanes, lane.contender.name, short)
        if lane.history > short:
            result[lane.contender.name] = {"from": short, "to": lane.history, "ratio": _ratio(lane, base)}
    return result
