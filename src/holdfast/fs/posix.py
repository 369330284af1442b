"""The real file calls, on Linux and macOS."""

from __future__ import annotations

import fcntl
import os

from holdfast.fs.port import Buffer

_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC


def _sync(fd: int) -> None:
    os.fdatasync(fd)


def _full_sync(fd: int) -> None:
    # macOS: fsync leaves data in the drive's cache; only F_FULLFSYNC waits for the disk.
    fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]


def _write_through(fd: int, data: Buffer, offset: int) -> int:
    return os.pwritev(fd, [data], offset, os.RWF_DSYNC)


def _write_and_sync(fd: int, data: Buffer, offset: int) -> int:
    done = os.pwrite(fd, data, offset)
    Posix.sync(fd)
    return done


class Posix:
    """The port, bound to the operating system. Stateless: one instance serves everybody."""

    close = staticmethod(os.close)
    set_mode = staticmethod(os.fchmod)
    read = staticmethod(os.pread)
    write = staticmethod(os.write)
    write_at = staticmethod(os.pwrite)
    truncate = staticmethod(os.ftruncate)
    sync = staticmethod(_sync if hasattr(os, "fdatasync") else _full_sync)
    write_through = staticmethod(_write_through if hasattr(os, "RWF_DSYNC") else _write_and_sync)
    rename = staticmethod(os.rename)
    link = staticmethod(os.link)
    unlink = staticmethod(os.unlink)
    remove_folder = staticmethod(os.rmdir)
    names = staticmethod(os.listdir)
    stat = staticmethod(os.lstat)
    stat_handle = staticmethod(os.fstat)

    @staticmethod
    def open(path: str, flags: int, mode: int = 0o644) -> int:
        return os.open(path, flags | _ALWAYS, mode)

    @staticmethod
    def size(fd: int) -> int:
        return os.lseek(fd, 0, os.SEEK_END)

    @staticmethod
    def make_folder(path: str) -> None:
        os.mkdir(path, 0o755)

    @staticmethod
    def sync_folder(path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    @staticmethod
    def lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)

    @staticmethod
    def try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @staticmethod
    def unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


POSIX = Posix()


def make_executable(path: str) -> None:
    """Let a program that was just written be run."""
    os.chmod(path, 0o755)  # noqa: S103 - a hook that git runs for everybody who may use the repository
