"""Timestamps, against the standard library's calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import timestamps
from holdfast.errors import Usage

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSIDE = st.integers(timestamps.EARLIEST, timestamps.LATEST)


@given(INSIDE)
def test_text_equals_the_standard_librarys(ms: int) -> None:
    """Every timestamp of the years 1 to 9999 has the text that datetime gives it."""
    then = EPOCH + timedelta(milliseconds=ms)
    assert timestamps.iso(ms) == then.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@given(INSIDE)
def test_text_round_trips(ms: int) -> None:
    """Parsing the text of a timestamp gives the timestamp."""
    assert timestamps.from_iso(timestamps.iso(ms)) == ms


@given(INSIDE, INSIDE)
def test_texts_sort_like_timestamps(one: int, other: int) -> None:
    """The texts of two timestamps sort like the timestamps."""
    assert (one < other) == (timestamps.iso(one) < timestamps.iso(other))


@given(
    st.tuples(
        st.integers(0, 9999),
        st.integers(0, 13),
        st.integers(0, 32),
        st.integers(0, 25),
        st.integers(0, 61),
        st.integers(0, 61),
    )
)
def test_dates_that_do_not_exist_are_refused(parts: tuple[int, ...]) -> None:
    """A text is accepted exactly if datetime accepts it."""
    text = "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}.000Z".format(*parts)
    try:
        right = datetime(*parts, tzinfo=UTC)  # type: ignore[misc]
    except ValueError:
        with pytest.raises(Usage):
            timestamps.from_iso(text)
    else:
        assert timestamps.from_iso(text) == (right - EPOCH) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-21",
        "2026-01-21T14:30:00Z",
        "2026-01-21T14:30:00.123",
        "2026-01-21T14:30:00.123+00:00",
        "2026-01-21T14:30:00.123Z\n",
        "２026-01-21T14:30:00.123Z",
        "٢٠٢٦-01-21T14:30:00.123Z",
        "2026-02-29T00:00:00.000Z",
        "0000-01-01T00:00:00.000Z",
        "-001-01-01T00:00:00.000Z",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    """A text of any other shape is refused, even if Python's int() would accept it."""
    with pytest.raises(Usage):
        timestamps.from_iso(text)


def test_a_clock_out_of_range_is_clamped() -> None:
    """A clock outside of the calendar is clamped, so that it cannot stop an append."""
    assert timestamps.iso(-(10**18)) == "0001-01-01T00:00:00.000Z"
    assert timestamps.iso(10**18) == "9999-12-31T23:59:59.999Z"
