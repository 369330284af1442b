"""Checks of all streams: in several processes, and with a report of how far they are."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.store import forked
from holdfast.store.forked import over_streams as over_streams


def report_to(show: Callable[[str, int, int], None]) -> None:
    """Have checks call ``show`` with what is checked, how many streams are done, and of how many."""
    forked.watching = show
