"""A segment of garbage, which packs to nearly nothing in git."""

from __future__ import annotations

from pathlib import Path

import holdfast
from holdfast.fs import posix
from holdfast.store.files import segments
from holdfast.store.files.segments import name_of
from holdfast.workspace.setup import init


def test_damage_is_named_for_a_bounded_number_of_lines(tmp_path: Path) -> None:
    """However many lines are garbage, some are named, all are counted, and the commits after them are read."""
    init(str(tmp_path), given=True)
    with holdfast.open(tmp_path) as workspace:
        session = workspace.start("go on")
        session.note("kept")
    folder = tmp_path / ".state" / "events" / session.stream
    (own,) = folder.glob("*.jsonl")
    garbage = b"\n" * 50_000
    other = folder / name_of(session.stream, "abcdefgh", 1)
    other.write_bytes(garbage + own.read_bytes())
    part = segments.read_part(posix, str(other), segments.UNREAD)
    assert len(part.troubles) == segments.MOST_TROUBLES
    assert part.damaged == 50_000
    assert len(part.lines) == 2
    with holdfast.open(tmp_path) as workspace:
        faults = workspace.session(session.id).peek().faults
        assert 0 < len(faults) <= segments.MOST_TROUBLES
        assert workspace.session(session.id).state["notes"]["count"] == 1
