"""The length of a run."""

from __future__ import annotations

from typing import NamedTuple

SECTIONS = ("verbs", "append", "open", "processes", "startup", "mcp", "hooks")


class Settings(NamedTuple):
    append_histories: tuple[int, ...]
    append_rounds: int
    append_block: int
    close_rounds: int
    """Rounds on each processor, of those whose figures have targets; so few that a new SQLite log is not full yet."""
    open_histories: tuple[int, ...]
    open_rounds: int
    processes: tuple[int, ...]
    race_rounds: int
    crowd_rounds: int
    """Races at the largest number of processes, of those whose figures have targets."""
    race_seconds: float
    startup_rounds: int
    mcp_rounds: int
    verb_rounds: int
    verb_block: int
    verb_paced: int
    """Calls of each program at 4 per second, over all verbs."""


FULL = Settings(
    append_histories=(0, 1_000, 100_000),
    append_rounds=40,
    append_block=20,
    close_rounds=45,
    open_histories=(1_000, 100_000, 1_000_000),
    open_rounds=40,
    processes=(1, 2, 4, 8),
    race_rounds=3,
    crowd_rounds=27,
    race_seconds=2.0,
    startup_rounds=40,
    mcp_rounds=40,
    verb_rounds=40,
    verb_block=10,
    verb_paced=240,
)

QUICK = Settings(
    append_histories=(0, 1_000),
    append_rounds=6,
    append_block=10,
    close_rounds=6,
    open_histories=(1_000, 10_000),
    open_rounds=6,
    processes=(1, 8),
    race_rounds=1,
    crowd_rounds=1,
    race_seconds=0.6,
    startup_rounds=6,
    mcp_rounds=6,
    verb_rounds=5,
    verb_block=5,
    verb_paced=16,
)
