"""Controls: the lister catches every sync that is left out, and every acknowledgement that comes too early."""

from __future__ import annotations

import pytest

from holdfast.testing import scale
from holdfast.testing.laboratory import Bench, Protocol, check_protocol, segment_class, sync_classes
from holdfast.testing.protocols import PROTOCOLS
from holdfast.testing.witness import Violation

NEEDLESS = {
    # The next append's own sync covers the truncation too, and until then nothing behind it is acknowledged.
    "sync .state/events/sessions/kim/SESSION/SEGMENT after truncate",
    # The folder of views that archiving removed may come back empty or with views: no commit is in it.
    "sync_folder .state/sessions/kim",
}
"""Syncs that no acknowledged commit depends on in these protocols, each with its reason."""


TELLING = {"sync_read .state/events/sessions/kim/SESSION/SEGMENT": "reader keeps snapshot"}
"""Of the protocols that make a sync, the one that shows what it is for; it is tried first."""


def _by_class() -> dict[str, list[Protocol]]:
    found: dict[str, list[Protocol]] = {}
    for protocol in PROTOCOLS:
        for name in sync_classes(protocol):
            found.setdefault(name, []).append(protocol)
    return found


CLASSES = _by_class()


def test_every_sort_of_sync_is_known() -> None:
    """The recordings hold data syncs, folder syncs of every level, and the syncs of a repair."""
    for expected in (
        "sync .state/events/sessions/kim/SESSION/SEGMENT after write",
        "sync .state/events/sessions/kim/SESSION/SEGMENT after truncate",
        "sync_read .state/events/sessions/kim/SESSION/SEGMENT",
        "sync .state/local/quarantine/KEPT after write",
        "sync_folder .state/events/sessions/kim/SESSION",
        "sync_folder .state/events/sessions/kim",
        "sync_folder .state/events/sessions",
        "sync_folder .state/events",
        "sync_folder .state",
        "sync_folder .",
        "sync_folder .state/local/quarantine",
    ):
        assert expected in CLASSES, f"{expected} is not among {sorted(CLASSES)}"


def _caught_by(name: str, protocols: list[Protocol]) -> str | None:
    def drop(bench: Bench, call: str, path: str) -> bool:
        return segment_class(bench, call, path) == name

    for protocol in sorted(protocols, key=lambda protocol: protocol.name != TELLING.get(name)):
        try:
            check_protocol(
                protocol, seed=scale.seed(), limit=scale.scaled(4), acknowledged_only=True, drop=drop
            )
        except Violation as violation:
            return f"{protocol.name}: {violation}"
    return None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(set(CLASSES) - NEEDLESS))
def test_a_dropped_sync_is_caught(name: str) -> None:
    """Leaving out one sort of sync loses something, and the lister says so."""
    caught = _caught_by(name, CLASSES[name])
    assert caught is not None, (
        f"dropping {name!r} was not caught: the lister is blind, or the sync is useless"
    )


def test_acknowledging_before_the_sync_is_caught() -> None:
    """A store that says yes before its sync has returned is found out."""

    def early(bench: Bench) -> None:
        store = bench.store()
        bench.append(store)
        recording = bench.recording
        begun = len(recording.steps)
        bench.append(store)
        late = [step for step in recording.steps[begun:] if step.kind == "sync"]
        recording.steps[begun:] = [step for step in recording.steps[begun:] if step.kind != "sync"] + late
        store.close()

    with pytest.raises(Violation, match="acknowledged commit"):
        check_protocol(Protocol("acknowledged too early", early), seed=scale.seed(), limit=6)
