"""What a program does while it waits for a lock that another process holds."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.fs import posix
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def enter_while_waiting(waiting: Callable[[int], AbstractContextManager[None]]) -> None:
    """Enter ``waiting(file descriptor)`` during every wait of this process; it may raise to end the wait."""
    posix.waiting = waiting
