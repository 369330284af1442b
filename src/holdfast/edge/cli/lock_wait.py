"""Waiting for a lock on the command line: it says whom it waits for, and it ends."""

from __future__ import annotations

import os
import signal
import sys

from holdfast.edge.render import printable
from holdfast.errors import Unavailable
from holdfast.typed import Any

SAY_AFTER = 5.0
"""Seconds until the user is told."""
GIVE_UP_AFTER = 120.0
"""Seconds after which the command ends."""


class Waiting:
    """While a lock is waited for. Only in the main thread, where a signal can end the wait."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._told = False
        self._before: Any = None

    def __enter__(self) -> None:
        try:
            self._before = signal.signal(signal.SIGALRM, self._expired)
        except ValueError:
            self._before = None  # not the main thread: it waits, as any program does
            return
        signal.setitimer(signal.ITIMER_REAL, SAY_AFTER)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _expired(self, *_: object) -> None:
        holder = holder_of(self._fd)
        if self._told:
            raise Unavailable(
                f"{holder} has held a lock of the workspace for {GIVE_UP_AFTER:.0f} s; nothing was written.",
                hint="Wait for it or end it, then repeat the command.",
            )
        self._told = True
        signal.setitimer(signal.ITIMER_REAL, max(GIVE_UP_AFTER - SAY_AFTER, 0.001))
        sys.stderr.write(f"holdfast: waiting for a lock that {printable(holder)} holds\n")
        sys.stderr.flush()


def holder_of(fd: int) -> str:
    """The process that holds the lock of an open file, as far as the system says."""
    node = os.fstat(fd).st_ino
    try:
        with open("/proc/locks", encoding="ascii") as file:
            lines = [line.split() for line in file]
        held = [
            words for words in lines if words[1:2] == ["FLOCK"] and words[5].rpartition(":")[2] == str(node)
        ]
        pid = int(held[0][4])
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            name = "".join(file.read().split())[:40]
        return f"process {pid} ({name}, user {os.stat(f'/proc/{pid}').st_uid})"
    except (OSError, ValueError, IndexError):
        return "another process"
