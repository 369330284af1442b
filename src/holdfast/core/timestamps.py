"""Timestamps: wall-clock milliseconds since 1970, and as text, ``2026-01-21T14:30:00.123Z``.

Plain calendar arithmetic: importing ``datetime`` would cost more than a whole append.
"""

from __future__ import annotations

import re

from holdfast.errors import Usage

_DAY_MS = 86_400_000
_TIMESTAMP = r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z"
_ERA_DAYS = 146_097  # days in 400 years, after which the calendar repeats
_DAYS_TO_1970 = 719_468  # days from 0000-03-01 to 1970-01-01

EARLIEST = -62_135_596_800_000
"""0001-01-01T00:00:00.000Z."""
LATEST = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""


def iso(ms: int) -> str:
    """A timestamp as text, clamped to the years 1 to 9999."""
    global _second
    second, text = _second
    if ms // 1000 != second:
        second, text = _second = ms // 1000, _to_second(ms // 1000)
    # Twice as fast as a format specification.
    return f"{text}.{str(ms % 1000 + 1000)[1:]}Z" if text else iso(EARLIEST if ms < EARLIEST else LATEST)


_second = (0, "1970-01-01T00:00:00")
"""The last second that was formatted, and its text: many commits share a second."""


def _to_second(seconds: int) -> str:
    if not EARLIEST <= seconds * 1000 <= LATEST:
        return ""
    days, seconds = divmod(seconds, 86_400)
    year, month, day = _civil(days)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}"


def from_iso(text: str) -> int:
    """Parse a timestamp that ``iso`` wrote."""
    match = re.fullmatch(_TIMESTAMP, text)
    if match:
        year, month, day, hour, minute, second, ms = map(int, match.groups())
        if is_day(year, month, day) and hour < 24 and minute < 60 and second < 60:
            return _days(year, month, day) * _DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + ms
    raise Usage(
        f"{text[:80]!r} is not a timestamp.",
        hint="A timestamp is UTC and looks like 2026-01-21T14:30:00.123Z.",
    )


def is_day(year: int, month: int, day: int) -> bool:
    """Whether the calendar has that day."""
    # Only an existing date survives the round trip: this rejects 30 February without a table of months.
    return 1 <= month <= 12 and year >= 1 and _civil(_days(year, month, day)) == (year, month, day)


_LOOSE = r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]{1,3})?Z?)?"
_SPAN = r"([0-9]{1,6})([smhdw])"
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": _DAY_MS, "w": 7 * _DAY_MS}


def parse(text: str, now: int | None = None) -> int:
    """Parse a time as a person writes it: a date, a UTC date and time, or (with ``now``) an age such as 7d."""
    if now is not None and (span := re.fullmatch(_SPAN, text.strip())):
        return now - int(span[1]) * _UNITS[span[2]]
    loose = re.fullmatch(_LOOSE, text.strip())
    if loose is None:
        raise Usage(
            f"{text[:80]!r} is not a timestamp.",
            hint="Write 2026-01-21, 2026-01-21T14:30, 2026-01-21T14:30:00Z, or an age such as 90m, 12h, 7d.",
        )
    date, minutes, seconds, part = loose.groups()
    return from_iso(f"{date}T{minutes or '00:00'}{seconds or ':00'}{(part or '.').ljust(4, '0')}Z")


def span(ms: int) -> str:
    """A length of time in its largest unit: ``3 d``, ``5 h``, ``12 min``."""
    for unit, size in (("d", _DAY_MS), ("h", 3_600_000), ("min", 60_000)):
        if ms >= size:
            return f"{ms // size:,} {unit}"
    return "seconds"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day, counted in years that begin on 1 March so that the leap day comes last."""
    era, day_of_era = divmod(days + _DAYS_TO_1970, _ERA_DAYS)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // (_ERA_DAYS - 1)
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = march_month + 3 if march_month < 10 else march_month - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def _days(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - _DAYS_TO_1970
