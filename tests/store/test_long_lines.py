"""Garbage of any length in a segment: read in one pass and in bounded memory, forwards and backwards."""

from __future__ import annotations

import os
import random
import tracemalloc
from pathlib import Path

import pytest

from holdfast.core import codec, ids
from holdfast.core.codec import Draft, Event
from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files import segments
from holdfast.testing.plans import saying, texts, wall_clock

HUGE = 200 << 20


def commits(count: int) -> list[bytes]:
    """Lines of one segment, some of them long."""
    lines, previous, last = [], codec.GENESIS, ids.ZERO
    for number in range(count):
        draft = Draft((Event("x.text", {"text": "y" * (number % 7 * 211)}),), "me", "tool")
        last = ids.next_id(last, 1_000_000, "abcdefgh")
        line, commit = codec.encode(draft, last, "2026-01-21T14:30:00.000Z", previous)
        previous = commit.sum
        lines.append(line[:-1])
    return lines


@pytest.mark.parametrize("seed", range(30))
def test_lines_are_the_same_forwards_and_backwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """However lines, garbage and a torn tail are split over reads, the same commits are found."""
    rng = random.Random(seed)
    monkeypatch.setattr(segments, "CHUNK", rng.choice([1, 7, 100, 1000, 1 << 20]))
    wanted = commits(rng.randrange(12))
    pieces = list(wanted)
    for _ in range(rng.randrange(6)):
        garbage = rng.randbytes(rng.choice([0, 1, 50, 3000])).replace(b"\n", b"x")
        pieces.insert(rng.randrange(len(pieces) + 1), garbage)
    tail = rng.choice([b"", b"torn", commits(1)[0]])
    path = tmp_path / "abcdefgh-1.jsonl"
    path.write_bytes(b"".join(piece + b"\n" for piece in pieces) + tail)
    part = segments.read_part(posix, str(path), segments.UNREAD)
    assert part.lines == wanted
    assert (part.mark.rows, part.torn) == (len(pieces), len(tail))
    assert part.mark.offset == path.stat().st_size - len(tail)
    assert list(segments.forward(posix, str(path), part.mark.offset)) == wanted
    assert list(segments.backward(posix, str(path), rng.choice([1, 7, 100, 1 << 16]))) == wanted[::-1]
    places = [number for number, piece in enumerate(pieces, 1) if piece in wanted]
    assert list(segments.numbered(posix, str(path))) == list(zip(places, wanted, strict=True))


@pytest.mark.parametrize("where", ["tail", "middle"])
def test_garbage_without_end_costs_no_memory(tmp_path: Path, where: str) -> None:
    """Hundreds of megabytes in one line are skipped piece by piece, and reported."""
    store = FilesStore(str(tmp_path / ".state"), clock=wall_clock)
    store.append("project", saying("one"))
    (path,) = (tmp_path / ".state" / "events" / "project").iterdir()
    os.truncate(path, path.stat().st_size + HUGE)
    if where == "middle":
        with path.open("ab") as file:
            file.write(b"\n")
    tracemalloc.start()
    try:
        again = FilesStore(str(tmp_path / ".state"), clock=wall_clock)
        tail = again.read("project")
        assert texts(tail) == ["one"]
        assert len(list(again.read("project", newest_first=True).lines)) == 1
        assert [fault.where.rpartition(":")[2] for fault in tail.faults] == (
            ["2"] if where == "middle" else []
        )
        assert tracemalloc.get_traced_memory()[1] < HUGE // 3
    finally:
        tracemalloc.stop()
        again.close()
        store.close()
