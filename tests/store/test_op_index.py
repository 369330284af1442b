"""The index of operation ids is a cache: damage leads to a rebuild, never to a second commit."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.store.test_files_contended import STREAM, wall_clock

from holdfast.core.stream import flat
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.plans import saying

COUNT = 260


@pytest.mark.parametrize("damage", ["bytes", "cut", "zeros", "empty"])
def test_a_damaged_index_repeats_no_operation(tmp_path: Path, damage: str) -> None:
    """With flipped, missing or zeroed bytes in the index, every repeated op still returns its first commit."""
    random = Random(7)
    root = str(tmp_path / ".state")
    store = FilesStore(root, clock=wall_clock)
    first = {}
    for number in range(COUNT):
        op = f"op {number}"
        first[op] = store.append(STREAM, saying("text", op=op), op=op).commit.id
    store.close()
    index = tmp_path / ".state" / "local" / "ops" / flat(STREAM)
    data = bytearray(index.read_bytes())
    start = data.rindex(b"\n", 0, len(data) - 8 * 200) + 1
    if damage == "bytes":
        for place in random.sample(range(start, len(data)), 300):
            data[place] ^= 0xFF
    elif damage == "cut":
        del data[-800:]
    elif damage == "zeros":
        data[start:] = bytes(len(data) - start)
    else:
        data.clear()
    index.write_bytes(data)
    again = FilesStore(root, clock=wall_clock)
    for op in random.sample(sorted(first), 25):
        done = again.append(STREAM, saying("text", op=op), op=op)
        assert (done.repeated, done.commit.id) == (True, first[op])
    assert again.read(STREAM).version == COUNT
