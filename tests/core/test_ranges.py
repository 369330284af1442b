"""Sets of numbers as ranges."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import ranges

numbers = st.integers(min_value=0, max_value=60)


@given(st.lists(st.tuples(st.booleans(), numbers)))
def test_ranges_behave_like_a_set(steps: list[tuple[bool, int]]) -> None:
    """Adding and removing in any order gives the same numbers as a plain set, in sorted, disjoint ranges."""
    kept: ranges.Ranges = []
    model: set[int] = set()
    for adding, number in steps:
        if adding:
            assert ranges.add(kept, number) is (number not in model)
            model.add(number)
        else:
            assert ranges.remove(kept, number) is (number in model)
            model.discard(number)
        assert ranges.numbers(kept) == sorted(model)
        assert ranges.count(kept) == len(model)
        assert all(ranges.has(kept, n) is (n in model) for n in range(62))
        assert all(one[1] + 1 < other[0] for one, other in pairwise(kept))
        assert kept == ranges.from_numbers(list(model))


@given(st.sets(numbers), numbers)
def test_end_of_names_the_last_number_of_the_range(model: set[int], number: int) -> None:
    """``end_of`` skips exactly the numbers in the set."""
    end = ranges.end_of(ranges.from_numbers(list(model)), number)
    if number not in model:
        assert end is None
    else:
        assert end is not None
        assert set(range(number, end + 1)) <= model
        assert end + 1 not in model


def test_ranges_for_people() -> None:
    """Long sets are shown by their beginning."""
    assert ranges.shown([[0, 3], [5, 5]]) == "0-3, 5"
    assert ranges.shown([[n, n] for n in range(0, 40, 2)], most=2) == "0, 2 and 18 more ranges"
