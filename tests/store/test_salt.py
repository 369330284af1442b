"""Salted lines: the same JSON in other bytes, and the line itself again when they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import commit as codec
from holdfast.store import segments
from holdfast.store.salt import unsalted

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
def test_a_line_comes_back_as_it_was(data: dict[str, Any], name: str) -> None:
    """Whatever is in a line: in a segment it is one line of the same JSON, and a reader gets the very bytes."""
    line = line_with(data)
    stored = segments.shifted("project", name, line)
    assert stored.endswith(b"\n")
    assert stored.count(b"\n") == 1
    assert segments.line_of(stored[:-1]) + b"\n" == line
    assert json.loads(stored) == json.loads(line)


@given(DATA, NAMES)
def test_the_same_commit_in_the_same_segment_has_the_same_bytes(data: dict[str, Any], name: str) -> None:
    """Wherever a segment is put together again, with or without line feeds, its bytes are those that git knows."""
    line = line_with(data)
    assert segments.shifted("project", name, line[:-1]) + b"\n" == segments.shifted("project", name, line)


@pytest.mark.parametrize(
    "text",
    [
        "No word of this is said a second time, so it stays as anybody would write it: "
        + "".join(map(chr, range(256, 500))),
        "short=" * 5,
    ],
)
def test_what_is_said_once_is_not_salted(text: str) -> None:
    """A text without repetitions can be found with grep."""
    stored = segments.shifted("project", "qcx4n43w-1.jsonl", line_with({"text": text}))
    assert text.encode() in stored
    assert not stored.startswith(b"{\t")


def test_a_repetition_is_salted_from_its_second_piece_on() -> None:
    """What comes before a repetition stays as it was."""
    stored = segments.shifted(
        "project", "qcx4n43w-1.jsonl", line_with({"text": "Look: " + "=" * 500, "why": "fun"})
    )
    assert stored.startswith(b"{\t")
    assert b'"text":"Look: ====' in stored
    assert b'"why":"fun"' in stored
    assert stored.count(b"\\u003d") > 20


@given(st.binary(max_size=300))
def test_whatever_is_in_a_line_reading_it_does_no_harm(rest: bytes) -> None:
    """A line that somebody else made may be anything: no error, and nothing that looks like a commit comes of it."""
    assert not segments.is_whole(unsalted(b"{\t" + rest))


def test_numbers_that_another_program_wrote_in_its_own_way_stay() -> None:
    """Turning a line back changes its salt and nothing else."""
    body = line_with({"n": 0, "text": "=" * 500}).replace(b'"n":0', b'"n":1.50e+3').partition(b',"sum":')[0]
    line = body + b',"sum":"' + codec.chain(codec.GENESIS, body).encode() + b'"}'
    stored = segments.shifted("project", "qcx4n43w-1.jsonl", line)
    assert stored.startswith(b"{\t")
    assert segments.line_of(stored) == line
