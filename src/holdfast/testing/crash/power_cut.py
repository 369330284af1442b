"""Real power cuts: ext4 on a loop device, shut down during work, remounted and checked.

The shutdown ioctl of ext4 drops everything that is not on the disk yet, including the journal in memory, like a power
cut.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from holdfast.store.protocol import Store
from holdfast.store.sqlite.engine import SqliteStore
from holdfast.testing.crash import migration
from holdfast.testing.crash.disks import LoopDisk
from holdfast.testing.crash.states import scratch_base
from holdfast.testing.crash.workload import Acknowledged, append, commit_until_killed, heard, report, verify
from holdfast.testing.plans import wall_clock
from holdfast.testing.processes import Pipe, kill, spawn

MODES = ("", "noauto_da_alloc", "data=writeback")
"""ext4 with default options, without auto_da_alloc, and with data=writeback."""
OTHERS = ("xfs", "ext4:data=journal", "xfs:wsync", "ext4:journal_checksum,nodelalloc")
"""Other file systems with a shutdown ioctl, and other options: a file system, and its options after a colon."""

_ROUNDS_PER_PLACE = 25
_TIMEOUT_S = 60
"""Seconds after which a process that acknowledges nothing counts as stuck."""


OpenAt = Callable[[str], Store]


class Cuts(NamedTuple):
    """The counts of a run of power cuts."""

    cuts: int
    acknowledged: int
    survivors: int
    """Commits that are there without an acknowledgement, which is allowed."""


def power_cuts(open_at: OpenAt, mode: str, cuts: int, seed: int, *, writers: int = 2) -> Cuts:
    """Cut the power ``cuts`` times while ``writers`` processes commit; raise at the first violation.

    ``open_at`` opens a store in an empty folder or in one from before the cut.
    """
    rng = random.Random(f"{seed} {mode}")
    total = survivors = 0
    known: list[Acknowledged] = []
    kind, _, options = mode.partition(":")
    if kind in ("xfs", "ext4"):
        mode = options
    else:
        kind = "ext4"
    with LoopDisk(kind) as disk:
        for number in range(cuts):
            if number % _ROUNDS_PER_PLACE == 0:
                known.clear()
                _fresh_place(disk, mode)
            where = f"{kind}, mode {mode or 'default'}, seed {seed}, cut {number + 1}"
            stream = f"sessions/kim/2026-01-15-{number % _ROUNDS_PER_PLACE // 5:08d}"
            with _mounted(disk, mode):
                said = _work_until_cut(disk, open_at, stream, number, rng, writers)
            known += said
            total += len(said)
            with _mounted(disk, mode):
                found, mine = _look(open_at, _place(disk), stream, known, where)
            survivors += found - sum(promise.stream == stream for promise in known)
            known.append(mine)
    return Cuts(cuts, total, survivors)


def migration_cuts(version: int, mode: str, cuts: int, seed: int) -> Cuts:
    """Cut the power ``cuts`` times while a process opens a database of an older release, and so migrates it."""
    migration.use_trial()
    rng = random.Random(f"{seed} {mode} migration")
    total = survivors = 0
    with LoopDisk() as disk, tempfile.TemporaryDirectory(dir=scratch_base()) as old:
        known = migration.old_database(old, version)
        new = os.path.join(old, "new.db")
        SqliteStore(new, clock=wall_clock).close()
        fresh = migration.schema(new)
        with _mounted(disk, mode):
            _put_old(old, _place(disk))
            begun = time.monotonic()
            assert _migrate_until(disk, lambda: None, _TIMEOUT_S, lines=1), "the migration never ended"
            usual = time.monotonic() - begun
        for number in range(cuts):
            with _mounted(disk, mode):
                _put_old(old, _place(disk))
                # However busy the machine is, one cut comes after the migration and one before it.
                if number == 0:
                    said = _migrate_until(disk, disk.cut, _TIMEOUT_S, lines=1)
                else:
                    said = _migrate_until(disk, disk.cut, rng.random() * 1.3 * usual if number > 1 else 0)
            total += len(said)
            where = f"migration, mode {mode or 'default'}, seed {seed}, cut {number + 1}"
            with _mounted(disk, mode):
                further = migration.check_migrated(_place(disk), known + said, fresh, where)
                survivors += further and not said
    return Cuts(cuts, total, survivors)


def _put_old(old: str, place: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    for name in (migration.NAME, f"{migration.NAME}-wal"):
        shutil.copyfile(os.path.join(old, name), os.path.join(place, name))
    os.sync()


def _migrate_until(
    disk: LoopDisk, end: Callable[[], None], seconds: float, lines: int | None = None
) -> list[Acknowledged]:
    """Open the old database in a process of its own, commit, and let ``end`` happen meanwhile."""
    pipe = Pipe()

    def body() -> None:
        with contextlib.suppress(Exception):  # as in _work_until_cut
            store = SqliteStore(os.path.join(_place(disk), migration.NAME), clock=wall_clock)
            report(pipe.writer, append(store, migration.STREAMS[0], "migrated"))
            store.close()

    pid = spawn(body)
    try:
        pipe.listen(seconds, lines=lines)
        said = pipe.so_far()
        end()
    finally:
        kill(pid)
        pipe.finish()
    return heard(said[: said.rfind(b"\n") + 1])


@contextlib.contextmanager
def _mounted(disk: LoopDisk, mode: str) -> Iterator[None]:
    disk.mount(mode)
    try:
        yield
    finally:
        disk.unmount()


def _place(disk: LoopDisk) -> str:
    return os.path.join(disk.top, "place")


def _fresh_place(disk: LoopDisk, mode: str) -> None:
    with _mounted(disk, mode):
        shutil.rmtree(_place(disk), ignore_errors=True)
        os.mkdir(_place(disk))
        os.sync()


def _work_until_cut(
    disk: LoopDisk, open_at: OpenAt, stream: str, number: int, rng: random.Random, writers: int
) -> list[Acknowledged]:
    pipe = Pipe()
    pids: list[int] = []
    try:
        for writer in range(writers):

            def body(prefix: str = f"c{number}.{writer}") -> None:
                # After the cut every call fails; exiting silently is what a machine without power does.
                with contextlib.suppress(Exception):
                    commit_until_killed(open_at(_place(disk)), stream, prefix, pipe.writer)

            pids.append(spawn(body))
        # Some cuts hit the opening and the first files; most hit the appends, and wait until some are acknowledged.
        pipe.listen(_TIMEOUT_S if rng.random() < 0.7 else rng.random() * 0.01, lines=rng.randrange(1, 9))
        pipe.listen(rng.random() * 0.002)
        # Only acknowledgements from before the cut count: a sync in progress while ext4 shuts down can return
        # success although its transaction was dropped.
        said = pipe.so_far()
        disk.cut()
    finally:
        for pid in pids:
            kill(pid)
        pipe.finish()
    return heard(said[: said.rfind(b"\n") + 1])


def _look(
    open_at: OpenAt, place: str, stream: str, known: list[Acknowledged], where: str
) -> tuple[int, Acknowledged]:
    """Open as a successor does, check all streams, and append without any repair."""
    store = open_at(place)
    try:
        for other in sorted({promise.stream for promise in known} | {stream}):
            found = verify(store, other, known, where)
            if other == stream:
                here = len(found)
        mine = append(store, stream, f"successor.{where.rsplit(' ', 1)[1]}")
        verify(store, stream, [*known, mine], where)
        return here, mine
    finally:
        store.close()
