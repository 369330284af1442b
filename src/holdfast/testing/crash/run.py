"""Torture runs in a separate single-threaded process, which can fork: ``python -m holdfast.testing.crash.run``.

Usage: ``run kills|fresh-kills|cuts|block-cuts|migration-cuts|histories ENGINE WHERE COUNT SEED [DETAIL]``. Prints one
JSON object; a violation is a traceback and exit status 1. ENGINE is ``files``, ``journals`` (files with a journal from
the second commit on), ``sqlite``, ``careless`` (files that are never synced), ``careless-journals`` (journals that are
not), the URL of a PostgreSQL server, for migrations the older schema version; WHERE is an empty folder. DETAIL is the
mount mode of power cuts (or a file system, with its options after a colon), or the name of a broken store for
histories.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import BLOCK, FOLDER, JournalPolicy
from holdfast.store.protocol import Store
from holdfast.store.sqlite.engine import SqliteStore
from holdfast.store.url import open_store
from holdfast.testing import scale
from holdfast.testing.conformance import broken
from holdfast.testing.crash import block_cuts, kills, power_cut
from holdfast.testing.crash.workload import commit_until_killed
from holdfast.testing.crash.wrapped import WithoutSync
from holdfast.testing.history import checker, clients
from holdfast.testing.plans import wall_clock
from holdfast.testing.servers import place_url

BROKEN: dict[str, Callable[[Store, int], Store]] = {
    "no-version-check": broken.NoVersionCheck,
    "stale-read": broken.StaleRead,
    "lost-write": broken.LostWrite,
}


JOURNALS = JournalPolicy(after=2, size=32 * BLOCK, window=BLOCK)
"""A journal from the second commit on, full after about thirty commits."""
CARELESS: dict[str, Callable[[str, str], bool]] = {
    "careless": lambda call, path: True,
    "careless-journals": lambda call, path: f"/{FOLDER}/" in path,
}
"""Which syncs are skipped."""


def opener(engine: str) -> Callable[[str], Store]:
    """A function that opens a store of this engine in a folder."""
    if engine == "files":
        return lambda folder: FilesStore(os.path.join(folder, ".state"), clock=wall_clock)
    if engine == "journals":
        return lambda folder: FilesStore(
            os.path.join(folder, ".state"), clock=wall_clock, journal_policy=JOURNALS
        )
    if engine in CARELESS:
        fs = WithoutSync(posix, CARELESS[engine])
        return lambda folder: FilesStore(
            os.path.join(folder, ".state"), clock=wall_clock, fs=fs, journal_policy=JOURNALS
        )
    if "://" in engine:
        return lambda folder: open_store(place_url(engine, folder), clock=wall_clock)
    return lambda folder: SqliteStore(os.path.join(folder, "state.db"), clock=wall_clock, room_after=3)


def histories(
    open_at: Callable[[str], Store], where: str, count: int, seed: int, name: str
) -> dict[str, Any]:
    """Run clients and check their history, ``count`` times; every run in its own folder."""
    legal = operations = killed = stopped = 0
    for number in range(count):
        folder = os.path.join(where, str(number))
        os.mkdir(folder)

        def make(folder: str = folder, number: int = number) -> Store:
            store = open_at(folder)
            return BROKEN[name](store, seed + number + os.getpid()) if name else store

        run = clients.run_clients(
            make,
            kills.stream_of(number),
            seed + number,
            clients=scale.HISTORY_CLIENTS,
            operations=scale.HISTORY_OPERATIONS,
        )
        verdict = checker.check(run.history)
        legal += verdict.legal
        operations += len(run.history)
        assert len(run.history) >= scale.HISTORY_OPERATIONS, f"only {len(run.history)} operations"
        killed += run.kills
        stopped += run.stops
        assert verdict.legal or name, f"seed {seed + number}: illegal history, stuck at {verdict.stuck_at}"
    return {"histories": count, "legal": legal, "operations": operations, "kills": killed, "stops": stopped}


def torture(what: str, engine: str, where: str, count: int, seed: int, detail: str = "") -> dict[str, Any]:
    """Do one run in a separate process; a violation is an ``AssertionError`` that says how to replay it."""
    command = [
        sys.executable,
        "-m",
        "holdfast.testing.crash.run",
        what,
        engine,
        where,
        str(count),
        str(seed),
        detail,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"replay: python {' '.join(command[1:])}\n{done.stderr[-3000:]}")
    print(what, engine, detail, done.stdout.strip())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that disks are unmounted
    what, engine, where, count, seed, *detail = arguments
    open_at = opener(engine)
    extra = detail[0] if detail else ""
    found: dict[str, Any]
    if what == "kills":
        found = kills.forked(lambda: open_at(where), int(count), int(seed))._asdict()
    elif what == "fresh-kills":
        found = kills.fresh_interpreters(
            engine, where, lambda: open_at(where), int(count), int(seed)
        )._asdict()
    elif what == "child":
        commit_until_killed(open_at(where), count, seed, sys.stdout.fileno())
    elif what == "cuts":
        found = power_cut.power_cuts(open_at, extra, int(count), int(seed))._asdict()
    elif what == "block-cuts":
        found = block_cuts.block_cuts(open_at, extra or "ext4", int(count), int(seed))._asdict()
    elif what == "migration-cuts":
        found = power_cut.migration_cuts(int(engine), extra, int(count), int(seed))._asdict()
    else:
        found = histories(open_at, where, int(count), int(seed), extra)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
