"""Power cuts on a recorded disk: a store works on it, and every disk that a cut may leave is mounted and checked."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from holdfast.recovery.files_store import FilesStore
from holdfast.store.protocol import Store
from holdfast.testing.crash import block_device, disks
from holdfast.testing.crash.power_cut import Cuts
from holdfast.testing.crash.workload import Acknowledged, append, verify

_STREAMS = [f"sessions/kim/2026-01-15-0000000{number}" for number in range(3)]
_COMMITS = 60
_PER_DISK = 25
"""Cuts of one recording."""

OpenAt = Callable[[str], Store]


def block_cuts(open_at: OpenAt, detail: str, cuts: int, seed: int) -> Cuts:
    """Check ``cuts`` disks; raise at the first violation. ``detail`` is a file system, and its mount options after a
    colon."""
    kind, _, options = detail.partition(":")
    acknowledged = survivors = 0
    for number in range(-(-cuts // _PER_DISK)):
        with block_device.RecordedDisk(kind, options) as disk:
            place = os.path.join(disk.top, "place")
            os.mkdir(place)
            os.sync()
            first = disk.position()
            known = _work(open_at(place), disk, random.Random(f"{seed} {number} {detail}"))
            log = disk.recorded()
            for cut, image in log.images(min(_PER_DISK, cuts), seed + number, first):
                with image:
                    image.mount(options)
                    where = f"{detail}, seed {seed}, disk {number + 1}, cut after {cut.position}, {cut.what}"
                    promised = [promise for promise, position in known if position <= cut.position]
                    survivors += _check(open_at, image, promised, where) - len(promised)
                    acknowledged += len(promised)
    return Cuts(-(-cuts // _PER_DISK) * min(_PER_DISK, cuts), acknowledged, survivors)


def _work(
    store: Store, disk: block_device.RecordedDisk, rng: random.Random
) -> list[tuple[Acknowledged, int]]:
    """Commits to several sessions, of which some are archived and continued meanwhile; each with the number of writes
    and flushes after which it was acknowledged."""
    known = []
    for number in range(_COMMITS):
        stream = rng.choice(_STREAMS)
        known.append((append(store, stream, f"c{number}"), disk.position()))
        if isinstance(store, FilesStore) and rng.random() < 0.1:
            store.archive(stream)
    store.close()
    return known


def _check(open_at: OpenAt, disk: disks.LoopDisk, promised: list[Acknowledged], where: str) -> int:
    """Open as a successor does, check all streams, and append without any repair."""
    store = open_at(os.path.join(disk.top, "place"))
    try:
        found = 0
        for stream in _STREAMS:
            found += len(verify(store, stream, promised, where, joined=True))
            mine = append(store, stream, "successor")
            verify(store, stream, [*promised, mine], where, joined=True)
        return found
    finally:
        store.close()
