"""A bar on the terminal for work that takes long."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from time import monotonic

from holdfast.edge.render import plural


def progress_bar(
    arguments: argparse.Namespace, after: float = 0.5, unit: str = "stream"
) -> Callable[[str, int, int], None] | None:
    """A function that shows what is done, for how many streams and of how many, from ``after`` seconds on; None where
    nobody looks."""
    if arguments.json or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    start = shown = monotonic() + after

    def show(what: str, done: int, total: int) -> None:
        nonlocal shown
        now = monotonic()
        if done == total:
            if shown > start:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
        elif now >= shown:
            shown = now + 0.1
            filled = 24 * done // max(1, total)
            bar = "█" * filled + "░" * (24 - filled)
            sys.stderr.write(f"\r\x1b[K{bar} {what} {done:,} of {plural(total, unit)}")
            sys.stderr.flush()

    return show


def show_checks(arguments: argparse.Namespace) -> None:
    """Have checks of all streams show how far they are."""
    if show := progress_bar(arguments):
        from holdfast.workspace.checking import report_to

        report_to(show)
