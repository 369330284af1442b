"""One process, many streams."""

from __future__ import annotations

import os
from pathlib import Path

import holdfast


def test_a_process_can_write_to_more_streams_than_it_may_have_files(project: Path) -> None:
    """Files of idle streams are closed, and reopened on demand."""
    before = len(os.listdir("/proc/self/fd"))
    with holdfast.open() as workspace:
        sessions = [workspace.start(f"session {number}") for number in range(130)]
        assert len(os.listdir("/proc/self/fd")) - before < 220
        for session in sessions:
            session.note("again")
        assert {session.version for session in sessions} == {2}
