"""Opening a long stream costs the same however long it is, even while others write to it."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.core.codec import Draft, Event
from holdfast.store.files import segment_set
from holdfast.store.protocol import AppendContext, PreparedCommit


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_what_a_snapshot_covers_is_read_again_only_if_it_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    """A segment that was appended to after the snapshot is verified from its first line only up to a length."""
    texts = 40 if long else 1
    with holdfast.init(tmp_path) as workspace:
        session = workspace.start("long")
        stream = session.stream
        for number in range(texts):
            session.record("x.text", {"text": f"{number:04} word " * 700})
    with holdfast.open(tmp_path) as workspace:  # its commit is in no snapshot

        def plan(context: AppendContext) -> PreparedCommit:
            return PreparedCommit(Draft((Event("x.more", {}),), "ada", "agent"), {})

        workspace.store.append(stream, plan)
    verified = []
    honest = segment_set.SegmentSet._is_intact

    def watched(self: segment_set.SegmentSet, fd: int, mark: segment_set.Mark) -> bool:
        verified.append(mark.offset)
        return honest(self, fd, mark)

    monkeypatch.setattr(segment_set.SegmentSet, "_is_intact", watched)
    monkeypatch.setattr(segment_set, "_RECHECKED", 10_000)
    with holdfast.open(tmp_path) as workspace:
        assert workspace.session().version == texts + 2
    assert bool(verified) is not long
