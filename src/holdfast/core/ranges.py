"""A set of integers as sorted, disjoint ranges ``[[first, last], …]``: exact, and small where it is dense.

The state must know exactly which items of a batch are done without listing them. Work that takes its items in order
leaves a few ranges, however many items there are.
"""

from __future__ import annotations

from bisect import bisect_right

Ranges = list[list[int]]


def add(ranges: Ranges, number: int) -> bool:
    """Add a number; False if it was in the set already."""
    place = bisect_right(ranges, number, key=_first)
    before = ranges[place - 1] if place else None
    after = ranges[place] if place < len(ranges) else None
    if before is not None and number <= before[1]:
        return False
    joins_before = before is not None and before[1] == number - 1
    joins_after = after is not None and after[0] == number + 1
    if joins_before and joins_after:
        assert before is not None
        assert after is not None
        before[1] = after[1]
        del ranges[place]
    elif joins_before:
        assert before is not None
        before[1] = number
    elif joins_after:
        assert after is not None
        after[0] = number
    else:
        ranges.insert(place, [number, number])
    return True


def remove(ranges: Ranges, number: int) -> bool:
    """Remove a number; False if it was not in the set."""
    place = bisect_right(ranges, number, key=_first) - 1
    if place < 0 or number > ranges[place][1]:
        return False
    first, last = ranges[place]
    ranges[place : place + 1] = [
        part for part in ([first, number - 1], [number + 1, last]) if part[0] <= part[1]
    ]
    return True


def has(ranges: Ranges, number: int) -> bool:
    place = bisect_right(ranges, number, key=_first) - 1
    return place >= 0 and number <= ranges[place][1]


def end_of(ranges: Ranges, number: int) -> int | None:
    """The last number of the range that holds ``number``; None if none does."""
    place = bisect_right(ranges, number, key=_first) - 1
    return ranges[place][1] if place >= 0 and number <= ranges[place][1] else None


def count(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def numbers(ranges: Ranges) -> list[int]:
    """Every number of the set, in order."""
    return [number for first, last in ranges for number in range(first, last + 1)]


def from_numbers(given: list[int]) -> Ranges:
    ranges: Ranges = []
    for number in sorted(set(given)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def shown(ranges: Ranges, most: int = 8) -> str:
    """For people: ``0-41, 44, 47-49``."""
    parts = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:most]]
    more = len(ranges) - most
    return ", ".join(parts) + (f" and {more:,} more ranges" if more > 0 else "")


def _first(part: list[int]) -> int:
    return part[0]
