"""Reading streams for the index: one at a time, or, when there is much to read, in several processes."""

from __future__ import annotations

import gc
import json
import marshal
from collections.abc import Iterable, Iterator
from itertools import islice

from holdfast.core import fold
from holdfast.core.stream import kind_of
from holdfast.errors import HoldfastError
from holdfast.index.rows import Rows
from holdfast.index.writer import Statements, collect, collect_texts
from holdfast.store import forked
from holdfast.store.protocol import Store
from holdfast.typed import Any, Record

CHUNK = 20_000
"""Commits of one stream in memory at a time."""
_STREAMS = 10
"""Streams that a process reads before it hands over their rows."""
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


def shared(store: Store, jobs: list[Job]) -> Iterator[Prepared]:
    """What to write for new streams, read by several processes, in order. What is too long for one part, or cannot be
    read, is left out: its stream stays without a stamp."""
    plain = [tuple(job) for job in jobs]
    collecting = gc.isenabled()
    gc.disable()  # a million tuples without a cycle
    try:
        for done in forked.in_batches(plain, _STREAMS, lambda batch: _prepared(store, batch)):
            yield marshal.loads(done)  # noqa: S302 - made by a process of our own
    finally:
        if collecting:
            gc.enable()


def _prepared(store: Store, jobs: list[tuple[Any, ...]]) -> bytes:
    """The rows of some streams. Runs in a process of its own."""
    found: Statements = {}
    commits = 0
    for job in jobs:
        try:
            part = next(parts(store, Job(*job)))
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
