"""A stash that ran during an append, and archiving after it: git does not wait for the lock of a stream."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main


@pytest.mark.parametrize("healed", [True, False], ids=["heal", "archive"])
def test_archiving_keeps_what_a_stash_took(project: Path, healed: bool) -> None:
    """The segment came back without its last commit, which only its link has: archiving joins it too."""
    assert main(["start", "go on"]) == 0
    assert main(["decide", "first", "--because", "x"]) == 0
    (segment,) = (project / ".state" / "events" / "sessions").rglob("*.jsonl")
    stashed = segment.read_bytes()
    assert main(["decide", "second", "--because", "x"]) == 0
    segment.unlink()  # the stash had read the file before the last commit was written to it
    segment.write_bytes(stashed)
    if healed:
        assert main(["heal"]) == 0
    assert main(["archive", "add"]) == 0
    with holdfast.open(project) as workspace:
        (name,) = workspace.store.archived()
        lines = b"".join(workspace.store.read(name).lines)
        assert (lines.count(b'"first"'), lines.count(b'"second"')) == (1, 1)
        assert [fault for fault in workspace.doctor() if not fault.harmless] == []
