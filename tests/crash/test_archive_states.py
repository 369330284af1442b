"""Archiving under power cuts: every disk state that a file system may leave holds every acknowledged commit."""

from __future__ import annotations

import pytest

from holdfast.testing import scale
from holdfast.testing.laboratory import STREAM, Bench, Protocol, check_protocol, segment_class, sync_classes
from holdfast.testing.witness import Violation


def archive_once(bench: Bench) -> None:
    """A session of two segments is archived."""
    for _ in range(2):
        store = bench.store()
        bench.append(store)
        store.close()
    bench.begin()
    store = bench.store()
    bench.append(store)
    bench.joined = True
    store.archive(STREAM)
    store.close()


def archive_twice(bench: Bench) -> None:
    """Somebody goes on with an archived session, and it is archived again."""
    bench.joined = True
    store = bench.store()
    bench.append(store)
    store.archive(STREAM)
    store.close()
    bench.begin()
    store = bench.store()
    bench.append(store)
    store.archive(STREAM)
    store.close()


PROTOCOLS = [Protocol(function.__name__, function) for function in (archive_once, archive_twice)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_no_cut_during_archiving_loses_a_commit(protocol: Protocol) -> None:
    """Whatever of the joining, the moving and the removing reached the disk, the session is whole."""
    checked, _ = check_protocol(
        protocol, seed=scale.seed(), limit=scale.scaled(6), again=2, most=scale.scaled(800)
    )
    assert checked.states > 50


ESSENTIAL = (
    "sync .state/history/",
    "sync_folder .state/history/",
    "sync_folder .state",
)


def test_the_lister_catches_an_archive_without_its_syncs() -> None:
    """Control: without the syncs of the joined segment and of its folders a cut loses commits."""

    def drop(bench: Bench, call: str, path: str) -> bool:
        return segment_class(bench, call, path).startswith(ESSENTIAL)

    assert any(name.startswith(ESSENTIAL) for name in sync_classes(PROTOCOLS[0]))
    with pytest.raises(Violation):
        check_protocol(PROTOCOLS[0], seed=scale.seed(), limit=scale.scaled(20), drop=drop)
