"""Search, catching up and building of the index over many sessions, beside ``grep -r`` and ripgrep.

``python -m bench.recall [--sessions 1000] [--commits 100000]`` makes a workspace, measures, and prints one row per
figure with its target. The targets hold at ``--sessions 10000 --commits 1000000``; those of doctor and validate at
``--sessions 2000 --commits 200000 --checks``. ``--folder`` keeps the workspace for the next run: a million commits are
written in a quarter of a minute, straight into segments.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from holdfast.core import ids, timestamps
from holdfast.core.codec import GENESIS, Draft, Event, encode
from holdfast.store.files import segments

USER = "bench"
WRITER = "0bench00"
START = 1_750_000_000_000
ROUNDS = 15
PROGRAM = "import sys; from holdfast.edge.cli import script; script()"
SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi xo zu bra cle dri flo gru pla ste tri vlo snu".split(" ")  # noqa: SIM905


class Texts:
    """Sentences whose words are as unevenly frequent as those of a language."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = sorted(
            {"".join(self.random.choices(SYLLABLES, k=self.random.randint(2, 4))) for _ in range(40_000)}
        )
        self.random.shuffle(self.words)
        weights = [1 / (place + 10) for place in range(len(self.words))]
        self._drawn = self.random.choices(self.words, weights, k=1_000_000)
        self._place = 0

    def sentence(self, count: int) -> str:
        self._place = (self._place + count) % (len(self._drawn) - count)
        return " ".join(self._drawn[self._place : self._place + count])


def _events(texts: Texts, session: str, count: int) -> Iterator[tuple[Event, ...]]:
    """What ``count`` commands of one session add."""
    goal = {"session": session, "user": USER, "goal": texts.sentence(8)}
    yield (Event("session.started", goal),)
    numbers = {"D": 0, "T": 0, "E": 0}
    made = 1
    while made < count:
        kind = texts.random.random()
        if kind < 0.3 and made + 2 <= count:
            numbers["D"] += 1
            name = f"D-{numbers['D']}"
            yield (
                Event(
                    "decision.made", {"id": name, "text": texts.sentence(9), "because": texts.sentence(12)}
                ),
            )
            yield (Event("decision.settled", {"id": name, "outcome": texts.sentence(8), "ok": True}),)
            made += 2
        elif kind < 0.5 and made + 2 <= count:
            numbers["T"] += 1
            name = f"T-{numbers['T']}"
            yield (Event("task.added", {"id": name, "title": texts.sentence(7)}),)
            yield (Event("task.completed", {"id": name, "result": texts.sentence(6)}),)
            made += 2
        elif kind < 0.55:
            numbers["E"] += 1
            yield (Event("error.met", {"id": f"E-{numbers['E']}", "text": texts.sentence(14)}),)
            made += 1
        elif kind < 0.7:
            yield (Event("note.added", {"text": texts.sentence(20)}),)
            made += 1
        elif kind < 0.85:
            yield (Event("message.added", {"role": "user", "text": texts.sentence(25)}),)
            made += 1
        else:
            yield (Event("x.tool-used", {"tool": "bash", "input": texts.sentence(10)}),)
            made += 1


def make(folder: str, sessions: int, commits: int) -> None:
    """A workspace, written as ``holdfast`` would have written it on another clone."""
    from holdfast.workspace import scaffold

    root = os.path.join(folder, ".state")
    scaffold.create(root)
    texts = Texts(7)
    clock = START
    for number in range(sessions):
        clock += 3_600_000
        session = f"{timestamps.iso(clock)[:10]}-{ids.random_text(texts.random.getrandbits(64), 8)}"
        _write(root, texts, f"sessions/{USER}/{session}", session, clock, commits // sessions)
        if number == 0:
            os.makedirs(os.path.join(root, "local"), exist_ok=True)
            with open(os.path.join(root, "local", "current"), "w", encoding="utf-8") as pointer:
                pointer.write(f"{USER}/{session}\n")


def _write(root: str, texts: Texts, stream: str, session: str, now: int, count: int) -> None:
    place = os.path.join(root, "events", stream)
    os.makedirs(place)
    name = segments.name_of(stream, WRITER, 1)
    last_id, last_sum = ids.ZERO, GENESIS
    with open(os.path.join(place, name), "wb") as out:
        for events in _events(texts, session, count):
            now += 1_000
            last_id = ids.next_id(last_id, now, WRITER)
            line, commit = encode(Draft(events, USER, "agent"), last_id, timestamps.iso(now), last_sum)
            last_sum = commit.sum
            out.write(segments.in_column(stream, name, line))


class Took(NamedTuple):
    """Milliseconds: on the clock, and of the processor (of a command: its own)."""

    wall: float
    cpu: float


def timed(act: Callable[[], object], rounds: int = ROUNDS) -> Took:
    """The medians of some rounds."""
    return _medians([_once(act) for _ in range(rounds)])


def _once(act: Callable[[], object]) -> Took:
    wall, cpu = time.perf_counter(), _cpu()
    act()
    return Took((time.perf_counter() - wall) * 1000, (_cpu() - cpu) * 1000)


def _cpu() -> float:
    """Processor time of this process and of those that it waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def _medians(found: list[Took]) -> Took:
    return Took(statistics.median(t.wall for t in found), statistics.median(t.cpu for t in found))


def _command(folder: str, *words: str) -> Callable[[], object]:
    environment = {**os.environ, "HOLDFAST_USER": USER, "NO_COLOR": "1"}

    def run() -> object:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=folder,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    return run


def measure(folder: str, commits: int, *, checks: bool) -> list[dict[str, Any]]:
    """Every figure: its name, value, unit and target."""
    import holdfast

    rows: list[dict[str, Any]] = []

    def row(name: str, value: float, unit: str, target: str = "", cpu: float | None = None) -> None:
        rows.append({"figure": name, "value": round(value, 1), "unit": unit, "target": target, "cpu": cpu})
        spent = f"({cpu:,.1f} ms of the processor)" if cpu is not None else ""
        print(f"{name:48} {value:12,.1f} {unit:10} {target:10} {spent}", flush=True)

    def time_row(name: str, took: Took, target: str = "") -> None:
        row(name, took.wall, "ms", target, round(took.cpu, 1))

    texts = Texts(7)
    rare, common, pair = texts.words[20_000], texts.words[3], f"{texts.words[40]} {texts.words[200]}"
    workspace = holdfast.open(folder, user=USER)
    workspace.index.delete()
    took = _once(workspace.index.catch_up)
    row("build from nothing", commits / took.wall * 1000, "commits/s", ">= 30,000", round(took.cpu, 1))
    row("size of the index", os.path.getsize(workspace.index.path) / 1e6, "MB")
    row("size of the segments", _size(os.path.join(folder, ".state/events")) / 1e6, "MB")
    time_row("nothing new: looking at all streams", timed(workspace.index.catch_up))
    for label, words in (("a rare word", rare), ("a frequent word", common), ("two words", pair)):
        time_row(f"search, warm: {label}", timed(lambda words=words: workspace.search(words)), "< 100")
    time_row("search, warm: none", timed(lambda: workspace.search("qqqqqqq")), "< 100")
    session = workspace.session()
    for count in (1, 1_000):
        found = []
        for _ in range(5):
            for _ in range(count):
                session.note(texts.sentence(20))
            found.append(_once(workspace.index.catch_up))
        time_row(f"catching up {count:,} commits", _medians(found), "< 100" if count == 1_000 else "")
    workspace.close()
    time_row("holdfast search, a rare word", timed(_command(folder, "search", rare)), "< 250")
    time_row("holdfast search, a frequent word", timed(_command(folder, "search", common)), "< 250")
    time_row("holdfast sql, decisions by status", timed(_command(folder, "sql", _BY_STATUS)))
    for command in ("recover", "decisions", "sessions"):
        time_row(f"holdfast {command}", timed(_command(folder, command)), "< 150")
    if checks:
        for command in ("doctor", "validate"):
            time_row(f"holdfast {command}", timed(_command(folder, command), 3), "< 5,000")
    events = os.path.join(folder, ".state", "events")
    for tool in ("grep", "rg"):
        if path := shutil.which(tool):
            argv = [path, "-r", "-l", rare, events] if tool == "grep" else [path, "-l", rare, events]
            time_row(f"{tool} over the segments, a rare word", timed(lambda a=argv: _quiet(a), 3))
    return rows


_BY_STATUS = "select status, count(*) from decisions group by status"


def _quiet(argv: list[str]) -> None:
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)


def _size(folder: str) -> int:
    return sum(
        os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(folder) for name in names
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--folder", help="use this folder, and keep it; it is made if it is not there")
    parser.add_argument("--checks", action="store_true", help="measure doctor and validate too")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]
    os.environ["HOLDFAST_SEARCH"] = "words"  # bench.semantic measures the other ranking
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        if not os.path.isdir(os.path.join(folder, ".state")):
            os.makedirs(folder, exist_ok=True)
            make(folder, arguments.sessions, arguments.commits)
        rows = measure(folder, arguments.commits, checks=arguments.checks)
        print(f"load: {os.getloadavg()[0]:.1f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(
                {"sessions": arguments.sessions, "commits": arguments.commits, "rows": rows}, out, indent=1
            )


if __name__ == "__main__":
    main()
