"""A segment of garbage, which packs to nearly nothing in git."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import holdfast
from holdfast.core import codec, ids
from holdfast.fs import posix
from holdfast.store import faults
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.files.segments import MOST_TROUBLES, name_of
from holdfast.workspace.setup import init

WRITER = "abcdefgh"


def test_damage_is_named_for_a_bounded_number_of_lines(tmp_path: Path) -> None:
    """However many lines are garbage, some are named, all are counted, and the commits after them are read."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("go on")
        session.note("kept")
    folder = tmp_path / ".state" / "events" / session.stream
    (own,) = folder.glob("*.jsonl")
    garbage = b"\n" * 50_000
    other = folder / name_of(session.stream, WRITER, 1)
    other.write_bytes(garbage + own.read_bytes())
    part = segments.read_part(posix, str(other), segments.UNREAD)
    assert len(part.troubles) == MOST_TROUBLES + 1
    assert part.troubles[-1].line == MOST_TROUBLES + 1
    assert part.troubles[-1].what == f"{50_000 - MOST_TROUBLES:,} more lines from here on hold no commit"
    assert part.damaged == 50_000
    assert len(part.lines) == 2
    with holdfast.open(tmp_path) as workspace:
        found = workspace.session(session.id).peek().faults
        assert 0 < len(found) <= MOST_TROUBLES + 1
        assert workspace.session(session.id).state["notes"]["count"] == 1
        (named,) = [f for f in workspace.doctor() if f.kind == faults.DAMAGED_LINE and "more" in f.what]
        assert named.where.endswith(f":{MOST_TROUBLES + 1}")


def test_garbage_between_commits_has_the_same_line_numbers(tmp_path: Path) -> None:
    """Lines are numbered and offsets counted alike, whether garbage comes in one run or in many."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("go on")
        for number in range(5):
            session.note(str(number))
    folder = tmp_path / ".state" / "events" / session.stream
    (own,) = folder.glob("*.jsonl")
    commits = own.read_bytes().splitlines(keepends=True)
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"".join(b"\n" * size + commit for size, commit in enumerate(commits)) + b"x\ny\nhalf")
    part = segments.read_part(posix, str(path), segments.UNREAD)
    assert (part.mark.rows, part.damaged, part.torn, len(part.lines)) == (6 + 15 + 2, 17, 4, 6)
    assert part.mark.offset == path.stat().st_size - 4
    wanted = [number for number, line in enumerate(path.read_bytes().split(b"\n"), 1) if len(line) > 9]
    assert [number for number, _ in segments.numbered(posix, str(path))] == wanted


def _smuggle(place: tuple[str, Path], stream: str, count: int) -> None:
    """Add commits with right checksums that hold no valid event."""
    engine, folder = place
    bodies = [
        b'{"v":1,"id":"%016x-%s","at":"x","by":"","origin":"","events":7' % (number + 1, WRITER.encode())
        for number in range(count)
    ]
    if engine == "files":
        previous, lines = codec.GENESIS, []
        for body in bodies:
            previous = codec.chain(previous, body)
            lines.append(body + b',"sum":"%b"}\n' % previous.encode())
        path = folder / ".state" / "events" / stream / name_of(stream, WRITER, 1)
        path.write_bytes(b"".join(lines))
        return
    db = sqlite3.connect(folder / "state.db", isolation_level=None)
    (number,) = db.execute("SELECT number FROM streams WHERE name = ?", (stream,)).fetchone()
    seq, last = db.execute(
        "SELECT seq, line FROM commits WHERE stream = ? ORDER BY seq DESC", (number,)
    ).fetchone()
    previous = codec.sum_of(line_of(last))
    for index, body in enumerate(bodies, 1):
        previous = codec.chain(previous, body)
        line = body + b',"sum":"%b"}' % previous.encode()
        row = (number, seq + index, f"{index:016x}-{WRITER}", line)
        db.execute("INSERT INTO commits (stream, seq, id, line) VALUES (?, ?, ?, ?)", row)
    db.close()


@pytest.mark.parametrize("engine", ["files", "sqlite"])
def test_malformed_commits_are_summarised(tmp_path: Path, engine: str) -> None:
    """Doctor names the first malformed commits one by one, and counts the rest."""
    where = str(tmp_path) if engine == "files" else f"sqlite:///{tmp_path}/state.db"
    if engine == "files":
        init(str(tmp_path), given=True)
    with holdfast.open(where) as workspace:
        session = workspace.start("go on")
    assert ids.is_writer(WRITER)
    _smuggle((engine, tmp_path), session.stream, 1000)
    with holdfast.open(where) as workspace:
        found = [f for f in workspace.doctor() if f.kind == faults.MALFORMED_COMMIT]
        assert len(found) == 20 + 1
        assert f"{1000 - 20:,} more from here on" in found[-1].what
        workspace.session(session.id).note("kept")
