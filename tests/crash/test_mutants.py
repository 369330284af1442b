"""Controls: the lister catches every omitted sync, and every premature acknowledgement."""

from __future__ import annotations

import os

import pytest

from holdfast.store.files import replay
from holdfast.store.files.journal import Entry, journals_of
from holdfast.store.files.place import Place
from holdfast.store.files.stream import Stream
from holdfast.testing import scale
from holdfast.testing.crash.harness import (
    STREAM,
    Fixture,
    Protocol,
    check_protocol,
    segment_class,
    sync_classes,
)
from holdfast.testing.crash.journal_protocols import JOURNALS
from holdfast.testing.crash.protocols import PROTOCOLS
from holdfast.testing.crash.workload import Violation
from holdfast.testing.crash.wrapped import KilledAt

PLAIN = "sync .state/events/sessions/kim/SESSION/SEGMENT after write"
JOURNAL = "sync .state/local/journals/JOURNAL after write"

NEEDLESS = {
    # The next append's own sync covers the truncation too, and until then nothing after it is acknowledged.
    "sync .state/events/sessions/kim/SESSION/SEGMENT after truncate",
    # The folder of views that archiving removed may reappear, empty or with views: it holds no commit.
    "sync_folder .state/sessions/kim",
    # Without its key no cache is believed, and all are made again. The sync is for secrecy: zeros are no key.
    "sync .state/local/SEAL-KEY after write",
}
"""Syncs that no acknowledged commit depends on in these protocols, each with its reason."""


TELLING = {
    "sync_read .state/events/sessions/kim/SESSION/SEGMENT": "reader keeps snapshot",
    JOURNAL: "journal",
    "sync_folder .state/local/journals": "journal",
}
"""For a sync in several protocols, the one that shows its purpose; it is tried first."""


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
        "sync .state/local/journals/JOURNAL after write",
        "sync_folder .state/local/journals",
        "sync_folder .state/local",
    ):
        assert expected in CLASSES, f"{expected} is not among {sorted(CLASSES)}"


def _caught_by(name: str, protocols: list[Protocol]) -> str | None:
    def drop(fixture: Fixture, call: str, path: str) -> bool:
        return segment_class(fixture, call, path) == name

    for protocol in sorted(protocols, key=lambda protocol: protocol.name != TELLING.get(name)):
        try:
            # In random order: what a missing sync loses shows in most later states, and soon.
            check_protocol(
                protocol,
                seed=scale.seed(),
                limit=scale.scaled(4),
                acknowledged_only=True,
                most=scale.scaled(600),
                drop=drop,
            )
        except Violation as violation:
            return f"{protocol.name}: {violation}"
    return None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(set(CLASSES) - NEEDLESS))
def test_a_dropped_sync_is_caught(name: str) -> None:
    """Omitting one kind of sync loses something, and the lister detects it."""
    caught = _caught_by(name, CLASSES[name])
    assert caught is not None, (
        f"dropping {name!r} was not caught: the lister is blind, or the sync is useless"
    )


@pytest.mark.parametrize("name", ["journal", "alone", "beside others"])
def test_a_journal_that_is_not_synced_is_caught_on_every_path(name: str) -> None:
    """An append makes a commit durable before it acknowledges it, even under contention."""
    assert _caught_by(JOURNAL, [protocol for protocol in PROTOCOLS if protocol.name == name])


@pytest.mark.parametrize(
    "name", ["journal", "alone", "journal of a dead process", "journals of two", "journal and git"]
)
def test_a_journal_that_begins_again_too_early_is_caught(name: str) -> None:
    """With journals, the segment must be synced before a journal is reused or removed."""
    assert _caught_by(PLAIN, [protocol for protocol in PROTOCOLS if protocol.name == name])


def test_a_journal_with_only_its_own_line_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit must not be acknowledged before one that it follows and whose sync is pending."""
    honest = Stream._make_durable

    def careless(self: Stream, size: int, safe: int, line: bytes) -> None:
        honest(self, size, size - len(line), line)

    monkeypatch.setattr(Stream, "_make_durable", careless)
    (protocol,) = (protocol for protocol in PROTOCOLS if protocol.name == "journals overtaken")
    # The commit is restored without the one before it: in a segment of its own, so rechained.
    with pytest.raises(Violation, match=r"no prefix|is changed"):
        check_protocol(protocol, seed=scale.seed(), limit=6, acknowledged_only=True)


def test_a_journal_removed_before_its_segment_is_synced_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead process's journal is kept until everything in it is durable elsewhere."""
    honest = replay._replay_segment

    def hasty(place: Place, handle: Stream, name: str, entries: list[Entry]) -> None:
        for path in journals_of(place, handle.stream.replace("/", "+")):
            place.fs.unlink(path)
            place.fs.sync_folder(os.path.dirname(path))
            place.fs.close(place.fs.open(path, os.O_RDWR | os.O_CREAT))  # so that it can be removed again
        honest(place, handle, name, entries)

    def taken_over(fixture: Fixture) -> None:
        fixture.journal_policy = JOURNALS
        dying = KilledAt(fixture.fs, 1 << 30)
        fixture.append(fixture.store(dying))
        dying.die()
        fixture.store().read(STREAM, None)

    monkeypatch.setattr(replay, "_replay_segment", hasty)
    with pytest.raises(Violation):
        check_protocol(
            Protocol("taken over", taken_over), seed=scale.seed(), limit=6, most=scale.scaled(2000)
        )


def test_acknowledging_before_the_sync_is_caught() -> None:
    """A store that acknowledges before its sync has returned is detected."""

    def early(fixture: Fixture) -> None:
        store = fixture.store()
        fixture.append(store)
        recording = fixture.recording
        begun = len(recording.steps)
        fixture.append(store)
        late = [step for step in recording.steps[begun:] if step.kind == "sync"]
        recording.steps[begun:] = [step for step in recording.steps[begun:] if step.kind != "sync"] + late
        store.close()

    with pytest.raises(Violation, match="acknowledged commit"):
        check_protocol(Protocol("acknowledged too early", early), seed=scale.seed(), limit=6)
