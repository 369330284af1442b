"""Pruning, restoring and healing under power cuts: every disk state that may be left loses no acknowledged commit."""

from __future__ import annotations

import os
import subprocess

import pytest

from holdfast.fs.port import FileSystem
from holdfast.recovery.files_store import FilesStore
from holdfast.store.protocol import Store
from holdfast.testing import scale
from holdfast.testing.crash.harness import SECOND, STREAM, Fixture, Protocol, check_protocol
from holdfast.testing.crash.workload import Violation
from holdfast.testing.plans import wall_clock


def prune_archived(fixture: Fixture) -> None:
    """An archived session is removed while another one goes on."""
    fixture.joined = True
    store = fixture.store()
    for stream in (STREAM, SECOND, STREAM, SECOND):
        fixture.append(store, stream)
    store.archive(SECOND)
    version = store.read(SECOND).version
    store.close()
    fixture.begin()
    fixture.forgotten.add(SECOND)
    store = fixture.store()
    store.forget(SECOND, expect=version)
    fixture.append(store)
    store.close()


def restore_and_continue(fixture: Fixture) -> None:
    """A session in git is archived, continued, and archived again."""
    fixture.git_head()
    fixture.joined = True
    store = fixture.store()
    fixture.append(store)
    fixture.append(store)
    store.archive(STREAM)
    store.close()
    fixture.begin()
    store = fixture.store()
    fixture.append(store)
    fixture.append(store)
    store.archive(STREAM)
    fixture.append(store)
    store.close()


def _repository(fixture: Fixture) -> None:
    """A real repository around the workspace: healing asks git."""
    subprocess.run(["git", "init", "-q", "--template=", fixture.top], check=True)
    fixture.begin()


def heal_removed(fixture: Fixture) -> None:
    """Git has removed a segment before any git commit had it; heal brings its commits back."""
    _repository(fixture)
    store = fixture.store()
    for _ in range(3):
        fixture.append(store)
    store.close()
    for path in fixture.segments():
        os.unlink(path)
    fixture.begin()
    store = fixture.store()
    store.salvage()
    fixture.append(store)
    store.close()


def heal_removed_under_work(fixture: Fixture) -> None:
    """The same while the session has gone on in a new segment."""
    _repository(fixture)
    store = fixture.store()
    fixture.append(store)
    store.close()
    for path in fixture.segments():
        os.unlink(path)
    store = fixture.store()
    fixture.append(store)
    store.close()
    fixture.begin()
    store = fixture.store()
    store.salvage()
    store.check(fix=True)
    fixture.append(store)
    store.close()


def healed(root: str, fs: FileSystem) -> Store:
    """A store as ``heal`` leaves it."""
    store = FilesStore(root, clock=wall_clock, fs=fs)
    store.salvage()
    return store


PROTOCOLS = [Protocol(function.__name__, function) for function in (prune_archived, restore_and_continue)]
HEALING = [Protocol(function.__name__, function) for function in (heal_removed, heal_removed_under_work)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_no_cut_during_upkeep_loses_a_commit(protocol: Protocol) -> None:
    """Whichever parts of it reached the disk, what was acknowledged and not pruned is there."""
    checked, _ = check_protocol(
        protocol, seed=scale.seed(), limit=scale.scaled(5), most=scale.scaled(120), again=scale.scaled(3)
    )
    assert checked.states > 50
    assert checked.again > 0


@pytest.mark.parametrize("seed", [8, 10])
def test_a_second_cut_needs_no_person(seed: int) -> None:
    """A first cut leaves a last line whose chain is stale, a second one comes during the recovery from it."""
    checked, _ = check_protocol(PROTOCOLS[0], seed=seed, limit=5, most=120, again=120)
    assert checked.again > 1000


@pytest.mark.parametrize("protocol", HEALING, ids=lambda protocol: protocol.name)
def test_no_cut_during_healing_loses_a_commit(protocol: Protocol) -> None:
    """Whatever a cut heal has left, the next one completes it."""
    checked, _ = check_protocol(
        protocol, seed=scale.seed(), limit=scale.scaled(5), most=scale.scaled(40), opened=healed
    )
    assert checked.states > 20


@pytest.mark.parametrize("protocol", HEALING, ids=lambda protocol: protocol.name)
def test_without_healing_commits_are_missing(protocol: Protocol) -> None:
    """Control: the removed commits are really gone until somebody heals."""
    with pytest.raises(Violation, match="is missing"):
        check_protocol(protocol, seed=scale.seed(), limit=5, most=100)
