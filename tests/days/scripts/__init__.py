"""The scripted days."""

from __future__ import annotations

from ..engine import Day
from . import back_end, elsewhere, front_end, long_day, operations

DAYS: tuple[Day, ...] = (
    *back_end.DAYS,
    *front_end.DAYS,
    *operations.DAYS,
    *long_day.DAYS,
    *elsewhere.DAYS,
)
