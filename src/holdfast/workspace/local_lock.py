"""A lock between processes of this place, for local caches that several of them change."""

from __future__ import annotations

import os

from holdfast.fs import posix
from holdfast.fs.port import LOCK_EX
from holdfast.typed import Self


class LocalLock:
    """Held within its scope. A workspace without a folder has none: there two processes may do the same twice."""

    def __init__(self, where: str, name: str) -> None:
        self._path = os.path.join(where, "local", name, "lock")
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            if os.path.isdir(os.path.dirname(os.path.dirname(self._path))):
                os.makedirs(os.path.dirname(self._path), exist_ok=True)
                self._fd = posix.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
                posix.lock(self._fd, LOCK_EX)
        except OSError:
            pass  # not writable: nobody else writes the cache either
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            posix.close(fd)
