"""A SQLite migration that is killed, fails or loses power at any call: nothing is lost or half done."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from holdfast.store.sqlite.engine import SqliteStore, database
from holdfast.testing import scale
from holdfast.testing.crash import migration, traced
from holdfast.testing.crash.recording import Step
from holdfast.testing.crash.states import crash_states, remove_tree, scratch_base, write_out
from holdfast.testing.crash.workload import Acknowledged, Violation, heard
from holdfast.testing.plans import wall_clock

pytestmark = [pytest.mark.strace, pytest.mark.timeout(600)]
OLDER = [1]
STATES = 1000


@pytest.fixture(autouse=True)
def _trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release has the trial migration."""
    monkeypatch.setattr(database, "MIGRATIONS", (migration.TRIAL,))


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := traced.missing():
        pytest.skip(reason)


@pytest.fixture
def fresh(tmp_path: Path) -> list[Any]:
    """The schema of a new database."""
    path = str(tmp_path / "fresh.db")
    SqliteStore(path, clock=wall_clock).close()
    return migration.schema(path)


def _old(tmp_path: Path, version: int) -> tuple[str, str, list[Acknowledged]]:
    """A folder with a database of an older release, a file for output, and what was acknowledged before."""
    folder, said = tmp_path / "old", tmp_path / "said"
    remove_tree(str(folder))
    folder.mkdir()
    said.write_bytes(b"")
    return str(folder), str(said), migration.old_database(str(folder), version)


@pytest.mark.parametrize("version", OLDER)
def test_an_old_database_is_what_the_other_tests_take_it_for(
    tmp_path: Path, fresh: list[Any], version: int
) -> None:
    """Without any failure it is migrated, and part of it was in the write-ahead log."""
    folder, _, known = _old(tmp_path, version)
    path = os.path.join(folder, migration.NAME)
    assert os.path.getsize(path + "-wal") > 4096
    alone = shutil.copy(path, tmp_path / "alone.db")
    assert migration.schema(alone)[-1] == (version,)
    migration.check_migrated(folder, known, fresh, "undisturbed")


INJECTED = [
    *((call, "signal=KILL") for call in ("openat", "pwrite64", "fdatasync", "ftruncate", "unlink")),
    *((call, f"error={error}") for call in ("pwrite64", "ftruncate") for error in ("EIO", "ENOSPC")),
    ("fdatasync", "error=EIO"),
]


@pytest.mark.parametrize(("call", "what"), INJECTED, ids=lambda value: str(value))
@pytest.mark.parametrize("version", OLDER)
def test_at_every_call(tmp_path: Path, fresh: list[Any], version: int, call: str, what: str) -> None:
    """A process that is killed at any call of the migration, or whose call fails, leaves an intact database."""
    happened = 0
    for number in itertools.count(1):
        folder, said, known = _old(tmp_path, version)
        path = os.path.join(folder, migration.NAME)
        command = [
            "strace",
            "-o",
            os.devnull,
            "-e",
            f"trace={call}",
            "-e",
            f"inject={call}:{what}:when={number}",
        ]
        for suffix in ("", "-wal", "-shm", "-journal", "-lock"):
            command += ["-P", path + suffix]
        done = subprocess.run(
            [*command, "-P", folder, *migration.command(folder, said)], capture_output=True, check=False
        )
        known += heard(Path(said).read_bytes())
        migration.check_migrated(folder, known, fresh, f"{call} {number} {what}")
        if done.returncode == 0:
            if number > happened + 3:
                break  # SQLite tolerates some errors; several in a row are past the last call
            continue
        assert done.returncode in (9, -9, 137), done.stderr.decode()
        assert (done.returncode == 9) == what.startswith("error"), done.stderr.decode()
        happened = number
    assert happened >= {"openat": 4, "pwrite64": 5, "fdatasync": 2}.get(call, 1)


def _states(
    trace: traced.Trace, tmp_path: Path, known: list[Acknowledged], fresh: list[Any], limit: int
) -> int:
    place = tempfile.mkdtemp(prefix="holdfast-states-", dir=scratch_base())
    folder = os.path.join(place, "state")
    count = 0
    said = heard((tmp_path / "said").read_bytes())
    try:
        for count, state in enumerate(crash_states(trace, seed=scale.seed(), limit=limit), 1):
            write_out(state, folder)
            try:
                migration.check_migrated(folder, known + said[: state.acknowledged], fresh, state.made_by)
            except Exception as error:
                raise Violation(f"state {count}, {state.made_by}: {error}") from error
            finally:
                remove_tree(folder)
    finally:
        remove_tree(place)
    return count


@pytest.mark.parametrize("version", OLDER)
def test_every_state_after_a_cut(tmp_path: Path, fresh: list[Any], version: int) -> None:
    """Whatever a power cut leaves of a migration and of the commit after it, opening completes it."""
    folder, said, known = _old(tmp_path, version)
    trace = traced.Trace(migration.command(folder, said), folder, said)
    kinds = {step.kind for step in trace.steps}
    assert {"write", "sync", "acknowledged", "unname"} <= kinds
    count = _states(trace, tmp_path, known, fresh, scale.scaled(6))
    print(f"migration from schema {version}: {count} states")
    assert count >= STATES


def test_the_lister_sees_a_sync_that_is_missing(tmp_path: Path, fresh: list[Any]) -> None:
    """Control: without SQLite's syncs the same states have lost commits, or a broken database."""
    folder, said, known = _old(tmp_path, 1)
    trace = traced.Trace(migration.command(folder, said), folder, said)

    def is_sync(step: Step) -> bool:
        return step.kind == "sync"

    trace.steps = list(itertools.filterfalse(is_sync, trace.steps))
    with pytest.raises(Violation):
        _states(trace, tmp_path, known, fresh, 6)


@pytest.mark.parametrize(
    ("file", "before"), [("-wal", "acknowledged"), ("", "unname")], ids=["log", "database"]
)
def test_the_lister_sees_each_sync_that_is_missing(
    tmp_path: Path, fresh: list[Any], file: str, before: str
) -> None:
    """Control: a commit depends on the last sync of the log before it is acknowledged, and on the database's sync
    before its log is removed; omitting either is detected. Every other sync is followed by one that covers it."""
    folder, said, known = _old(tmp_path, 1)
    trace = traced.Trace(migration.command(folder, said), folder, said)
    name = migration.NAME + file
    end = [step.kind for step in trace.steps].index(before)
    syncs = [n for n, step in enumerate(trace.steps[:end]) if step.kind == "sync" and step.path == name]
    del trace.steps[syncs[-1]]
    with pytest.raises(Violation, match=r"acknowledged commit .* is missing|database"):
        _states(trace, tmp_path, known, fresh, 6)
