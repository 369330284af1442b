"""Seeded time and randomness, so that a random run with real programs can be replayed exactly.

Names of writers, ids of commits and sessions, and git's object ids depend on the clock and on random bytes. In a replay
all of them come from the seed, in this process and in its children.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from types import TracebackType

BEGIN_MS = 1_768_435_200_000
"""2026-01-15: earlier than the mtime of every file created now."""
_SETTLED_NS = (BEGIN_MS - 86_400_000) * 1_000_000
_STEPS_MS = (0, 0, 1, 7, 350, 4_000, 90_000)
"""Milliseconds between actions; sometimes two places act in the same millisecond."""

_PROGRAM = """\
import os, random, sys, time
chance = random.Random({seed})
os.urandom = chance.randbytes
time.time_ns = lambda: {now}
from holdfast.edge.cli import main
sys.exit(main())
"""


class Replay:
    """A context in which this process gets its time and random bytes from the seed."""

    def __init__(self, seed: int) -> None:
        self._steps = random.Random(f"steps of {seed}")
        self._bytes = random.Random(f"bytes of {seed}")
        self._now = BEGIN_MS
        self._settled = _SETTLED_NS
        self._patches = ExitStack()

    def _time_ns(self) -> int:
        return self._now * 1_000_000

    def __enter__(self) -> Replay:
        self._patches.enter_context(mock.patch.object(time, "time_ns", self._time_ns))
        self._patches.enter_context(mock.patch.object(os, "urandom", self._bytes.randbytes))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patches.close()

    def go_on(self) -> None:
        """Advance the clock. Between calls it stands still, so reading it changes nothing."""
        self._now += self._steps.choice(_STEPS_MS)

    def settle(self, workspace: str) -> None:
        """Give every folder that changed since the last call a new mtime, far in the past on this clock.

        Readers trust a cached listing of a folder that has not changed for a while. This must not depend on the speed
        of the machine: earlier changes are always trusted, later ones never.
        """
        for folder, _, _ in os.walk(os.path.join(workspace, "events")):
            if os.stat(folder).st_mtime_ns > BEGIN_MS * 1_000_000:
                self._settled += 1
                os.utime(folder, ns=(self._settled, self._settled))

    def dates(self) -> dict[str, str]:
        """The current time, for git commits."""
        now = f"{self._now // 1000} +0000"
        return {"GIT_AUTHOR_DATE": now, "GIT_COMMITTER_DATE": now}

    def command_line(self) -> str:
        """A Python program that runs the command line with this seeded time and randomness."""
        return _PROGRAM.format(seed=self._bytes.getrandbits(64), now=self._time_ns())
