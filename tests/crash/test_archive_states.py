"""Archiving under power cuts: every disk state that a file system may leave holds every acknowledged commit."""

from __future__ import annotations

import re

import pytest

from holdfast.testing import scale
from holdfast.testing.crash.harness import (
    STREAM,
    Fixture,
    Protocol,
    check_protocol,
    segment_class,
    sync_classes,
)
from holdfast.testing.crash.workload import Violation


def archive_once(fixture: Fixture) -> None:
    """A session of two segments is archived."""
    for _ in range(2):
        store = fixture.store()
        fixture.append(store)
        store.close()
    fixture.begin()
    store = fixture.store()
    fixture.append(store)
    fixture.joined = True
    store.archive(STREAM)
    store.close()


def archive_twice(fixture: Fixture) -> None:
    """An archived session is continued, and archived again."""
    fixture.joined = True
    store = fixture.store()
    fixture.append(store)
    store.archive(STREAM)
    store.close()
    fixture.begin()
    store = fixture.store()
    fixture.append(store)
    store.archive(STREAM)
    store.close()


PROTOCOLS = [Protocol(function.__name__, function) for function in (archive_once, archive_twice)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_no_cut_during_archiving_loses_a_commit(protocol: Protocol) -> None:
    """Whichever parts of joining, moving and removing reached the disk, the session is complete."""
    checked, _ = check_protocol(
        protocol, seed=scale.seed(), limit=scale.scaled(6), again=2, most=scale.scaled(800)
    )
    assert checked.states > 50


NEEDLESS = {
    # The workspace's own name is older than the archive.
    "sync_folder .",
    # Folders that only lose what was joined: it may come back, and then counts once.
    "sync_folder .state/events/sessions",
    "sync_folder .state/sessions/kim",
    # Somebody's own growing segment is synced by its own append; this is for snapshots, see test_mutants.
    "sync_read .state/events/sessions/kim/SESSION/SEGMENT",
}
"""Syncs that no acknowledged commit depends on while a session is archived, each with its reason."""

TELLING = {
    "sync .state/history/2026-01/SESSION/.stream.tmp after write": "archive_twice",
    "sync_folder .state/events/sessions/kim/SESSION": "archive_twice",
    "sync_folder .state/events/sessions/kim": "archive_twice",
}
"""Of the two protocols, the one that shows a sync's purpose; it is tried first."""


def sync_class(fixture: Fixture, call: str, path: str) -> str:
    """Like ``segment_class``; temp files have other names in every run."""
    return re.sub(r"\.tmp-\S+", ".tmp", segment_class(fixture, call, path))


def _classes() -> dict[str, list[Protocol]]:
    found: dict[str, list[Protocol]] = {}
    for protocol in PROTOCOLS:
        for name in sync_classes(protocol):
            found.setdefault(re.sub(r"\.tmp-\S+", ".tmp", name), []).append(protocol)
    return {name: list(dict.fromkeys(protocols)) for name, protocols in found.items()}


CLASSES = _classes()


def test_the_joined_segment_and_its_folders_are_synced() -> None:
    """The syncs that protect a joined segment are among those omitted below."""
    joined = ".state/events/history/2026-01/SESSION"
    assert {f"sync {joined}/.SEGMENT.tmp after write", f"sync_folder {joined}"} <= set(CLASSES) - NEEDLESS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(set(CLASSES) - NEEDLESS))
def test_a_dropped_sync_of_archiving_is_caught(name: str) -> None:
    """Control: omitting one kind of sync loses something, and the lister detects it."""
    dropped = 0

    def drop(fixture: Fixture, call: str, path: str) -> bool:
        nonlocal dropped
        chosen = sync_class(fixture, call, path) == name
        dropped += chosen
        return chosen

    for protocol in sorted(
        CLASSES[name], key=lambda protocol: protocol.name != TELLING.get(name, "archive_once")
    ):
        try:
            check_protocol(
                protocol, seed=scale.seed(), limit=scale.scaled(8), most=scale.scaled(3000), drop=drop
            )
        except Violation:
            return
    pytest.fail(f"{dropped} syncs of the sort {name!r} were left out, and nothing was found missing")
