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


def _behind_its_segment(root: Path) -> bytes:
    """A workspace whose segment has two commits more than its header, as after a power cut; returns the segment."""
    store = FilesStore(str(root), clock=wall_clock)
    store.append(STREAM, saying("one"))
    (lock,) = (root / "local" / "locks").glob("*.lock")
    header = lock.read_bytes()
    store.append(STREAM, saying("two"))
    store.append(STREAM, saying("three"))
    store.close()
    lock.write_bytes(header)
    return segment_in(root).read_bytes()


def _with_stale_chain(line: bytes, older: bytes) -> bytes:
    """A line of whose checksum only the half that chains it is of an older line."""
    end = len(b'"}\n')
    half = 24
    return line[: -end - half] + older[-end - half :]


@pytest.mark.parametrize("reread", [True, False], ids=["read before", "at once"])
@pytest.mark.parametrize("stale", [1, 2], ids=["two", "three"])
def test_a_line_with_a_stale_chain_is_never_built_upon(tmp_path: Path, stale: int, reread: bool) -> None:
    """Lines that nobody knows to be written, from one on whose chain is stale, are saved aside and written again."""
    root = tmp_path / ".state"
    lines = _behind_its_segment(root).splitlines(keepends=True)
    lines[stale] = _with_stale_chain(lines[stale], lines[0])
    segment_in(root).write_bytes(b"".join(lines))
    store = FilesStore(str(root), clock=wall_clock)
    cursor = None
    if reread:
        before = store.read(STREAM)
        assert (texts(before), bool(before.faults)) == (["one", "two", "three"], True)
        cursor = before.cursor
    done = store.append(STREAM, saying("four"), cursor=cursor)
    assert store.append(STREAM, saying("five"), cursor=done.cursor).version == 5
    store.close()
    after = FilesStore(str(root), clock=wall_clock)
    for start in (None, cursor, done.cursor):
        assert after.read(STREAM, cursor=start).faults == ()
    assert texts(after.read(STREAM)) == ["one", "two", "three", "four", "five"]
    assert len(segment_in(root).read_bytes().splitlines()) == 5
    assert [path.read_bytes() for path in (root / "local" / "quarantine").glob("*.bin")] == [
        b"".join(lines[stale:])
    ]
    assert [fault for fault in after.check() if not fault.harmless] == []
    after.close()


def test_a_whole_line_after_garbage_is_never_built_upon(tmp_path: Path) -> None:
    """The same where a line before the last one is unreadable: the last one is written again in its place."""
    root = tmp_path / ".state"
    lines = _behind_its_segment(root).splitlines(keepends=True)
    lines[1] = b"\0" * (len(lines[1]) - 1) + b"\n"
    segment_in(root).write_bytes(b"".join(lines))
    store = FilesStore(str(root), clock=wall_clock)
    store.append(STREAM, saying("four"))
    store.close()
    after = FilesStore(str(root), clock=wall_clock)
    tail = after.read(STREAM)
    assert (texts(tail), tail.faults) == (["one", "three", "four"], ())
    assert [fault for fault in after.check() if not fault.harmless] == []
    after.close()
