"""Every file call of every write fails in turn, with every error, once and for good; then the store is opened again."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable

import pytest

from holdfast.errors import HoldfastError
from holdfast.store.files.engine import FilesStore
from holdfast.testing.crash.faults import ERRORS, SHORT, Failure, Faulty
from holdfast.testing.crash.harness import SECOND, STREAM, Bench
from holdfast.testing.crash.journal_protocols import JOURNALS, half_lost
from holdfast.testing.crash.protocols import _torn
from holdfast.testing.crash.workload import verify
from holdfast.testing.crash.wrapped import SameDisk

Write = Callable[[Bench, FilesStore], None]


def _append(bench: Bench, store: FilesStore) -> None:
    bench.append(store)


def _two(bench: Bench, store: FilesStore) -> None:
    bench.append(store)
    bench.append(store, op=bench.next_op(events=4))


def _many(bench: Bench, store: FilesStore) -> None:
    for _ in range(6):
        bench.append(store)


def _alone(bench: Bench, store: FilesStore) -> None:
    """Nobody else appends, and there is no rule to ask."""
    for _ in range(6):
        bench.append(store, hurried=True)


def _beside(bench: Bench, store: FilesStore) -> None:
    """Another process appends too, and nobody reads what the other one wrote."""
    other = bench.store()
    for one in (store, other, store):
        bench.append(one)
    for _ in range(3):
        bench.append(other, hurried=True)
        bench.append(store, hurried=True)
    other.close()


def _close(bench: Bench, store: FilesStore) -> None:
    bench.append(store)
    bench.append(store)
    store.close()


def _note(bench: Bench, store: FilesStore) -> None:
    store.put("local/snapshots/kim", b"{}" * 50)
    bench.append(store)


def _view(bench: Bench, store: FilesStore) -> None:
    store.put(f"{STREAM}/state.json", b"{}" * 50)
    bench.append(store)


def _fix(bench: Bench, store: FilesStore) -> None:
    store.check(fix=True)
    bench.append(store)


def _new_head(bench: Bench, store: FilesStore) -> None:
    """Git makes a commit, and the next append opens a new segment."""
    bench.append(store)
    with open(os.path.join(bench.top, ".git", "HEAD"), "w") as file:
        file.write("e" * 40 + "\n")
    bench.append(store)


def _forget(bench: Bench, store: FilesStore) -> None:
    bench.forgotten.add(SECOND)
    store.forget(SECOND)
    bench.append(store)


def _nothing(bench: Bench) -> None:
    """An empty folder: the write makes everything."""


def _history(bench: Bench) -> None:
    store = bench.store()
    bench.append(store)
    bench.append(store)
    store.close()


def _journals(bench: Bench) -> None:
    bench.journal_policy = JOURNALS


def _busy(bench: Bench) -> None:
    bench.settle_folders()
    bench.journal_policy = JOURNALS
    bench.cursors = {}


def _torn_tail(bench: Bench) -> None:
    _torn(bench, "half")


def _in_git(bench: Bench) -> None:
    bench.git_head()
    _history(bench)


def _two_streams(bench: Bench) -> None:
    _history(bench)
    store = bench.store()
    bench.append(store, SECOND)
    store.close()


CASES: dict[str, tuple[Callable[[Bench], None], Write]] = {
    "first_append": (_nothing, _append),
    "append": (_history, _two),
    "snapshot": (_history, _note),
    "view": (_history, _view),
    "tail_repair": (_torn_tail, _append),
    "doctor_fix": (_torn_tail, _fix),
    "journal": (_journals, _many),
    "journal_closed": (_journals, _close),
    "alone": (_busy, _alone),
    "beside_others": (_busy, _beside),
    "dead_journal": (half_lost, _append),
    "new_git_head": (_in_git, _new_head),
    "forget": (_two_streams, _forget),
}


def _run(case: str, failure: Failure) -> bool:
    """One run; False if the failure came too late to happen."""
    prepare, write = CASES[case]
    bench = Bench(3)
    try:
        prepare(bench)
        faulty = Faulty(SameDisk(bench.recording), failure)
        store = None
        try:
            store = bench.store(faulty)
            write(bench, store)
        except HoldfastError:
            pass  # an error that says so is all that is asked for; a bare OSError fails this test
        if not faulty.dealt:
            return False
        where = f"{case}, {failure}: {faulty.dealt[:3]}"
        faulty.heal()
        if store is None or write is _close:
            store = bench.store(faulty)
        bench.append(store)  # the same process works on as soon as the fault is gone
        store.close()
        after = bench.store()
        found = verify(after, STREAM, bench.acknowledged, where)
        certain = [op for op in bench.attempted[STREAM] if op not in bench.uncertain]
        assert [op for op in found if op not in bench.uncertain] == certain, where
        bench.append(after)
        verify(after, STREAM, bench.acknowledged, where)
        bad = [fault for fault in after.check() if not fault.harmless]
        assert not bad, f"{where}: needs a human: {bad}"
        after.close()
        return True
    finally:
        bench.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("error", "sticky", "late"),
    [(error, sticky, False) for error in ERRORS for sticky in (False, True)] + [(errno.EIO, False, True)],
    ids=lambda value: (errno.errorcode[value] if value else "short") if type(value) is int else None,
)
@pytest.mark.parametrize("case", CASES)
def test_call_n_fails(case: str, error: int, sticky: bool, late: bool) -> None:
    """A failed call is never a lost commit, and work goes on as soon as the fault has gone."""
    fired = 0
    for call in itertools.count(1):
        if not _run(case, Failure(call, error, sticky, late)):
            break
        fired += 1
    assert fired >= (1 if error == SHORT else 10)
