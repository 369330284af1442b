"""A lock between processes and threads for one file."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import Unavailable
from holdfast.fs import durable, posix
from holdfast.kit.atomic import target_of

_FIRST_WAIT = 0.001
_LONGEST_WAIT = 0.05


@contextmanager
def file_lock(path: str | os.PathLike[str], *, timeout: float | None = None) -> Iterator[None]:
    """Hold the exclusive lock of the file at ``path`` within the block.

    The lock is a kernel lock on ``.<name>.lock`` beside the file, so that the file itself can be replaced meanwhile.
    It ends with the process that holds it, however that dies, and is never taken over because it is old. Without a
    ``timeout`` (seconds) the call waits; with one, ``Unavailable`` names the process that holds the lock. Not
    re-entrant: a thread that takes it twice waits for itself. The lock file stays.
    """
    target = target_of(path)
    folder, name = os.path.split(target)
    lock = os.path.join(folder, f".{name}.lock")
    fd = _locked(lock, target, timeout)
    try:
        yield
    finally:
        posix.close(fd)  # ends the lock


def _locked(lock: str, target: str, timeout: float | None) -> int:
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        fd = durable.open_lock(posix, lock)
        try:
            _wait(fd, target, end)
            found = _named(lock)
            held = os.fstat(fd)
            # Somebody removed the lock file while we waited: others lock the new one.
            if found is not None and (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino):
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
                return fd
        except BaseException:
            posix.close(fd)
            raise
        posix.close(fd)


def _wait(fd: int, target: str, end: float | None) -> None:
    if end is None:
        fcntl.flock(fd, fcntl.LOCK_EX)
        return
    pause = _FIRST_WAIT
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
                by = f"process {holder}" if holder.isdigit() else "another process"
                raise Unavailable(
                    f"{target} is locked by {by}.",
                    hint="Wait for it to finish, and retry. Nothing was written.",
                ) from None
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_WAIT)


def _named(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
