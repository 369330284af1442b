"""Support for the conformance suite: a factory of stores, and helpers for common steps."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from threading import Thread
from typing import Any

from holdfast.errors import InvalidName
from holdfast.store.protocol import AppendContext, Appended, Plan, PreparedCommit, Store
from holdfast.testing import hostile
from holdfast.testing.plans import saying, texts, wall_clock

USER = "users/ann"
OTHER = f"sessions/ben/{hostile.SESSION}"
MANY = int(os.environ.get("HOLDFAST_MANY", "2500"))
"""The size of a long stream; 10,000 and more in a long run."""


class Engine:
    """Creates stores, and closes them all at the end."""

    def __init__(self, open: Callable[[str, Callable[[], int]], Store], folder: str) -> None:
        self._open = open
        self._folder = folder
        self._places: list[tuple[Store, str]] = []
        self._count = 0

    def fresh(self, clock: Callable[[], int] = wall_clock) -> Store:
        """A new, empty store."""
        self._count += 1
        place = os.path.join(self._folder, f"place{self._count}")
        os.mkdir(place)
        return self._opened(place, clock)

    def again(self, store: Store, clock: Callable[[], int] = wall_clock) -> Store:
        """Another handle on the same place as ``store``."""
        return self._opened(next(place for known, place in self._places if known is store), clock)

    def _opened(self, place: str, clock: Callable[[], int]) -> Store:
        store = self._open(place, clock)
        self._places.append((store, place))
        return store

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        for store, _ in self._places:
            store.close()


def append_all(store: Store, stream: str, *wanted: str) -> Appended:
    done = None
    for text in wanted:
        done = store.append(stream, saying(text), cursor=done and done.cursor)
    assert done is not None
    return done


def everything(store: Store, stream: str = USER) -> list[str]:
    return texts(store.read(stream))


def refused(call: Callable[[str], object], name: str) -> bool:
    try:
        call(name)
    except InvalidName:
        return True
    return False


def never(context: AppendContext) -> PreparedCommit:
    raise AssertionError("the plan must not be called")


def remembering(seen: list[Any], plan: Plan) -> Plan:
    """``plan``, which also appends its tail to ``seen``."""

    def remember(context: AppendContext) -> PreparedCommit:
        seen[:] = [context.tail._replace(lines=list(context.tail.lines))]
        return plan(context)

    return remember


def start(url: str, stream: str, count: int, tag: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "holdfast.testing.appender", url, stream, str(count), tag]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def in_threads(jobs: list[Callable[[], None]]) -> None:
    """Run all jobs concurrently; raise the first error of any of them."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
