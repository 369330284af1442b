"""The interface of a contender, and the record that all of them store."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from time import perf_counter_ns
from typing import Any

RAW = "raw file"
RAW_SQLITE = "raw sqlite"
TEXT = "The build is green again after the lock order was fixed; next is the review of the retry rule. "
SAMPLE = {"kind": "observation", "text": TEXT, "files": ["src/store.py", "tests/test_store.py"], "cost": 1.25}


def record(number: int, worker: int = 0) -> dict[str, Any]:
    """About 200 bytes of JSON: what one contender stores per append, the same for all."""
    return {"worker": worker, "n": number, **SAMPLE}


class Appender:
    """An opened contender, ready to be measured. Subclasses implement ``append`` or ``block``."""

    def append(self) -> None:
        raise NotImplementedError

    def block(self, size: int) -> list[float]:
        """Nanoseconds of each of ``size`` durable appends."""
        append = self.append
        times = []
        for _ in range(size):
            start = perf_counter_ns()
            append()
            times.append(float(perf_counter_ns() - start))
        return times

    def close(self) -> None:
        """Release handles."""


class Contender:
    """One way to keep an agent's history. A name in the tables; folders and sizes come from the sections."""

    name = ""
    about = ""
    limit = RAW
    """The raw limit of this contender: its second ratio is against that one."""
    needs: tuple[str, ...] = ()
    append_reach = 1_000_000
    """The longest history at which appending is measured; beyond it one block would take minutes."""
    open_reach = 100_000
    """The longest history at which opening is measured."""
    opens = True
    has_target = False
    """Whether a target depends on this contender: those with one are also interleaved among themselves."""

    def missing(self) -> str | None:
        """Why this contender cannot run here, or None."""
        return missing(self.needs)

    def fill(self, folder: str, count: int) -> None:
        """Create a history of ``count`` commits in a new folder, as fast as the format allows."""
        raise NotImplementedError

    def appender(self, folder: str) -> Appender:
        raise NotImplementedError

    def load(self, folder: str) -> int:
        """Open, get the current state, close. Returns how many commits the state covers."""
        raise NotImplementedError


Step = Callable[[int], None]


class RefusedError(Exception):
    """The store refused an attempt because of another writer; the worker retries."""


class Racer:
    """One way for several processes to write to one history."""

    name = ""
    about = ""
    needs: tuple[str, ...] = ()
    counts_updates = False
    """True: each step is read, add one, write; what survives is the final number."""

    def missing(self) -> str | None:
        return missing(self.needs)

    def prepare(self, folder: str) -> None:
        """Create the empty history."""

    def worker(self, folder: str, index: int) -> Step:
        """Open in a worker process; the step stores the n-th record of this worker durably."""
        raise NotImplementedError

    def survivors(self, folder: str) -> Collection[tuple[int, int]] | int:
        """Every stored (worker, n), or the final number where ``counts_updates``."""
        raise NotImplementedError


def missing(modules: tuple[str, ...]) -> str | None:
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            return f"not installed ({error.name or module})"
    return None
