"""No space, no inodes, no write permission: clear errors, nothing lost, and recovery when it is over."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import Forbidden, HoldfastError
from holdfast.recovery.files_store import FilesStore
from holdfast.store.protocol import Store
from holdfast.testing.crash.disks import LoopDisk, missing
from holdfast.testing.crash.harness import STREAM
from holdfast.testing.crash.run import opener
from holdfast.testing.crash.workload import Acknowledged, append, commit_until_killed, heard, verify
from holdfast.testing.plans import wall_clock
from holdfast.testing.processes import Pipe, kill, spawn

pytestmark = [pytest.mark.power_cut, pytest.mark.timeout(120)]
_READ_ONLY, _REMOUNT = 1, 32


@pytest.fixture
def disk() -> Iterator[LoopDisk]:
    if reason := missing():
        pytest.skip(reason)
    with LoopDisk(size=2 << 20) as disk:
        disk.mount()
        yield disk


def _fill(disk: LoopDisk) -> str:
    """Take all space; returns the file to remove to free it."""
    path = os.path.join(disk.top, "ballast")
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for size in (1 << 16, 1 << 12, 512, 1):
        try:
            while True:
                os.write(fd, b"x" * size)
        except OSError:
            continue
    os.close(fd)
    return path


def _append_until_full(store: Store, known: list[Acknowledged], limit: int) -> int:
    refused = 0
    for number in range(limit):
        try:
            known.append(append(store, STREAM, f"full{len(known)}.{number}"))
        except HoldfastError:
            refused += 1
            if refused >= 5:
                break
    return refused


@pytest.mark.parametrize("engine", ["files", "sqlite"])
@pytest.mark.parametrize("history", [0, 3])
def test_disk_full_then_space_returns(disk: LoopDisk, engine: str, history: int) -> None:
    """A full disk refuses commits; acknowledged ones stay, and the same store works again with space."""
    store = opener(engine)(disk.top)
    known = [append(store, STREAM, f"before{number}") for number in range(history)]
    ballast = _fill(disk)
    assert _append_until_full(store, known, 500) >= 5, "the disk never got full"
    if history:
        verify(store, STREAM, known, "while full")
    os.unlink(ballast)
    known.append(append(store, STREAM, "after"))
    verify(store, STREAM, known, "after")
    store.close()
    again = opener(engine)(disk.top)
    verify(again, STREAM, known, "opened again")
    assert not [fault for fault in again.check() if not fault.harmless]
    again.close()


def test_no_inodes_then_some_return() -> None:
    """Without a free inode no new stream can be created; old ones work, and new ones as soon as one is free."""
    if reason := missing():
        pytest.skip(reason)
    with LoopDisk(size=2 << 20, inodes=32) as disk:
        disk.mount()
        store = FilesStore(os.path.join(disk.top, ".state"), clock=wall_clock)
        known = [append(store, STREAM, "before")]
        taken = []
        while len(taken) < 100:
            path = os.path.join(disk.top, f"taken{len(taken)}")
            try:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            except OSError:
                break
            taken.append(path)
        assert len(taken) < 100, "the inodes never ran out"
        other = STREAM[:-1] + "9"
        with pytest.raises(HoldfastError):
            append(store, other, "no room")
        known.append(append(store, STREAM, "old stream"))
        for path in taken:
            os.unlink(path)
        known.append(append(store, other, "room"))
        for stream in (STREAM, other):
            verify(store, stream, known, "after")
        assert not [fault for fault in store.check() if not fault.harmless]
        store.close()


@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_read_only_then_writable(disk: LoopDisk, engine: str) -> None:
    """A read-only disk refuses commits and can be read; later appending works again."""
    store = opener(engine)(disk.top)
    known = [append(store, STREAM, "before")]
    store.close()
    disk.mount(flags=_READ_ONLY | _REMOUNT)
    with pytest.raises(HoldfastError):
        append(opener(engine)(disk.top), STREAM, "refused")
    store = opener(engine)(disk.top)
    verify(store, STREAM, known, "while read-only")
    store.close()
    disk.mount(flags=_REMOUNT)
    store = opener(engine)(disk.top)
    known.append(append(store, STREAM, "after"))
    verify(store, STREAM, known, "writable again")
    store.close()


@pytest.mark.parametrize("index", [True, False], ids=["with its index", "without"])
def test_a_database_with_a_log_on_a_read_only_disk(index: bool) -> None:
    """A database whose last program was killed is read with its write-ahead log, and nothing is left behind."""
    if reason := missing():
        pytest.skip(reason)
    with LoopDisk(size=24 << 20) as disk:
        disk.mount()
        _check_killed(disk, index)


def _check_killed(disk: LoopDisk, index: bool) -> None:
    pipe = Pipe()
    pid = spawn(lambda: commit_until_killed(opener("sqlite")(disk.top), STREAM, "killed", pipe.writer))
    pipe.listen(60, lines=5)
    kill(pid)
    known = heard(pipe.finish())
    assert os.path.getsize(os.path.join(disk.top, "state.db-wal"))
    if not index:
        os.unlink(os.path.join(disk.top, "state.db-shm"))
    disk.mount(flags=_READ_ONLY | _REMOUNT)
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", scratch)
        store = opener("sqlite")(disk.top)
        assert len(verify(store, STREAM, known, "while read-only")) >= 5
        with pytest.raises(Forbidden, match="Read-only file system"):
            append(store, STREAM, "refused")
        store.close()
        assert os.listdir(scratch) == []
    disk.mount(flags=_REMOUNT)


def test_what_the_owner_writes_is_seen_by_who_may_only_read(tmp_path: Path) -> None:
    """Another user's database is read as it is now, also if it changed since it was opened."""
    if os.geteuid():
        pytest.skip("needs root, to read as another user")
    folder = tmp_path / "owned"
    folder.mkdir()
    owner = opener("sqlite")(str(folder))
    known = [append(owner, STREAM, "one")]
    owner.close()
    for above in (tmp_path, *list(tmp_path.parents)[:3]):
        above.chmod(0o755)
    (folder / "state.db").chmod(0o644)
    folder.chmod(0o555)
    to_reader, to_owner = os.pipe(), os.pipe()

    def read_twice() -> None:
        os.setgid(65534)
        os.setuid(65534)
        reader = opener("sqlite")(str(folder))
        os.write(to_owner[1], str(reader.read(STREAM).version).encode())
        os.read(to_reader[0], 1)
        os.write(to_owner[1], str(reader.read(STREAM).version).encode())

    pid = spawn(read_twice)
    assert os.read(to_owner[0], 10) == b"1"
    owner = opener("sqlite")(str(folder))
    known.append(append(owner, STREAM, "two"))
    owner.close()
    os.write(to_reader[1], b"x")
    assert os.read(to_owner[0], 10) == b"2"
    kill(pid)
    verify(opener("sqlite")(str(folder)), STREAM, known, "at the end")
