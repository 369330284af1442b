"""A reentrant lock between threads that a fork cannot leave locked forever."""

from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Callable

_forks = 0
"""How many forks separate this process from the one that loaded the module."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class ThreadLock:
    """A reentrant lock. In a child process, locks of the parent's other threads are released."""

    __slots__ = ("_forks", "_lock", "_orphaned")

    def __init__(self, orphaned: Callable[[], None] | None = None) -> None:
        self._lock = RLock()
        self._forks = _forks
        self._orphaned = orphaned
        """Called in a child process if a thread of the parent was changing what the lock protects."""

    def try_acquire(self) -> bool:
        """Take the lock if it is free."""
        if self._forks != _forks:
            self._after_fork()
        return self._lock.acquire(blocking=False)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        if self._forks != _forks:
            self._after_fork()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _after_fork(self) -> None:
        held = not self._lock.acquire(blocking=False)
        if not held:
            self._lock.release()
        else:
            self._lock = RLock()
            if self._orphaned is not None:
                self._orphaned()
        self._forks = _forks
