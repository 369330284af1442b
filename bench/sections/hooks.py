"""Hooks: an event of an agent host from start to exit, against an interpreter that does nothing, interleaved.

The session has ten thousand commits. Every event is a new one, so each prompt and each stop is committed and synced.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

from bench import ours, stats
from bench.settings import Settings

BARE = "python -c pass"
COMMITS = 10_000
EVENTS = {
    "session start": {"hook_event_name": "SessionStart", "source": "resume"},
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "look at the figures of round {n}"},
    "stop": {"hook_event_name": "Stop", "last_assistant_message": "Measured round {n}."},
    "file edited": {
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": "{folder}/figures.txt", "content": "{n}"},
    },
    "before compaction": {"hook_event_name": "PreCompact", "trigger": "auto"},
}


class Timing(NamedTuple):
    wall_ns: float
    cpu_ns: float


def run(settings: Settings, folder: str, say: Callable[[str], None]) -> dict[str, Any]:
    place = os.path.join(folder, "hooks")
    os.makedirs(place)
    reason = ours.script_missing()
    if reason is None:
        ours.Files().fill(place, COMMITS)
    names = [BARE, *(EVENTS if reason is None else ())]
    timings: dict[str, list[Timing]] = {name: [] for name in names}
    shuffle = random.Random(5).shuffle
    warm = 2
    for turn in range(settings.startup_rounds + warm):
        if turn % 10 == 0:
            say(f"hooks: round {turn} of {settings.startup_rounds}")
        shuffle(names)
        for name in names:
            timing = _time(name, place, turn)
            if turn >= warm:
                timings[name].append(timing)
    if reason is not None:
        return {"rows": [{"command": name, "status": reason} for name in EVENTS]}
    return {"rows": [_row(name, timings) for name in (BARE, *EVENTS)]}


def _time(name: str, place: str, turn: int) -> Timing:
    given = os.path.join(place, "payload.json")
    argv: tuple[str, ...] = (sys.executable, "-c", "pass")
    with open(given, "w", encoding="utf-8") as out:
        if name != BARE:
            argv = (ours.script_path(), "hook", "claude")
            text = json.dumps({"session_id": "bench", "cwd": place, "prompt_id": str(turn), **EVENTS[name]})
            out.write(text.replace("{n}", str(turn)).replace("{folder}", place))
    with open(os.path.join(place, "figures.txt"), "w", encoding="utf-8") as out:
        out.write(str(turn))
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    start = perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=streams)
    _, status, usage = os.wait4(pid, 0)
    wall = perf_counter_ns() - start
    if code := os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{name} ended with status {code}")
    return Timing(float(wall), (usage.ru_utime + usage.ru_stime) * 1e9)


def _row(name: str, timings: dict[str, list[Timing]]) -> dict[str, Any]:
    own, bare = timings[name], timings[BARE]
    return {
        "command": name if name == BARE else f"hook claude: {name}",
        "ratio": stats.paired([t.wall_ns for t in own], [t.wall_ns for t in bare]),
        "ms": stats.spread([t.wall_ns / 1e6 for t in own]),
        "cpu_ms": stats.spread([t.cpu_ns / 1e6 for t in own]),
        "samples": len(own),
    }
