"""Ids and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import ids
from holdfast.core.stream import checked_note, checked_stream, flat, last_part, owner
from holdfast.errors import InvalidName
from holdfast.testing import hostile

WRITERS = st.text(ids.ALPHABET, min_size=8, max_size=8)
TIMES = st.integers(0, 253_402_300_799_999)


@given(st.lists(st.tuples(TIMES, WRITERS), min_size=1, max_size=30))
def test_ids_always_increase(steps: list[tuple[int, str]]) -> None:
    """Whatever the clocks of several writers say, each id is later than the last and not before its clock."""
    last = ids.ZERO
    for now, writer in steps:
        new = ids.next_id(last, now, writer)
        assert new > last
        assert ids.is_commit_id(new)
        assert new.endswith("-" + writer)
        assert ids.milliseconds(new) >= now
        last = new


@given(TIMES, WRITERS)
def test_a_steady_clock_is_in_the_id(now: int, writer: str) -> None:
    """If the clock is ahead of the last id, the id has the clock's time."""
    assert ids.milliseconds(ids.next_id(ids.ZERO, now + 1, writer)) == now + 1


def test_the_counter_carries_into_the_time() -> None:
    """More than 65,536 commits in one millisecond still have increasing ids."""
    last = "0000000000ffffff-abcdefgh"
    assert ids.next_id(last, 0, "abcdefgh") == "0000000001000000-abcdefgh"


@pytest.mark.parametrize(
    "text", ["", "0" * 25, ids.ZERO[:-1], ids.ZERO + "0", ids.ZERO.replace("-", "_"), "A" * 16]
)
def test_other_shapes_are_no_ids(text: str) -> None:
    """Only the exact shape is an id, in lower case."""
    assert not ids.is_commit_id(text)
    assert not ids.is_commit_id(ids.next_id(ids.ZERO, 10**12, "abcdefgh").upper())


@given(st.integers(0, 2**64 - 1))
def test_random_text_is_a_writer(bits: int) -> None:
    """Any 64 random bits make a writer."""
    assert ids.is_writer(ids.random_text(bits, ids.WRITER_LENGTH))


@given(st.text(max_size=200))
def test_safe_names_are_names(text: str) -> None:
    """Any person's name gives a valid name, and a valid name stays unchanged."""
    name = ids.safe_name(text)
    assert ids.checked_name(name) == name
    assert ids.safe_name(name) == name


@pytest.mark.parametrize("name", ["a", "0", "ann", "ann.b", "a-b_c", "x" * 64, "console", "com", "com10"])
def test_plain_names(name: str) -> None:
    """Plain names are valid, including those that only look like a device's."""
    assert ids.checked_name(name) == name
    assert checked_stream(f"users/{name}") == f"users/{name}"


def test_hostile_names() -> None:
    """No hostile name is the name of a stream or a note."""
    for name in hostile.stream_names():
        with pytest.raises(InvalidName):
            checked_stream(name)
    for name in hostile.note_names():
        with pytest.raises(InvalidName):
            checked_note(name)


@given(st.text(max_size=80))
def test_no_name_leaves_the_workspace(text: str) -> None:
    """Every accepted note or stream name is a relative path without ".."."""
    for check in (checked_stream, checked_note):
        try:
            name = check(text)
        except InvalidName:
            continue
        assert all(part and part not in (".", "..") and part.isascii() for part in name.split("/"))


def test_parts_of_stream_names() -> None:
    """The owner, the last part and the flat form of a stream's name."""
    session = f"sessions/ann/{hostile.SESSION}"
    assert [owner(name) for name in ("project", "users/ben", session)] == ["", "ben", "ann"]
    assert [last_part(name) for name in ("project", "users/ben", session)] == [
        "project",
        "ben",
        hostile.SESSION,
    ]
    assert checked_note(f"local/snapshots/{flat(session)}")
