"""Every disk state that a power cut may leave is opened by the real engine and checked against G1, G2, G3 and G7."""

from __future__ import annotations

import errno
import glob
import itertools
import os
from collections.abc import Callable

import pytest

from holdfast.errors import HoldfastError
from holdfast.testing import scale
from holdfast.testing.crash.faults import Failure, Faulty
from holdfast.testing.crash.harness import Fixture, Protocol, check_protocol
from holdfast.testing.crash.journal_protocols import half_lost
from holdfast.testing.crash.protocols import PROTOCOLS, failed_sync, killed_then_cut
from holdfast.testing.crash.wrapped import SameDisk

# At least so many states per protocol, so that the total cannot shrink unnoticed.
STATES = {
    "first append": 1700,
    "append more": 1400,
    "large commits": 2000,
    "long texts": 600,
    "long texts first": 600,
    "long text of git": 300,
    "several streams": 700,
    "several openings": 2400,
    "snapshot note": 2000,
    "view note": 1800,
    "tail repair": 1500,
    "tail repair zeros": 800,
    "tail repair garbage line": 800,
    "doctor fix": 900,
    "new git head": 300,
    "forget other": 750,
    "overtaken": 600,
    "overtaken later": 400,
    "reader keeps snapshot": 200,
    "journal": 600,
    "journal of a dead process": 600,
    "journals of two": 600,
    "alone": 600,
    "beside others": 600,
    "journals overtaken": 500,
    "journal and git": 250,
}
# Combinations listed at each crash point, before a sample is taken; the short protocol is listed completely.
LIMITS = {"forget other": 5000}

# Those with git write down the time stamps of its HEAD, and these are the kernel's.
SEEDED = [protocol for protocol in PROTOCOLS if not protocol.name.endswith(("git head", "and git"))]


def test_enough_states_are_promised() -> None:
    """The protocols together give the number of states that the project promises."""
    assert set(STATES) == {protocol.name for protocol in PROTOCOLS}
    assert sum(STATES.values()) >= scale.STATES


@pytest.mark.parametrize("protocol", SEEDED, ids=lambda protocol: protocol.name.replace(" ", "_"))
def test_a_seed_lists_the_same_states_in_every_run(protocol: Protocol) -> None:
    """Two recordings of a protocol give the same list of states, so that a failure can be reproduced."""

    def listed() -> list[str]:
        fixture = Fixture(scale.seed())
        try:
            protocol.run(fixture)
            return [state.made_by for state in fixture.states(seed=scale.seed(), limit=10)]
        finally:
            fixture.close()

    assert listed() == listed()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name.replace(" ", "_"))
def test_every_state_after_a_cut(protocol: Protocol) -> None:
    """After a cut at any point, and after a second cut during the recovery, nothing acknowledged is lost."""
    limit = LIMITS.get(protocol.name, scale.scaled(6))
    most = None if protocol.name in LIMITS else scale.scaled(STATES[protocol.name])
    checked, _ = check_protocol(protocol, seed=scale.seed(), limit=limit, again=2, most=most)
    print(protocol.name, checked)
    assert checked.states >= STATES[protocol.name]
    assert checked.again >= 20
    # Garbage that stays behind and is reported comes from cuts that took the writer's memory too: a minority.
    assert checked.left < checked.states / 2


def _until_the_last_call(make: Callable[..., Protocol], **options: bool) -> int:
    states = 0
    for call in itertools.count(1):
        try:
            checked, _ = check_protocol(
                make(call, **options),
                seed=scale.seed(),
                limit=scale.scaled(2),
                acknowledged_only=True,
                most=scale.scaled(12),
            )
        except LookupError:
            return states
        states += checked.states
    raise AssertionError("unreachable")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("retry", [True, False], ids=["retried", "succeeded"])
@pytest.mark.parametrize("journals", [False, True], ids=["segments", "journals"])
@pytest.mark.parametrize(
    ("fresh", "awake"),
    [(True, False), (False, False), (False, True)],
    ids=["first_append", "append", "awake"],
)
def test_killed_at_every_call_then_cut(fresh: bool, retry: bool, awake: bool, journals: bool) -> None:
    """What a killed process's successor acknowledges survives a cut, even if it found a commit half done."""
    states = _until_the_last_call(killed_then_cut, fresh=fresh, retry=retry, awake=awake, journals=journals)
    assert states >= 30


@pytest.mark.timeout(600)
@pytest.mark.parametrize("retry", [True, False], ids=["retried", "succeeded"])
@pytest.mark.parametrize("fresh", [True, False], ids=["first_append", "append"])
def test_a_long_text_killed_at_every_call_then_cut(fresh: bool, retry: bool) -> None:
    """The same for a commit whose long texts are files: an acknowledged one is read in full."""
    assert _until_the_last_call(killed_then_cut, fresh=fresh, retry=retry, long=True) >= 60


@pytest.mark.timeout(600)
@pytest.mark.parametrize("same_store", [True, False], ids=["same_process", "next_process"])
@pytest.mark.parametrize("fresh", [True, False], ids=["first_append", "append"])
def test_a_failed_sync_of_a_long_text_is_never_success(fresh: bool, same_store: bool) -> None:
    """A text whose sync failed is rewritten before a commit that names it is acknowledged."""
    assert _until_the_last_call(failed_sync, fresh=fresh, same_store=same_store, long=True) >= 5


@pytest.mark.timeout(600)
@pytest.mark.parametrize("same_store", [True, False], ids=["same_process", "next_process"])
@pytest.mark.parametrize("journals", [False, True], ids=["segments", "journals"])
@pytest.mark.parametrize("fresh", [True, False], ids=["first_append", "append"])
def test_failed_sync_is_never_success(fresh: bool, same_store: bool, journals: bool) -> None:
    """A sync that failed is reported; what is acknowledged after a retry is on the disk, not only in memory."""
    assert _until_the_last_call(failed_sync, fresh=fresh, same_store=same_store, journals=journals) >= 5


def failed_take_over(call: int, *, noted: bool) -> Protocol:
    """The power failed while a process had everything in its journal; a sync fails while the next one replays it.
    ``noted``: the lock-file header has survived."""

    def run(fixture: Fixture) -> None:
        half_lost(fixture)
        if not noted:
            for lock in glob.glob(os.path.join(fixture.root, "local", "locks", "*")):
                os.truncate(lock, 0)
        faulty = Faulty(fixture.recording)
        faulty.only = frozenset(["sync", "sync_folder"])
        store = fixture.store(SameDisk(faulty))
        op = fixture.next_op()
        faulty.failure = Failure(faulty.calls + call, errno.EIO)
        try:
            fixture.append(store, op=op)
        except HoldfastError:
            pass
        if not faulty.dealt:
            raise LookupError(call)
        fixture.append(store, op=op)
        fixture.uncertain.discard(op)
        fixture.first_step = len(fixture.recording.steps)
        fixture.append(store)
        store.close()

    return Protocol(f"take-over with sync {call} failing{', noted' * noted}", run)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("noted", [False, True], ids=["forgotten", "noted"])
def test_a_failed_sync_during_replay_is_never_success(noted: bool) -> None:
    """No journal is removed before its lines are durable elsewhere, even if the kernel has dropped the error."""
    assert _until_the_last_call(failed_take_over, noted=noted) >= 5


def test_a_torn_tail_is_quarantined() -> None:
    """After a partial line, the next append saves those bytes in quarantine and continues."""
    fixture = Fixture(1)
    try:
        PROTOCOLS[[protocol.name for protocol in PROTOCOLS].index("tail repair")].run(fixture)
        kept = [
            step for step in fixture.recording.steps if step.kind == "write" and "quarantine" in step.path
        ]
        cut = [step for step in fixture.recording.steps if step.kind == "truncate"]
        assert any(step.path.endswith(".bin") or ".bin." in step.path for step in kept)
        assert len(cut) == 1
        assert cut[0].path.endswith(".jsonl")
        order = [step.kind for step in fixture.recording.steps]
        assert order.index("sync_folder") < order.index("truncate"), "the tail was cut before it was safe"
    finally:
        fixture.close()
