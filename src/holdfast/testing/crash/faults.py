"""Fault injection: a file system in which one call, or every call from one on, fails as a disk can fail.

To use it, run a command with call 1 failing, then with call 2, and so on until no failure fires, for each error,
transient and permanent. After each run reopen the store and check its guarantees.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import NamedTuple

from holdfast.fs.port import FileSystem
from holdfast.testing.crash.recording import Recording
from holdfast.testing.crash.wrapped import CHANGES, T, Wrapped

SHORT = 0
"""Instead of an error number: a short write of half of the bytes."""

ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.EINTR, SHORT)

_GROWING = frozenset(["create", "write", "write_at", "make_folder", "rename", "sync", "sync_folder"])
_STICKY: dict[int, frozenset[str]] = {
    errno.EIO: CHANGES | {"create", "open", "read", "stat", "names"},
    errno.ENOSPC: _GROWING,
    errno.EDQUOT: _GROWING,
    errno.EROFS: CHANGES | {"create"},
    errno.EMFILE: frozenset(["open", "create", "sync_folder", "names"]),
    errno.EINTR: CHANGES | {"create", "open", "read", "lock"},
    SHORT: frozenset(["write", "write_at"]),
}
"""Which later calls fail too after a permanent error: a full disk still reads, a dead one does not."""

_NEVER = frozenset(["close", "unlock", "exists", "stat_handle", "seek"])
"""Calls that fail only because of a bug in the program."""


class Failure(NamedTuple):
    """A fault: at which call, with which error, permanent or transient."""

    at: int
    error: int
    sticky: bool = False
    late: bool = False
    """The call does its work (a write: half of it) and then fails."""

    def __str__(self) -> str:
        name = errno.errorcode[self.error] if self.error else "short write"
        times = "from call" if self.sticky else "at call"
        return f"{name} {times} {self.at}{', after doing the work' if self.late else ''}"


class Faulty(Wrapped):
    """Injects the failure; counts calls and records the injected failures."""

    def __init__(self, inner: FileSystem, failure: Failure | None = None) -> None:
        super().__init__(inner)
        self.failure = failure
        self.calls = 0
        self.dealt: list[str] = []
        self.only: frozenset[str] | None = None
        """Which calls are counted and can fail; None for all that can."""
        self._broken = False

    def heal(self) -> None:
        """End the fault: space returns, the disk is writable again."""
        self.failure = None
        self._broken = False

    def _fails(self, call: str) -> bool:
        if call in _NEVER or (self.only is not None and call not in self.only):
            return False
        self.calls += 1
        failure = self.failure
        if failure is None:
            return False
        if self._broken:
            return failure.sticky and call in _STICKY[failure.error]
        if self.calls < failure.at or (failure.error == SHORT and call not in _STICKY[SHORT]):
            return False
        self._broken = True
        return True

    def around(self, call: str, path: str, perform: Callable[[], T]) -> T:
        if not self._fails(call):
            return perform()
        assert self.failure is not None
        self.dealt.append(f"{call} {os.path.basename(path)}")
        if self.failure.late:
            perform()
        raise OSError(self.failure.error, os.strerror(self.failure.error), path)

    def _partly(self, call: str, fd: int, data: bytes, perform: Callable[[bytes], int]) -> int:
        if not self._fails(call):
            return perform(data)
        assert self.failure is not None
        path = self.paths.get(fd, "")
        self.dealt.append(f"{call} {os.path.basename(path)}")
        half = data[: max(1, len(data) // 2)]
        if self.failure.error == SHORT:
            return perform(half)
        if self.failure.late:
            perform(half)
        raise OSError(self.failure.error, os.strerror(self.failure.error), path)

    def write(self, fd: int, data: bytes) -> int:
        return self._partly("write", fd, data, lambda part: self.inner.write(fd, part))

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        return self._partly("write_at", fd, data, lambda part: self.inner.write_at(fd, part, offset))

    def sync(self, fd: int) -> None:
        try:
            super().sync(fd)
        except OSError:
            # Linux marks the pages clean after a failed sync: later syncs succeed and prove nothing.
            if isinstance(self.inner, Recording):
                self.inner.sync_failed(fd)
            raise
