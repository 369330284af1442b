"""Several processes on one history: throughput, lost commits, errors, and the worst single append."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from time import perf_counter, process_time
from typing import Any, NamedTuple

from bench import stats
from bench.contender import Racer, RefusedError
from bench.settings import Settings

BASE = "raw lock, sync outside"
MEASURED = (BASE, "raw sqlite", "holdfast files")
"""Their ratios have targets: they race more often than the others, and one right after the other."""
OPEN_TIMEOUT = 60.0


class Report(NamedTuple):
    """What one worker did between the start signal and the end of its time."""

    stored: list[int]
    errors: dict[str, int]
    refused: int
    worst: float
    seconds: float
    cpu: float


def run(
    settings: Settings, racers: Sequence[Racer], folder: str, say: Callable[[str], None]
) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    present: list[Racer] = []
    for racer in racers:
        if reason := racer.missing():
            rows += [{"contender": racer.name, "processes": n, "status": reason} for n in settings.processes]
        else:
            present.append(racer)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module for racer in present for module in racer.needs] + ["bench.racers"])
    shuffle = random.Random(3).shuffle
    for count in settings.processes:
        results: dict[str, list[dict[str, Any]]] = {racer.name: [] for racer in present}
        rounds = settings.crowd_rounds if count == settings.processes[-1] else settings.race_rounds
        for turn in range(rounds):
            say(f"processes: {count}, round {turn + 1} of {rounds}")
            order = [racer for racer in present if racer.name in MEASURED]
            others = [racer for racer in present if racer not in order] if turn < settings.race_rounds else []
            shuffle(order)
            shuffle(others)
            for racer in (*order, *others):
                place = os.path.join(folder, "race", f"{racer.name}-{count}-{turn}".replace(" ", "-"))
                os.makedirs(place)
                results[racer.name].append(_race(context, racer, place, count, settings.race_seconds))
        rows += [_row(racer.name, count, results) for racer in present]
    names = [racer.name for racer in racers]
    rows.sort(key=lambda row: (row["processes"], names.index(row["contender"])))
    return {"rows": rows}


def _race(context: Any, racer: Racer, folder: str, count: int, seconds: float) -> dict[str, Any]:
    racer.prepare(folder)
    os.sync()
    barrier = context.Barrier(count)
    workers = []
    pipes: list[Connection] = []
    for index in range(count):
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(racer.name, folder, index, barrier, seconds, there))
        worker.start()
        there.close()
        workers.append(worker)
        pipes.append(here)
    reports = [_receive(pipe, racer.name) for pipe in pipes]
    for worker in workers:
        worker.join()
    return _verdict(racer, folder, reports)


def _receive(pipe: Connection, name: str) -> Report:
    try:
        got = pipe.recv()
    except EOFError:
        raise RuntimeError(f"{name}: a worker died") from None
    if isinstance(got, str):
        raise RuntimeError(f"{name}: a worker could not start: {got}")
    return Report(*got)


def _work(name: str, folder: str, index: int, barrier: Any, seconds: float, pipe: Connection) -> None:
    from bench.racers import racer_named

    try:
        step = racer_named(name).worker(folder, index)
        barrier.wait(OPEN_TIMEOUT)
    except Exception as error:
        barrier.abort()
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send(tuple(_steps(step, seconds)))
    pipe.close()


def _steps(step: Callable[[int], None], seconds: float) -> Report:
    stored: list[int] = []
    errors: Counter[str] = Counter()
    refused = 0
    worst = 0.0
    number = 0
    cpu = process_time()
    start = begun = perf_counter()
    while begun - start < seconds:
        try:
            step(number)
            stored.append(number)
        except RefusedError:
            refused += 1
        except Exception as error:
            errors[type(error).__name__] += 1
        number += 1
        ended = perf_counter()
        worst = max(worst, ended - begun)
        begun = ended
    return Report(stored, dict(errors), refused, worst, begun - start, process_time() - cpu)


def _verdict(racer: Racer, folder: str, reports: Sequence[Report]) -> dict[str, Any]:
    survivors = racer.survivors(folder)
    acknowledged = sum(len(report.stored) for report in reports)
    if isinstance(survivors, int):
        lost = acknowledged - survivors
    else:
        lost = sum(
            (index, number) not in survivors
            for index, report in enumerate(reports)
            for number in report.stored
        )
    errors: Counter[str] = Counter()
    for report in reports:
        errors.update(report.errors)
    shares = [len(report.stored) for report in reports]
    return {
        "per_second": acknowledged / max(report.seconds for report in reports),
        "cpu_us": sum(report.cpu for report in reports) * 1e6 / max(1, acknowledged),
        "acknowledged": acknowledged,
        "lost": lost,
        "errors": dict(errors),
        "refused": sum(report.refused for report in reports),
        "worst_ms": max(report.worst for report in reports) * 1000,
        "least_share": min(shares) / max(1, max(shares)),
    }


def _row(name: str, count: int, results: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    own = results[name]
    rates = [each["per_second"] for each in own]
    base = [each["per_second"] for each in results[BASE]][: len(rates)]
    sqlite = [each["per_second"] for each in results["raw sqlite"]][: len(rates)]
    errors: Counter[str] = Counter()
    for each in own:
        errors.update(each["errors"])
    return {
        "contender": name,
        "processes": count,
        "ratio": stats.paired(rates, base),
        "ratio_to_sqlite": stats.paired(rates, sqlite),
        "per_second": stats.spread(rates),
        "cpu_us": stats.spread([each["cpu_us"] for each in own]),
        "acknowledged": sum(each["acknowledged"] for each in own),
        "lost": sum(each["lost"] for each in own),
        "errors": dict(errors),
        "refused": sum(each["refused"] for each in own),
        "worst_ms": round(max(each["worst_ms"] for each in own), 2),
        "least_share": round(min(each["least_share"] for each in own), 3),
    }
