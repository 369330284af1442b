"""The commit codec."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import codec
from holdfast.core.codec import GENESIS, Draft, Event
from holdfast.errors import Damaged, Newer, Refused, TooLarge
from holdfast.testing import hostile

AT = "2026-01-21T14:30:00.123Z"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
EVENTS = st.builds(Event, TEXT, st.dictionaries(TEXT, JSON, max_size=3), st.integers(1, 99))
DRAFTS = st.builds(
    Draft, st.lists(EVENTS, max_size=3).map(tuple), TEXT, st.sampled_from(codec.ORIGINS), st.none() | TEXT
)


def an_id(number: int) -> str:
    return f"{number:016x}-abcdefgh"


def chained(*drafts: Draft) -> list[bytes]:
    """The lines of a stream with these drafts, without line feeds."""
    lines, previous = [], GENESIS
    for number, draft in enumerate(drafts, start=1):
        line, commit = codec.encode(draft, an_id(number), AT, previous)
        previous = commit.sum
        lines.append(line[:-1])
    return lines


def noted(text: str, op: str | None = None) -> Draft:
    return Draft((Event("note.added", {"text": text}),), "ann", "agent", op)


def faults(lines: list[bytes]) -> list[str | None]:
    """What a reader finds wrong with each line; after a damaged one the chain restarts. The fast check, which only
    says whether a line follows the one before it, must agree for every line."""
    found: list[str | None] = []
    previous: str | None = GENESIS
    for line in lines:
        found.append(codec.fault_of(line, previous))
        if previous is not None:
            assert codec.verify_chained(line, previous) == (None if found[-1] else codec.sum_of(line))
        previous = None if found[-1] else codec.sum_of(line)
    return found


@given(DRAFTS)
def test_round_trip(draft: Draft) -> None:
    """Decoding a line gives the commit that was encoded, and its fields are found by offset."""
    line, commit = codec.encode(draft, an_id(1), AT, GENESIS)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    line = line[:-1]
    assert codec.decode(line) == commit
    assert (codec.id_of(line), codec.sum_of(line)) == (commit.id, commit.sum)
    assert codec.fault_of(line, GENESIS) is None


@given(DRAFTS)
def test_a_line_is_compact_json_in_fixed_order(draft: Draft) -> None:
    """A line is exactly what a plain JSON encoder makes of the commit, keys in the order of the format."""
    line, commit = codec.encode(draft, an_id(1), AT, GENESIS)
    record: dict[str, Any] = {"v": 1, "id": commit.id, "at": AT, "by": draft.by, "origin": draft.origin}
    if draft.op is not None:
        record["op"] = draft.op
    record["events"] = [{"type": e.type, "v": e.v, "data": e.data} for e in draft.events]
    record["sum"] = commit.sum
    assert line == json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def test_hostile_texts() -> None:
    """Hostile texts are read back unchanged from a chain without a fault."""
    lines = chained(*map(noted, hostile.TEXTS))
    assert [codec.decode(line).events[0].data["text"] for line in lines] == hostile.TEXTS
    assert faults(lines) == [None] * len(lines)


def test_every_flipped_bit_is_found() -> None:
    """Whichever bit of three lines flips, exactly that line is reported."""
    lines = chained(noted("one", "o"), noted("zwö"), noted("three"))
    for number, line in enumerate(lines):
        for place in range(len(line)):
            for bit in range(8):
                damaged = bytearray(line)
                damaged[place] ^= 1 << bit
                changed = [*lines[:number], bytes(damaged), *lines[number + 1 :]]
                try:
                    found = faults(changed)
                except Newer:
                    assert place == len(b'{"v":')
                    continue
                assert [bool(what) for what in found] == [n == number for n in range(3)]


@pytest.mark.parametrize("number", range(3))
def test_every_truncation_is_found(number: int) -> None:
    """A truncated line is reported, and the others stay readable."""
    lines = chained(noted("one"), noted("two"), noted("three"))
    for end in range(len(lines[number])):
        found = faults([*lines[:number], lines[number][:end], *lines[number + 1 :]])
        assert [bool(what) for what in found] == [n == number for n in range(3)]


def test_other_orders_and_gaps_are_found() -> None:
    """Swapped, repeated and missing lines break the chain."""
    one, two, three = chained(noted("one"), noted("two"), noted("three"))
    for wrong in ([two, one, three], [one, three, two], [one, three], [two, three], [one, one, two, three]):
        assert "the line does not follow the one before it" in faults(wrong)
    assert faults([one, two]) == [None, None]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"", "zero bytes"),
        (b"\0" * 300, "zero bytes"),
        (b"<<<<<<< HEAD", "conflict marker"),
        (b"=======", "conflict marker"),
        (b">>>>>>> theirs", "conflict marker"),
        (b"||||||| base", "conflict marker"),
        (b'{"role":"user","content":"hi"}', "not a commit"),
        (b"[]", "not a commit"),
        (b"\xff\xfe\x00", "not a commit"),
        (b"x" * (codec.MAX_LINE + 1), "longer than"),
    ],
)
def test_foreign_lines_are_named(line: bytes, what: str) -> None:
    """A line that is no commit is reported as such."""
    for previous in (GENESIS, None):
        assert what in (codec.fault_of(line, previous) or "")
    assert codec.verify_chained(line, GENESIS) is None


@pytest.mark.parametrize("version", [2, 3, 10, 999])
def test_a_newer_format_is_refused(version: int) -> None:
    """A line of a later format is not damage: the release says that it is too old."""
    (line,) = chained(noted("x"))
    body = line.replace(b'{"v":1,', b'{"v":%d,' % version).rpartition(b',"sum":')[0]
    newer = body + b',"sum":"' + codec.chain(GENESIS, body).encode() + b'"}'
    with pytest.raises(Newer, match=str(version)):
        codec.fault_of(newer, GENESIS)
    assert codec.newer_format(line) is None


@pytest.mark.parametrize("version", [b"0", b"-1", b"x", b"1.5", b"", b'"2"'])
def test_other_version_fields_are_damage(version: bytes) -> None:
    """A version field that no release writes is damage."""
    (line,) = chained(noted("x"))
    assert codec.fault_of(line.replace(b'{"v":1,', b'{"v":%b,' % version), GENESIS) == "not a commit"


def test_the_size_limit() -> None:
    """A line of exactly the limit is accepted, one byte more is refused."""
    room = codec.MAX_LINE - len(chained(noted(""))[0])
    (line,) = chained(noted("x" * room))
    assert len(line) == codec.MAX_LINE
    assert codec.fault_of(line, GENESIS) is None
    with pytest.raises(TooLarge):
        chained(noted("x" * (room + 1)))


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), b"x", {1}, object(), "\ud800", {"\udfff": 1}, 1j]
)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    """Data that is not plain JSON is refused."""
    with pytest.raises(Refused):
        chained(Draft((Event("x.y", {"x": value}),), "ann", "agent"))


def test_recursive_data_is_refused() -> None:
    """Data that contains itself, or is nested too deeply, is refused."""
    endless: dict[str, Any] = {}
    endless["x"] = endless
    deep: Any = {}
    for _ in range(100_000):
        deep = {"x": deep}
    for data in (endless, deep):
        with pytest.raises(Refused):
            chained(Draft((Event("x.y", data),), "ann", "agent"))
    while deep:  # taken apart by hand: the interpreter would do it recursively
        deep = deep.pop("x", None)


@settings(max_examples=300)
@given(st.binary(max_size=200) | TEXT.map(str.encode))
def test_any_bytes_are_checked_without_a_crash(line: bytes) -> None:
    """Any bytes get a verdict, and decoding them raises Damaged only."""
    assert codec.fault_of(line, GENESIS)
    with pytest.raises(Damaged):
        codec.decode(line)


@given(JSON)
def test_any_other_json_is_damaged(value: Any) -> None:
    """JSON of another shape is damage, never another error."""
    with pytest.raises(Damaged):
        codec.decode(json.dumps(value).encode())


@given(st.integers(min_value=2, max_value=99))
def test_a_damaged_format_number_is_damage_and_no_newer_format(number: int) -> None:
    """A flipped bit in the format number costs one line, not the stream: with the right number the checksum matches."""
    (line,) = chained(Draft((Event("note.added", {"text": "x"}, 1),), "a", "agent", None))
    damaged = line.replace(b'{"v":1', b'{"v":%d' % number, 1)
    assert codec.fault_of(damaged, GENESIS) == "the format number is damaged"
