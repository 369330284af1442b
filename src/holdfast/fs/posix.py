"""The real file calls, on Linux and macOS: this module is the port, bound to the operating system.

A module and not an object: these are the most frequent calls of all, and looking up a module's names is fast.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB

from holdfast.fs.port import RWF_DSYNC, Origin
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC

close = os.close
set_mode = os.fchmod
set_owner = os.fchown
read = os.pread
write = os.write
write_at = os.pwrite
truncate = os.ftruncate
rename = os.rename
link = os.link
unlink = os.unlink
remove_folder = os.rmdir
names = os.listdir
stat = os.lstat
stat_handle = os.fstat
seek = os.lseek


waiting: Callable[[int], AbstractContextManager[None]] | None = None
"""Entered while this process waits for a lock: set by a program that tells its user so, and gives up."""


def lock(fd: int, operation: int) -> None:
    if waiting is None or operation != LOCK_EX:
        fcntl.flock(fd, operation)
    elif not try_lock(fd):
        with waiting(fd):
            fcntl.flock(fd, operation)


def open(path: str, flags: int, mode: int = 0o644) -> int:
    return os.open(path, flags | _ALWAYS, mode)


def origin(path: str) -> Origin:
    from holdfast.fs import origin

    return origin.origin(path)


def exists(path: str) -> bool:
    return os.access(path, os.F_OK)


def make_folder(path: str) -> None:
    os.mkdir(path, 0o755)


def sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _full_sync(fd: int) -> None:
    # macOS: fsync leaves data in the drive's cache; only F_FULLFSYNC waits for the disk.
    fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]


sync: Callable[[int], None] = os.fdatasync if hasattr(os, "fdatasync") else _full_sync


def _write_and_sync(fd: int, data: list[memoryview], offset: int, how: int) -> int:
    (whole,) = data
    done = os.pwrite(fd, whole, offset)
    sync(fd)
    return done


write_through: Callable[[int, list[memoryview], int, int], int] = os.pwritev if RWF_DSYNC else _write_and_sync


def try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_executable(path: str) -> None:
    """Make a newly written program executable."""
    os.chmod(path, 0o755)  # noqa: S103 - a hook that git runs for every user of the repository
