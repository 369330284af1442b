"""Reading many streams in several processes: as many as there are processors.

Only for reading: each process has its own copy of everything, and what it returns is all that is kept of it. It ends
when nobody reads its results, so a program that is killed leaves none behind.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator

from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from io import BufferedReader
    from typing import NoReturn, TypeVar

    T = TypeVar("T")
    R = TypeVar("R")

FEWEST = 100
"""With fewer items, processes are not worth their start."""

_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ
_PIPE = 1 << 20
"""Bytes that a process can have written before somebody reads them."""
_STREAMS = 25
"""Streams that a process checks before it hands over what it found."""

watching: Callable[[str, int, int], None] | None = None
"""Called with what is done, for how many items, and of how many: set by a program that shows it to its user."""


def watch(what: str, done: int, total: int) -> None:
    """Report how far something is."""
    if watching is not None:
        watching(what, done, total)


def can_fork(count: int) -> bool:
    """Whether other processes may and should take part. A fork is safe only where nothing else runs."""
    if count < FEWEST or sys.platform != "linux" or (os.cpu_count() or 1) < 2:
        return False
    from threading import active_count

    return active_count() == 1


def in_batches(items: list[T], size: int, act: Callable[[list[T]], R]) -> Iterator[R]:
    """What ``act`` returns for each batch of some items, in order. Other processes do the work where that is possible;
    what they fail at is done here, so an error is that of ``act``."""
    batches = [items[start : start + size] for start in range(0, len(items), size)]
    if not can_fork(len(items)):
        yield from map(act, batches)
        return
    done = 0
    for result in _forked(batches, act):
        done += 1
        yield result
    yield from map(act, batches[done:])


def over_streams(
    what: str, streams: list[str], check: Callable[[list[str]], list[Any]], *, writes: bool = False
) -> list[Any]:
    """Everything that ``check`` finds in some streams. What it ``writes`` is written by this process."""
    found: list[Any] = []
    done = 0
    parts = map(check, ([name] for name in streams)) if writes else in_batches(streams, _STREAMS, check)
    for part in parts:
        watch(what, done, len(streams))
        done = min(len(streams), done + (1 if writes else _STREAMS))
        found += part
    watch(what, len(streams), len(streams))
    return found


def _forked(batches: list[list[T]], act: Callable[[list[T]], R]) -> Iterator[R]:
    """The results in order, until a process fails."""
    import fcntl

    count = min(os.cpu_count() or 1, len(batches))
    readers: list[BufferedReader] = []
    children: list[int] = []
    try:
        for place in range(count):
            incoming, outgoing = os.pipe()
            try:
                fcntl.fcntl(outgoing, _SET_PIPE_SIZE, _PIPE)
            except OSError:
                pass  # beyond the user's limit: slower
            child = os.fork()
            if not child:
                # Only the parent may hold the reading ends: when it dies, writing must fail.
                for fd in (incoming, *(reader.fileno() for reader in readers)):
                    os.close(fd)
                _serve(outgoing, batches[place::count], act)
            os.close(outgoing)
            readers.append(os.fdopen(incoming, "rb"))
            children.append(child)
        for place in range(len(batches)):
            yield pickle.load(readers[place % count])  # noqa: S301 - from a process of our own
    except (OSError, EOFError, pickle.UnpicklingError):
        return  # no more processes, or one of them is gone
    finally:
        for reader in readers:
            reader.close()
        for child in children:
            os.waitpid(child, 0)


def _serve(outgoing: int, batches: list[list[T]], act: Callable[[list[T]], R]) -> NoReturn:
    """Write the results of some batches, in a process of its own, which ends with this."""
    try:
        with os.fdopen(outgoing, "wb") as out:
            for batch in batches:
                pickle.dump(act(batch), out, pickle.HIGHEST_PROTOCOL)
                out.flush()
    except BaseException:
        os._exit(1)  # whatever it is: the parent does the rest, and meets it too or does not
    os._exit(0)
