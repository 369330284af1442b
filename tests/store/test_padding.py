"""Longer lines have padding in a segment, and are themselves again when they are read."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import codec
from holdfast.store.files import segments
from holdfast.store.files.padding import BLANKS, COVERED, LONG, MOST, line_of

ID, AT = "019bbef3f2aa0000-qcx4n43w", "2026-01-21T14:30:00.123Z"
CHARACTERS = st.sampled_from(
    ["=", " ", "a b ", "\\", '"', "\n", "\x01", "\x7f", "é", "漢", "🦀", "\\u0041", "\\n", "/", ", "]
)
TEXTS = st.builds(lambda part, times: part * times, CHARACTERS | st.text(max_size=70), st.integers(0, 60))
DATA = st.dictionaries(
    st.sampled_from(["a", "b c", "é"]),
    st.recursive(
        TEXTS | st.integers() | st.booleans(), lambda inner: st.lists(inner, max_size=4), max_leaves=6
    )
    | st.builds(lambda value, times: [value] * times, TEXTS | st.integers(), st.integers(0, 8)),
    max_size=3,
)
NAMES = st.builds(
    segments.name_of, st.just("project"), st.sampled_from(["qcx4n43w", "00000000"]), st.integers(1, 99)
)


def line_with(data: dict[str, Any]) -> bytes:
    draft = codec.Draft((codec.Event("test.said", data),), "ann", "agent")
    return codec.encode(draft, ID, AT, codec.GENESIS)[0]


@given(DATA, NAMES)
def test_a_line_round_trips(data: dict[str, Any], name: str) -> None:
    """Whatever is in a line: in a segment it is one line of the same JSON, and a reader gets the very bytes."""
    line = line_with(data)
    stored = segments.in_column("project", name, line)
    assert stored.endswith(b"\n")
    assert stored.count(b"\n") == 1
    assert line_of(stored[:-1]) + b"\n" == line
    assert json.loads(stored) == json.loads(line)


@given(DATA, NAMES)
def test_the_same_commit_in_the_same_segment_has_the_same_bytes(data: dict[str, Any], name: str) -> None:
    """Wherever a segment is put together again, with or without line feeds, its bytes are those that git knows."""
    line = line_with(data)
    assert segments.in_column("project", name, line[:-1]) + b"\n" == segments.in_column("project", name, line)


@pytest.mark.parametrize("length", [0, 50, 150, 300, 600, 900, 1000])
def test_less_than_half_of_a_usual_line_can_match_another(length: int) -> None:
    """What is drawn for a line, and what only it has, is more than half of it."""
    line = line_with({"text": "x" * length})
    stored = segments.in_column("project", "qcx4n43w-1.jsonl", line)
    own = 2 * 64 + 40
    assert len(line) <= COVERED
    assert len(line) - own <= 0.48 * len(stored)


@pytest.mark.parametrize("length", [0, 300, 1000, 4000, 100_000, 1_000_000])
def test_padding_is_bounded(length: int) -> None:
    """However long a line is, it gets no more than 1,024 bytes of padding, behind its opening spaces."""
    line = line_with({"texts": ["x" * 1000] * (length // 1000)})
    stored = segments.in_column("project", "qcx4n43w-1.jsonl", line)
    assert len(stored) - len(line) <= 62 + MOST


def test_a_short_line_has_no_padding() -> None:
    """Nothing but the spaces behind the brace is added to a line of 280 bytes."""
    line = line_with({"text": "x" * (LONG - len(line_with({"text": ""})) + 1)})
    stored = segments.in_column("project", "qcx4n43w-1.jsonl", line)
    assert len(line) == LONG + 1  # the line feed
    assert stored == segments.opening_of("project", "qcx4n43w-1.jsonl") + line[1:]


def test_a_text_stays_as_it_was_written() -> None:
    """Whatever a text says, also again and again, can be found with grep and by a scanner for secrets."""
    text = "The key is AKIAIOSFODNN7EXAMPLE, " * 40
    stored = segments.in_column("project", "qcx4n43w-1.jsonl", line_with({"text": text}))
    assert f'"text":"{text}"'.encode() in stored


def test_no_two_segments_have_the_same_padding() -> None:
    """The padding follows from the segment, and holds few pieces that lines of other segments have."""
    pieces: set[bytes] = set()
    for writer in ("k7f3q2xw", "qcx4n43w"):
        for number in range(1, 40):
            name = segments.name_of("project", writer, number)
            stored = segments.in_column("project", name, line_with({"text": "x" * 900}))
            padding = stored[: stored.index(b',"sum"')].rpartition(b"]")[2]
            assert not padding.strip(BLANKS)
            found = {padding[at : at + 64] for at in range(0, len(padding) - 64, 64)}
            assert len(found) >= 14
            assert len(found & pieces) < len(found) / 4
            pieces |= found


@pytest.mark.parametrize("length", [150, 500, 1000, 1100, 3500, 20_000, 1_000_000])
def test_another_program_can_write_the_same_padding(length: int) -> None:
    """A line made after docs/format.md alone has the bytes that are written here."""
    name = "qcx4n43w-7.jsonl"
    line = line_with({"text": "x" * length})[:-1]
    digits = "".join(hashlib.blake2b(f"{name}/{number}".encode()).hexdigest() for number in range(2))
    drawn = "".join(" " * int(digit, 16) + "\t" + " " * (15 - int(digit, 16)) for digit in digits)
    start = int(ID[:12], 16) % 4096
    count = min(64 + (len(line) - 280) * 5 // 4, 1024) if len(line) > 280 else 0
    shift = start % 80 if len(line) > 1200 else 0
    padding = (drawn * 2)[start:][: count - shift].encode()
    (first,) = hashlib.blake2b(b"project/qcx4n43w", digest_size=1).digest()
    spaces = b" " * (15 + (first + 7) % 24)
    made = b"{" + spaces + line[1:].replace(b',"by":', b" " * shift + b',"by":')
    made = made.replace(b',"sum":', padding + b',"sum":')
    assert segments.in_column("project", name, line) == made


@given(st.binary(max_size=300), st.sampled_from([b" ", b"\t", b" \t \t"]))
def test_whatever_is_in_a_line_reading_it_does_no_harm(rest: bytes, blanks: bytes) -> None:
    """A line that somebody else made may be anything: no error, and nothing that looks like a commit comes of it."""
    assert not segments.is_whole(line_of(b"{" + blanks + rest + blanks))


def test_number_formats_of_other_programs_are_preserved() -> None:
    """Reading such a line changes nothing but its blanks."""
    body = line_with({"n": 0, "text": "=" * 500}).replace(b'"n":0', b'"n":1.50e+3').partition(b',"sum":')[0]
    line = body + b',"sum":"' + codec.chain(codec.GENESIS, body).encode() + b'"}'
    stored = segments.in_column("project", "qcx4n43w-1.jsonl", line)
    assert b' ,"sum"' in stored or b'\t,"sum"' in stored
    assert line_of(stored) == line
