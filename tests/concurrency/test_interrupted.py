"""Ctrl-C during an append: the handle stays consistent, and nobody else is blocked."""

from __future__ import annotations

import gc
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.fold import blank, fold
from holdfast.testing import scale
from holdfast.workspace import scaffold
from holdfast.workspace.session import Session

pytestmark = pytest.mark.timeout(300, method="thread")  # its default method uses the same alarm
ROUNDS = 400
LATEST = 0.0012
"""The longest time from the start of an append to the interrupt: most appends take less."""


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Alarms raised like Ctrl-C, but not inside leftovers of other tests: an interrupt during garbage collection is
    lost."""
    gc.collect()
    gc.disable()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


def interrupted(session: Session, after: float, number: int) -> int | None:
    """Record, and be interrupted; the version if it was recorded before that."""
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        version = session.record("x.step", {"number": number}).version
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return None
    return version


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside"])
@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_a_handle_stays_consistent_after_an_interrupt(
    tmp_path: Path, interrupts: None, engine: str, beside: bool
) -> None:
    """Whenever an append is interrupted, the next one knows how many commits there are, and so do all others."""
    draw = random.Random(scale.seed())
    scaffold.create(str(tmp_path / ".state"))
    where = str(tmp_path) if engine == "files" else f"sqlite:///{tmp_path / 'memory.db'}"
    with holdfast.open(where, user="ada") as workspace, holdfast.open(where, user="ada") as others:
        session = workspace.start("interrupted")
        twin = others.session(session.id)
        cut, acknowledged = 0, set()
        for number in range(ROUNDS):
            version = interrupted(session, draw.random() * LATEST + 1e-6, number)
            if version is None:
                cut += 1
            else:
                acknowledged.add(number)
                assert version == sum(1 for _ in twin.stored_commits())
            if beside and number % 3 == 0:
                twin.record("x.other", {})
        assert cut > ROUNDS // 20
        assert twin.record("x.last", {}).version == session.version == sum(1 for _ in session.log())
        stored = {event.data.get("number") for commit in session.log() for event in commit.events}
        assert acknowledged <= stored
        assert session.state == fold(blank("session"), twin.stored_commits())
        assert workspace.store.check() == []


def test_an_interrupted_read_starts_over(tmp_path: Path, interrupts: None) -> None:
    """Ctrl-C while commits are folded: no commit is in the state twice afterwards, and none is missing."""
    draw = random.Random(scale.seed())
    scaffold.create(str(tmp_path / ".state"))
    with holdfast.open(tmp_path, user="ada") as workspace, holdfast.open(tmp_path, user="ada") as others:
        session = workspace.start("interrupted")
        twin = others.session(session.id)
        cut = 0
        for number in range(60):
            for _ in range(draw.randrange(1, 60)):
                twin.note(f"note {number}")
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.random() * LATEST + 1e-6)
                _ = session.state
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                cut += 1
            if number % 5 == 0:
                assert session.state == fold(blank("session"), twin.stored_commits())
        assert cut > 5
