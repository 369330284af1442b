"""A branch can have only a later part of a session, for example after a cherry-pick."""

from __future__ import annotations

from pathlib import Path

import holdfast
from holdfast.store.files.segments import name_of


def test_plain_numbers_are_still_resolved(project: Path) -> None:
    """A decision can be settled by its plain number where the commit that started the session is missing."""
    folder = project / ".state"
    with holdfast.open(folder) as workspace:
        session = workspace.start("half a session")
        session.decide("the first", because="reasons")
        stream, name = session.stream, session.id
    segment = next((folder / "events" / stream).iterdir())
    _, decided = segment.read_bytes().splitlines(keepends=True)
    segment.rename(project / "elsewhere")
    segment.with_name(name_of(stream, "zzzzzzzz", 1)).write_bytes(decided)
    with holdfast.open(folder) as workspace:
        session = workspace.session(name)
        assert not session.state["starter"]
        session.settle("d-1", "it worked")
        assert session.state["decisions"]["closed"][-1]["outcome"] == "it worked"
