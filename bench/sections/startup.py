"""Start-up: a command from start to exit, against an interpreter that does nothing, interleaved."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

from bench import stats
from bench.contender import missing
from bench.ours import script_missing, script_path, script_workspace
from bench.settings import Settings

BARE = "python -c pass"
STATUS = "holdfast status"
SLOW_EVERY = 8


class Command(NamedTuple):
    name: str
    argv: tuple[str, ...]
    folder: str
    missing: str | None
    slow: bool


class Timing(NamedTuple):
    wall_ns: float
    cpu_ns: float


def run(settings: Settings, folder: str, say: Callable[[str], None]) -> dict[str, Any]:
    place = os.path.join(folder, "startup")
    os.makedirs(place)
    commands = _commands(place)
    timings: dict[str, dict[int, Timing]] = {c.name: {} for c in commands if c.missing is None}
    order = [c for c in commands if c.missing is None]
    for command in order:
        _time(command)
        _time(command)
    shuffle = random.Random(4).shuffle
    for turn in range(settings.startup_rounds):
        if turn % 10 == 0:
            say(f"startup: round {turn} of {settings.startup_rounds}")
        shuffle(order)
        for command in order:
            if not command.slow or turn % SLOW_EVERY == 0:
                timings[command.name][turn] = _time(command)
    return {"rows": [_row(command, timings) for command in commands]}


def _commands(folder: str) -> list[Command]:
    python = sys.executable
    ours = script_missing()
    workspace = folder if ours else script_workspace(folder)
    script = script_path()

    def own(*words: str) -> Command:
        return Command(" ".join(("holdfast", *words)), (script, *words), workspace, ours, False)

    def imports(name: str, module: str) -> Command:
        gone = missing((module,))
        return Command(name, (python, "-c", f"import {module}"), folder, gone, True)

    return [
        Command(BARE, (python, "-c", "pass"), folder, None, False),
        Command(
            "python -c 'import json, sqlite3'", (python, "-c", "import json, sqlite3"), folder, None, False
        ),
        own("status"),
        own("status", "--json"),
        own("note", "A note of the benchmark."),
        imports("import of eventsourcing", "eventsourcing.sqlite"),
        imports("import of langgraph", "langgraph.checkpoint.sqlite"),
        imports("import of openai agents", "agents"),
    ]


def _time(command: Command) -> Timing:
    quiet = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    before = os.getcwd()
    os.chdir(command.folder)
    try:
        start = perf_counter_ns()
        pid = os.posix_spawn(command.argv[0], command.argv, os.environ, file_actions=quiet)
        _, status, usage = os.wait4(pid, 0)
        wall = perf_counter_ns() - start
    finally:
        os.chdir(before)
    if code := os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{command.name} ended with status {code}")
    return Timing(float(wall), (usage.ru_utime + usage.ru_stime) * 1e9)


def _row(command: Command, timings: dict[str, dict[int, Timing]]) -> dict[str, Any]:
    if command.missing:
        return {"command": command.name, "status": command.missing}
    own, bare = timings[command.name], timings[BARE]
    turns = sorted(own)
    return {
        "command": command.name,
        "ratio": stats.paired([own[t].wall_ns for t in turns], [bare[t].wall_ns for t in turns]),
        "ms": stats.spread([own[t].wall_ns / 1e6 for t in turns]),
        "cpu_ms": stats.spread([own[t].cpu_ns / 1e6 for t in turns]),
        "samples": len(turns),
    }


def status_row(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((row for row in rows if row["command"] == STATUS and "ratio" in row), None)
