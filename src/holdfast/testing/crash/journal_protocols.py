"""The ways in which the files engine writes with journals, each as a protocol for the laboratory."""

from __future__ import annotations

import os

from holdfast.fs import durable
from holdfast.store.files.journal import BLOCK, JournalPolicy
from holdfast.store.files.stream_note import ALONE
from holdfast.testing.crash.harness import STREAM, Bench
from holdfast.testing.crash.wrapped import DuringSync, KilledAt

JOURNALS = JournalPolicy(after=1, size=4 * BLOCK, window=1200)
"""A journal from the first commit on, so small that it is full after a few."""


def _with_journals(bench: Bench, journal_policy: JournalPolicy = JOURNALS) -> None:
    """Every store has a journal, and reads only what is new."""
    bench.journal_policy = journal_policy
    bench.cursors = {}


def journal(bench: Bench) -> None:
    """Every commit is made sure of in a journal, which begins again when it is full."""
    _with_journals(bench)
    store = bench.store()
    for _ in range(10):
        bench.append(store)
    store.close()


def journal_of_a_dead_process(bench: Bench) -> None:
    """A process died with a full journal; the next one takes it over and goes on."""
    _with_journals(bench)
    dying = KilledAt(bench.fs, 1 << 30)
    store = bench.store(dying)
    for _ in range(5):
        bench.append(store)
    dying.die()
    store = bench.store()
    for _ in range(3):
        bench.append(store)
    store.close()


def half_lost(bench: Bench) -> None:
    """A process died with a journal that holds all it wrote; a power cut took the second half of its segment."""
    _with_journals(bench, JOURNALS._replace(size=32 * BLOCK, window=4 * BLOCK))
    dying = KilledAt(bench.fs, 1 << 30)
    store = bench.store(dying)
    for _ in range(5):
        bench.append(store)
    dying.die()
    (segment,) = bench.segments()
    os.truncate(segment, os.path.getsize(segment) // 2)
    bench.begin()


def journals_of_two(bench: Bench) -> None:
    """Two processes with a journal each take turns; one of them is killed while the other goes on."""
    _with_journals(bench)
    dying = KilledAt(bench.fs, 1 << 30)
    one, two = bench.store(dying), bench.store()
    for _ in range(3):
        bench.append(one)
        bench.append(two)
        bench.append(two)
    dying.die()
    bench.append(two)
    two.close()


def beside_others(bench: Bench) -> None:
    """Two busy processes take turns without rules to ask; one of them is killed while the other goes on."""
    _with_journals(bench, JOURNALS._replace(size=16 * BLOCK, window=2 * BLOCK))
    bench.settle_folders()
    dying = KilledAt(bench.fs, 1 << 30)
    one, two = bench.store(dying), bench.store()
    for store in (one, two, one, two):
        bench.append(store)
    for _ in range(3):
        bench.append(one, hurried=True)
        bench.append(two, hurried=True)
    dying.die()
    bench.append(two, hurried=True)
    two.close()


def alone(bench: Bench) -> None:
    """One busy process appends behind its own last commit, so often that its note lags; it is killed, and the next one
    goes on."""
    _with_journals(bench)
    bench.settle_folders()
    dying = KilledAt(bench.fs, 1 << 30)
    store = bench.store(dying)
    for _ in range(ALONE + 4):
        bench.append(store, hurried=True)
    dying.die()
    store = bench.store()
    for _ in range(3):
        bench.append(store, hurried=True)
    store.close()


def journals_overtaken(bench: Bench) -> None:
    """A second process with a journal is acknowledged while the first one still waits for the sync of its own."""
    _with_journals(bench, JOURNALS._replace(size=32 * BLOCK, window=2 * BLOCK))  # neither syncs the segment
    other = bench.store()
    bench.append(other)
    store = bench.store()
    bench.append(store)
    store.close()
    op = bench.next_op()
    bench.attempted[STREAM].append(op)
    quicker = DuringSync(bench.fs, lambda: bench.append(other))
    store = bench.store(quicker)
    bench.append(store, op=op)
    assert quicker.meanwhile is None, "nobody was quicker"
    bench.append(store)
    store.close()
    other.close()


def journal_and_git(bench: Bench) -> None:
    """HEAD moves while a journal is in use: the next commit goes to another segment."""
    head = bench.git_head()
    _with_journals(bench)
    store = bench.store()
    for number in range(3):
        bench.append(store)
        bench.append(store)
        durable.replace(bench.fs, head, f"{number:040d}\n".encode(), tag="git", durable=False)
    bench.append(store)
    store.close()


JOURNAL_PROTOCOLS = (
    journal,
    journal_of_a_dead_process,
    journals_of_two,
    alone,
    beside_others,
    journals_overtaken,
    journal_and_git,
)
