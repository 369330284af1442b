"""Waiting until a pipe or socket can be read."""

from __future__ import annotations

import select

from holdfast.typed import Protocol


class _Open(Protocol):
    def fileno(self) -> int: ...


def readable(source: int | _Open, seconds: float) -> bool:
    """Whether there is something to read, or the other side is gone, within some time. Unlike ``select``, any number
    of files may be open."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))
