"""The scale of the torture tests, in one place.

HOLDFAST_TORTURE multiplies every count: 1 is a normal test run, ``make torture`` uses more. HOLDFAST_SEED replays a
run: every failure prints its seed.
"""

from __future__ import annotations

import os

STATES = 20_000
"""Disk states opened and checked, over all protocols."""
POWER_CUTS = 1_000
KILLS = 2_000
HISTORIES = 60
HISTORY_OPERATIONS = 400
HISTORY_CLIENTS = 8


def factor() -> float:
    """The multiplier of all counts; at least one."""
    return max(1.0, float(os.environ.get("HOLDFAST_TORTURE", "1")))


def scaled(count: int) -> int:
    """A count, scaled for this run."""
    return int(count * factor())


def seed() -> int:
    """The seed of this run: fixed in a normal run, so that failures are reproducible."""
    return int(os.environ.get("HOLDFAST_SEED", "20260115"))
