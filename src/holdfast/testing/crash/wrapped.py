"""Wrappers around a file system: the base of the harness's fault, kill and mutant layers."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TypeVar

from holdfast.fs.port import LOCK_UN, FileSystem, Origin

T = TypeVar("T")

CHANGES = frozenset(
    [
        "write",
        "write_at",
        "truncate",
        "rename",
        "link",
        "unlink",
        "make_folder",
        "remove_folder",
        "sync",
        "sync_folder",
    ]
)
"""The calls that change a disk or wait for it; ``open`` only if it creates a file."""

_PAST_THE_CACHE = getattr(os, "O_DIRECT", 0)
"""Writes with these flags are synchronous, so no later sync is needed."""


class Wrapped:
    """Forwards every call; a subclass overrides ``around`` or single calls."""

    def __init__(self, inner: FileSystem) -> None:
        self.inner = inner
        self.paths: dict[int, str] = {}

    def around(self, call: str, path: str, perform: Callable[[], T]) -> T:
        """Every call passes through here: its name, its path, and a function that performs it."""
        return perform()

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        call = "create" if flags & os.O_CREAT else "open"
        flags &= ~_PAST_THE_CACHE
        fd = self.around(call, path, lambda: self.inner.open(path, flags, mode))
        self.paths[fd] = path
        return fd

    def set_mode(self, fd: int, mode: int) -> None:
        self.around("set_mode", self.paths.get(fd, ""), lambda: self.inner.set_mode(fd, mode))

    def set_owner(self, fd: int, user: int, group: int) -> None:
        self.around("set_owner", self.paths.get(fd, ""), lambda: self.inner.set_owner(fd, user, group))

    def close(self, fd: int) -> None:
        path = self.paths.pop(fd, "")
        self.around("close", path, lambda: self.inner.close(fd))

    def read(self, fd: int, size: int, offset: int) -> bytes:
        return self.around("read", self.paths.get(fd, ""), lambda: self.inner.read(fd, size, offset))

    def write(self, fd: int, data: bytes) -> int:
        return self.around("write", self.paths.get(fd, ""), lambda: self.inner.write(fd, data))

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        return self.around("write_at", self.paths.get(fd, ""), lambda: self.inner.write_at(fd, data, offset))

    def truncate(self, fd: int, size: int) -> None:
        self.around("truncate", self.paths.get(fd, ""), lambda: self.inner.truncate(fd, size))

    def sync(self, fd: int) -> None:
        self.around("sync", self.paths.get(fd, ""), lambda: self.inner.sync(fd))

    def write_through(self, fd: int, data: list[memoryview], offset: int, how: int) -> int:
        """Split into two calls, so that a fault can hit between them."""
        done = self.write_at(fd, b"".join(data), offset)
        self.sync(fd)
        return done

    def sync_folder(self, path: str) -> None:
        self.around("sync_folder", path, lambda: self.inner.sync_folder(path))

    def rename(self, source: str, target: str) -> None:
        self.around("rename", target, lambda: self.inner.rename(source, target))

    def link(self, source: str, target: str) -> None:
        self.around("link", target, lambda: self.inner.link(source, target))

    def unlink(self, path: str) -> None:
        self.around("unlink", path, lambda: self.inner.unlink(path))

    def make_folder(self, path: str) -> None:
        self.around("make_folder", path, lambda: self.inner.make_folder(path))

    def remove_folder(self, path: str) -> None:
        self.around("remove_folder", path, lambda: self.inner.remove_folder(path))

    def names(self, path: str) -> list[str]:
        return self.around("names", path, lambda: self.inner.names(path))

    def stat(self, path: str) -> os.stat_result:
        return self.around("stat", path, lambda: self.inner.stat(path))

    def origin(self, path: str) -> Origin:
        return self.around("origin", path, lambda: self.inner.origin(path))

    def exists(self, path: str) -> bool:
        return self.around("exists", path, lambda: self.inner.exists(path))

    def stat_handle(self, fd: int) -> os.stat_result:
        return self.around("stat_handle", self.paths.get(fd, ""), lambda: self.inner.stat_handle(fd))

    def seek(self, fd: int, offset: int, whence: int) -> int:
        return self.around("seek", self.paths.get(fd, ""), lambda: self.inner.seek(fd, offset, whence))

    def try_lock(self, fd: int) -> bool:
        return self.around("try_lock", self.paths.get(fd, ""), lambda: self.inner.try_lock(fd))

    def lock(self, fd: int, how: int) -> None:
        name = "unlock" if how == LOCK_UN else "lock"
        self.around(name, self.paths.get(fd, ""), lambda: self.inner.lock(fd, how))


class SameDisk(Wrapped):
    """Keeps the writer's identity when a state is written out elsewhere: the same disk after a restart.

    The identity is tied to the inode and the ctime of one file and to its disk, and a lock-file header to the inode of
    its file, which no copy can reproduce. Without this layer every state would be opened like a copied folder: by a new
    writer, which repairs nothing.
    """

    def origin(self, path: str) -> Origin:
        super().origin(path)
        return {}

    def stat(self, path: str) -> os.stat_result:
        found = super().stat(path)
        if path.endswith("/local/anchor") and stat.S_ISREG(found.st_mode):
            return self._as_before(found)
        return found

    def stat_handle(self, fd: int) -> os.stat_result:
        found = super().stat_handle(fd)
        return self._as_before(found) if "/local/locks/" in self.paths.get(fd, "") else found

    @staticmethod
    def _as_before(found: os.stat_result) -> os.stat_result:
        values = list(found)
        values[stat.ST_INO] = 4711
        return os.stat_result(values, {"st_ctime_ns": 1, "st_mtime_ns": found.st_mtime_ns})


class SteadyTimes(Wrapped):
    """Gives segments a modification time that follows from their length: it is part of snapshots, and a recording must
    be the same in every run."""

    def stat(self, path: str) -> os.stat_result:
        found = super().stat(path)
        return self._steady(found) if path.endswith(".jsonl") else found

    def stat_handle(self, fd: int) -> os.stat_result:
        found = super().stat_handle(fd)
        return self._steady(found) if self.paths.get(fd, "").endswith(".jsonl") else found

    @staticmethod
    def _steady(found: os.stat_result) -> os.stat_result:
        times = {"st_ctime_ns": found.st_ctime_ns, "st_mtime_ns": found.st_size + 1}
        return os.stat_result(list(found), times)


class Killed(BaseException):
    """The process is dead: not an ``Exception``, because no handler of a dead process runs."""


class KilledAt(Wrapped):
    """Dies before call ``n``: that call and every later one do nothing, and the handles are closed."""

    def __init__(self, inner: FileSystem, n: int) -> None:
        super().__init__(inner)
        self.left = n
        self.dead = False

    def around(self, call: str, path: str, perform: Callable[[], T]) -> T:
        self.left -= 1
        if self.left <= 0 and not self.dead:
            self.die()
        if self.dead:
            raise Killed
        return perform()

    def die(self) -> None:
        """Do what the kernel does with a dead process: close its handles, which also releases its locks."""
        self.dead = True
        for fd in list(self.paths):
            self.inner.close(fd)
        self.paths.clear()


class DuringSync(Wrapped):
    """Runs ``meanwhile`` once, before the first sync without a lock: a second, faster process."""

    def __init__(self, inner: FileSystem, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner)
        self.meanwhile: Callable[[], None] | None = meanwhile
        self._locks = 0

    def around(self, call: str, path: str, perform: Callable[[], T]) -> T:
        self._locks += (call == "lock") - (call == "unlock")
        if call in ("sync", "sync_folder") and not self._locks and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return perform()


class WithoutSync(Wrapped):
    """A mutant: syncs that ``drop`` selects by call and path do nothing. ``sync_read`` is the sync of a reader."""

    def __init__(self, inner: FileSystem, drop: Callable[[str, str], bool]) -> None:
        super().__init__(inner)
        self.drop = drop
        self.dropped = 0
        self._readers: set[int] = set()

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        fd = super().open(path, flags, mode)
        if flags & os.O_ACCMODE == os.O_RDONLY:
            self._readers.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self._readers.discard(fd)
        super().close(fd)

    def sync(self, fd: int) -> None:
        if self.drop("sync_read" if fd in self._readers else "sync", self.paths.get(fd, "")):
            self.dropped += 1
        else:
            super().sync(fd)

    def sync_folder(self, path: str) -> None:
        if self.drop("sync_folder", path):
            self.dropped += 1
        else:
            super().sync_folder(path)
