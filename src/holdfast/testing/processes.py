"""Real processes for the harness: forked for speed, killed with SIGKILL, always reaped."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Protocol


def spawn(body: Callable[[], None]) -> int:
    """Run ``body`` in a forked process; its exit status is 0, or 1 if it raised."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        body()
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def kill(pid: int) -> bool:
    """Kill a process with SIGKILL and wait for it; False if it had already exited."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    try:
        status = os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return False
    return os.WIFSIGNALED(status)


class _Open(Protocol):
    def fileno(self) -> int: ...


def readable(source: int | _Open, seconds: float) -> bool:
    """Whether there is input or end of file within some time; works for any number of open files."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Pipe:
    """A pipe from processes that will be killed to the parent that counts their reports."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self._parts: list[bytes] = []

    def listen(self, seconds: float, lines: int | None = None) -> None:
        """Drain the pipe for some time, so that no writer blocks; stop after ``lines`` lines."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if lines is not None and sum(part.count(b"\n") for part in self._parts) >= lines:
                return
            if readable(self.reader, left):
                self._take()

    def _take(self) -> bool:
        try:
            part = os.read(self.reader, 1 << 16)
        except BlockingIOError:
            return False
        self._parts.append(part)
        return bool(part)

    def so_far(self) -> bytes:
        """Everything received so far."""
        while self._take():
            pass
        return b"".join(self._parts)

    def finish(self) -> bytes:
        """Everything received; all writers must have exited."""
        os.close(self.writer)
        said = self.so_far()
        os.close(self.reader)
        return said
