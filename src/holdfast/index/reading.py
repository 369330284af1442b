"""Reading streams for the index: one at a time, or, when there is much to read, in several processes."""

from __future__ import annotations

import gc
import json
import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

from holdfast.core import fold
from holdfast.errors import HoldfastError
from holdfast.index.rows import Rows
from holdfast.index.writer import Statements, collect, collect_texts
from holdfast.store.protocol import Store
from holdfast.typed import Any, Record

CHUNK = 20_000
"""Commits of one stream in memory at a time."""
_STREAMS = 25
"""Streams that a process reads before it hands over their rows."""
_FEWEST = 200
"""With fewer new streams, processes are not worth their start."""
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Job(Record):
    """A stream to read, and what the index has of it."""

    name: str
    stamp: str
    number: int
    cursor: str = "null"
    state: str = ""


class Part(Record):
    """Some commits of a stream, folded."""

    rows: Rows
    found: Statements
    fresh: bool
    """The first part of a stream whose rows, if there are any, are no longer right."""
    last: bool


def kind_of(name: str) -> str:
    """The kind of a stream."""
    return "session" if name.startswith("sessions/") else name.split("/")[0].rstrip("s")


def parts(store: Store, job: Job) -> Iterator[Part]:
    """The new commits of a stream, in parts; at least one."""
    tail = store.read(job.name, json.loads(job.cursor))
    fresh = tail.restarted or not job.state
    kind = kind_of(job.name)
    state = fold.blank(kind) if fresh else json.loads(job.state)
    for chunk, last in _chunks(tail.lines):
        rows = Rows(job.number, state)
        rows.take(chunk)
        end = (tail.version, tail.head, job.stamp, encode(tail.cursor), encode(state), None)
        yield Part(rows, collect(rows, (job.number, job.name, kind, *end), job.name), fresh, last)
        fresh = False


def _chunks(lines: Iterable[bytes]) -> Iterator[tuple[list[bytes], bool]]:
    """The lines in parts, each with whether it is the last; at least one part."""
    left = iter(lines)
    chunk = list(islice(left, CHUNK))
    while True:
        following: list[bytes] = list(islice(left, CHUNK))
        yield chunk, not following
        if not following:
            return
        chunk = following


# -- several processes ------------------------------------------------------------------------------------

Prepared = tuple[int, Statements, int]
"""How many streams, what to write, and of how many commits."""


def can_share(jobs: list[Job]) -> bool:
    """Whether other processes may and should read new streams. A fork is safe only where nothing else runs."""
    if len(jobs) < _FEWEST or sys.platform != "linux" or (os.cpu_count() or 1) < 2:
        return False
    from threading import active_count

    return active_count() == 1


def shared(store: Store, jobs: list[Job]) -> Iterator[Prepared]:
    """What to write for new streams, read by as many processes as there are processors, in order. What is too long for
    one part, or cannot be read, is left out: its stream stays without a stamp."""
    from collections import deque
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    global _store
    _store = store
    count = os.cpu_count() or 1
    plain = [tuple(job) for job in jobs]
    batches = iter([plain[start : start + _STREAMS] for start in range(0, len(jobs), _STREAMS)])
    waiting: deque[Future[bytes]] = deque()
    collecting = gc.isenabled()
    gc.disable()  # a million tuples without a cycle
    try:
        with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
            for batch in islice(batches, 2 * count):
                waiting.append(pool.submit(_prepared, batch))
            while waiting:
                done = waiting.popleft().result()
                for batch in islice(batches, 1):
                    waiting.append(pool.submit(_prepared, batch))
                yield marshal.loads(done)  # noqa: S302 - made by a process of our own
    except (OSError, BrokenProcessPool):
        pass  # no more processes, or one was killed: the caller reads the rest itself
    finally:
        _store = None
        if collecting:
            gc.enable()


_store: Store | None = None
"""What a process that is forked for reading reads from."""


def _prepared(jobs: list[tuple[Any, ...]]) -> bytes:
    """The rows of some streams. Runs in a process of its own."""
    assert _store is not None
    found: Statements = {}
    commits = 0
    for job in jobs:
        try:
            part = next(parts(_store, Job(*job)))
        except HoldfastError:
            continue
        if not part.last:
            continue
        commits += len(part.rows.commits)
        for statements in (part.found, collect_texts(part.rows)):
            for statement, values in statements.items():
                found.setdefault(statement, []).extend(values)
    result: Any = (len(jobs), found, commits)
    return marshal.dumps(result)
