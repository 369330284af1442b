"""Old bytes after the last line of a segment, as a power cut can leave them, including complete lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.recovery.files_store import FilesStore
from holdfast.testing.plans import saying, texts, wall_clock

STREAM = "sessions/ada/2026-01-21-a1b2c3d4"


def segment_in(folder: Path) -> Path:
    (found,) = folder.rglob("events/**/*.jsonl")
    return found


@pytest.mark.parametrize(
    "between", [b"", b'{ "v":1,"id":"half of a line\n', b"\0" * 40 + b"\n"], ids=["", "half", "zeros"]
)
@pytest.mark.parametrize("behind", [b"", b"half"], ids=["", "torn"])
@pytest.mark.parametrize("reread", [True, False], ids=["reread", "at once"])
def test_a_repeated_line_at_the_end_is_a_torn_tail(
    tmp_path: Path, between: bytes, behind: bytes, reread: bool
) -> None:
    """Repeated lines at the end of a file are truncated and saved; appending continues after the new ones."""
    root = tmp_path / ".state"
    store = FilesStore(str(root), clock=wall_clock)
    for text in ("one", "two"):
        store.append(STREAM, saying(text))
    store.close()
    segment = segment_in(root)
    before = segment.read_bytes()
    torn = between + before.splitlines(keepends=True)[-1] + behind
    segment.write_bytes(before + torn)
    store = FilesStore(str(root), clock=wall_clock)
    if reread:
        assert texts(store.read(STREAM)) == ["one", "two"]
    done = store.append(STREAM, saying("three"))
    assert done.version == 3
    assert store.append(STREAM, saying("four"), cursor=done.cursor).version == 4
    store.close()
    with_all = FilesStore(str(root), clock=wall_clock)
    tail = with_all.read(STREAM)
    assert (texts(tail), tail.version, tail.faults) == (["one", "two", "three", "four"], 4, ())
    assert segment.read_bytes().startswith(before)
    assert [path.read_bytes() for path in (root / "local" / "quarantine").glob("*.bin")] == [torn]
    assert [fault for fault in with_all.check() if not fault.harmless] == []
    with_all.close()


def test_moved_lines_are_no_torn_tail(tmp_path: Path) -> None:
    """A commit at the end that is nowhere else in the segment is never cut, whatever the order of lines."""
    root = tmp_path / ".state"
    store = FilesStore(str(root), clock=wall_clock)
    for text in ("one", "two", "three"):
        store.append(STREAM, saying(text))
    store.close()
    segment = segment_in(root)
    one, two, three = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(one + three + two + one)
    store = FilesStore(str(root), clock=wall_clock)
    assert store.append(STREAM, saying("four")).version == 4
    store.check(fix=True)
    assert texts(store.read(STREAM)) == ["one", "two", "three", "four"]
    written = b"".join(path.read_bytes() for path in root.rglob("events/**/*.jsonl"))
    assert all(line in written for line in (one, two, three))
    store.close()
