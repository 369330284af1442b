"""Write protocols of the files engine with journals, for the crash-consistency harness."""

from __future__ import annotations

import os

from holdfast.fs import durable
from holdfast.store.files.journal import BLOCK, JournalPolicy
from holdfast.testing.crash.harness import STREAM, Fixture
from holdfast.testing.crash.wrapped import DuringSync, KilledAt

JOURNALS = JournalPolicy(after=1, size=4 * BLOCK, window=1200)
"""A journal from the first commit on, so small that a few commits fill it."""


def _with_journals(fixture: Fixture, journal_policy: JournalPolicy = JOURNALS) -> None:
    """Every store has a journal and reads only new commits."""
    fixture.journal_policy = journal_policy
    fixture.cursors = {}


def journal(fixture: Fixture) -> None:
    """Every commit is made durable in a journal, which is reset when full."""
    _with_journals(fixture)
    store = fixture.store()
    for _ in range(10):
        fixture.append(store)
    store.close()


def journal_of_a_dead_process(fixture: Fixture) -> None:
    """A process died with a full journal; the next one takes it over and continues."""
    _with_journals(fixture)
    dying = KilledAt(fixture.fs, 1 << 30)
    store = fixture.store(dying)
    for _ in range(5):
        fixture.append(store)
    dying.die()
    store = fixture.store()
    for _ in range(3):
        fixture.append(store)
    store.close()


def half_lost(fixture: Fixture) -> None:
    """A process died with a complete journal; a power cut lost the second half of its segment."""
    _with_journals(fixture, JOURNALS._replace(size=32 * BLOCK, window=4 * BLOCK))
    dying = KilledAt(fixture.fs, 1 << 30)
    store = fixture.store(dying)
    for _ in range(5):
        fixture.append(store)
    dying.die()
    (segment,) = fixture.segments()
    os.truncate(segment, os.path.getsize(segment) // 2)
    fixture.begin()


def journals_of_two(fixture: Fixture) -> None:
    """Two processes with a journal each take turns; one is killed while the other continues."""
    _with_journals(fixture)
    dying = KilledAt(fixture.fs, 1 << 30)
    one, two = fixture.store(dying), fixture.store()
    for _ in range(3):
        fixture.append(one)
        fixture.append(two)
        fixture.append(two)
    dying.die()
    fixture.append(two)
    two.close()


def beside_others(fixture: Fixture) -> None:
    """Two busy processes take turns without rules to ask; one of them is killed while the other goes on."""
    _with_journals(fixture, JOURNALS._replace(size=16 * BLOCK, window=2 * BLOCK))
    fixture.settle_folders()
    dying = KilledAt(fixture.fs, 1 << 30)
    one, two = fixture.store(dying), fixture.store()
    for store in (one, two, one, two):
        fixture.append(store)
    for _ in range(3):
        fixture.append(one, fast_path=True)
        fixture.append(two, fast_path=True)
    dying.die()
    fixture.append(two, fast_path=True)
    two.close()


def alone(fixture: Fixture) -> None:
    """One busy process appends after its own last commit; it is killed, and the next one goes on."""
    _with_journals(fixture)
    fixture.settle_folders()
    dying = KilledAt(fixture.fs, 1 << 30)
    store = fixture.store(dying)
    for _ in range(12):
        fixture.append(store, fast_path=True)
    dying.die()
    store = fixture.store()
    for _ in range(3):
        fixture.append(store, fast_path=True)
    store.close()


def journals_overtaken(fixture: Fixture) -> None:
    """A second process with a journal is acknowledged while the first still waits for its sync."""
    _with_journals(fixture, JOURNALS._replace(size=32 * BLOCK, window=2 * BLOCK))  # neither syncs the segment
    other = fixture.store()
    fixture.append(other)
    store = fixture.store()
    fixture.append(store)
    store.close()
    op = fixture.next_op()
    fixture.attempted[STREAM].append(op)
    quicker = DuringSync(fixture.fs, lambda: fixture.append(other))
    store = fixture.store(quicker)
    fixture.append(store, op=op)
    assert quicker.meanwhile is None, "nobody was quicker"
    fixture.append(store)
    store.close()
    other.close()


def journal_and_git(fixture: Fixture) -> None:
    """HEAD moves while a journal is in use: the next commit goes to another segment."""
    head = fixture.git_head()
    _with_journals(fixture)
    store = fixture.store()
    for number in range(3):
        fixture.append(store)
        fixture.append(store)
        durable.replace(fixture.fs, head, f"{number:040d}\n".encode(), tag="git", durable=False)
    fixture.append(store)
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
