"""Every file call of every write fails in turn, with every error, once and permanently; then the store is reopened."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable

import pytest

from holdfast.errors import HoldfastError
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.crash.faults import ERRORS, SHORT, Failure, Faulty
from holdfast.testing.crash.harness import SECOND, STREAM, Fixture
from holdfast.testing.crash.journal_protocols import JOURNALS, half_lost
from holdfast.testing.crash.protocols import _torn
from holdfast.testing.crash.workload import verify
from holdfast.testing.crash.wrapped import SameDisk

Write = Callable[[Fixture, FilesStore], None]


def _append(fixture: Fixture, store: FilesStore) -> None:
    fixture.append(store)


def _two(fixture: Fixture, store: FilesStore) -> None:
    fixture.append(store)
    fixture.append(store, op=fixture.next_op(events=4))


def _many(fixture: Fixture, store: FilesStore) -> None:
    for _ in range(6):
        fixture.append(store)


def _alone(fixture: Fixture, store: FilesStore) -> None:
    """An uncontended append without a rule."""
    for _ in range(6):
        fixture.append(store, fast_path=True)


def _beside(fixture: Fixture, store: FilesStore) -> None:
    """Another process appends too, and neither reads the other's commits."""
    other = fixture.store()
    for one in (store, other, store):
        fixture.append(one)
    for _ in range(3):
        fixture.append(other, fast_path=True)
        fixture.append(store, fast_path=True)
    other.close()


def _long_text(fixture: Fixture, store: FilesStore) -> None:
    """A commit with long texts, and another one with one of them."""
    fixture.append(store, op=fixture.next_op(long=True))
    fixture.append(store, op=fixture.next_op(long=True))


def _close(fixture: Fixture, store: FilesStore) -> None:
    fixture.append(store)
    fixture.append(store)
    store.close()


def _note(fixture: Fixture, store: FilesStore) -> None:
    store.put("local/snapshots/kim", b"{}" * 50)
    fixture.append(store)


def _view(fixture: Fixture, store: FilesStore) -> None:
    store.put(f"{STREAM}/state.json", b"{}" * 50)
    fixture.append(store)


def _fix(fixture: Fixture, store: FilesStore) -> None:
    store.check(fix=True)
    fixture.append(store)


def _new_head(fixture: Fixture, store: FilesStore) -> None:
    """Git makes a commit, and the next append opens a new segment."""
    fixture.append(store)
    with open(os.path.join(fixture.top, ".git", "HEAD"), "w") as file:
        file.write("e" * 40 + "\n")
    fixture.append(store)


def _forget(fixture: Fixture, store: FilesStore) -> None:
    fixture.forgotten.add(SECOND)
    store.forget(SECOND)
    fixture.append(store)


def _nothing(fixture: Fixture) -> None:
    """An empty folder: the write creates everything."""


def _history(fixture: Fixture) -> None:
    store = fixture.store()
    fixture.append(store)
    fixture.append(store)
    store.close()


def _journals(fixture: Fixture) -> None:
    fixture.journal_policy = JOURNALS


def _busy(fixture: Fixture) -> None:
    fixture.settle_folders()
    fixture.journal_policy = JOURNALS
    fixture.cursors = {}


def _torn_tail(fixture: Fixture) -> None:
    _torn(fixture, "half")


def _in_git(fixture: Fixture) -> None:
    fixture.git_head()
    _history(fixture)


def _two_streams(fixture: Fixture) -> None:
    _history(fixture)
    store = fixture.store()
    fixture.append(store, SECOND)
    store.close()


CASES: dict[str, tuple[Callable[[Fixture], None], Write]] = {
    "first_append": (_nothing, _append),
    "append": (_history, _two),
    "long_text": (_history, _long_text),
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
    """One run; False if the failure point was not reached."""
    prepare, write = CASES[case]
    fixture = Fixture(3)
    try:
        prepare(fixture)
        faulty = Faulty(SameDisk(fixture.recording), failure)
        store = None
        try:
            store = fixture.store(faulty)
            write(fixture, store)
        except HoldfastError:
            pass  # a HoldfastError is enough; a bare OSError fails this test
        if not faulty.dealt:
            return False
        where = f"{case}, {failure}: {faulty.dealt[:3]}"
        faulty.heal()
        if store is None or write is _close:
            store = fixture.store(faulty)
        fixture.append(store)  # the same process recovers as soon as the fault is gone
        store.close()
        after = fixture.store()
        found = verify(after, STREAM, fixture.acknowledged, where)
        certain = [op for op in fixture.attempted[STREAM] if op not in fixture.uncertain]
        assert [op for op in found if op not in fixture.uncertain] == certain, where
        fixture.append(after)
        verify(after, STREAM, fixture.acknowledged, where)
        bad = [fault for fault in after.check() if not fault.harmless]
        assert not bad, f"{where}: needs a human: {bad}"
        after.close()
        return True
    finally:
        fixture.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("error", "sticky", "late"),
    [(error, sticky, False) for error in ERRORS for sticky in (False, True)] + [(errno.EIO, False, True)],
    ids=lambda value: (errno.errorcode[value] if value else "short") if type(value) is int else None,
)
@pytest.mark.parametrize("case", CASES)
def test_call_n_fails(case: str, error: int, sticky: bool, late: bool) -> None:
    """A failed call never loses a commit, and appending works again once the fault is gone."""
    fired = 0
    for call in itertools.count(1):
        if not _run(case, Failure(call, error, sticky, late)):
            break
        fired += 1
    assert fired >= (1 if error == SHORT else 10)
