"""A view or snapshot that cannot be written must not turn a stored commit into an error."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.workspace import Workspace


class NoNewNotes(Wrapped):
    """A disk on which no file can be replaced, while segments still have room."""

    def rename(self, source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source)


def test_commits_succeed_while_views_and_snapshots_cannot_be_written(project: Path) -> None:
    """Commands succeed, publish reports the error, and with space again the views are written."""
    root = str(project / ".state")
    Workspace(FilesStore(root, clock=wall_clock), user="alice", by="me").start("full")
    workspace = Workspace(FilesStore(root, clock=wall_clock, fs=NoNewNotes(posix)), user="alice", by="me")
    session = workspace.session()
    for n in range(250):
        session.note(f"note {n}")
    assert session.version == 251
    (fault,) = workspace.publish()
    assert "could not be written" in fault.what
    workspace.close()
    with Workspace(FilesStore(root, clock=wall_clock), user="alice", by="me") as after:
        assert after.session().version == 251
        after.touch(after.session())
        assert after.publish() == []


def test_two_places_that_start_under_one_op_do_not_share_a_session(tmp_path: Path) -> None:
    """Session ids made from an operation id differ between clones, so plain short ids cannot collide."""
    names = set()
    for place in ("a", "b"):
        store = FilesStore(str(tmp_path / place / ".state"), clock=wall_clock)
        workspace = Workspace(store, user="alice", by="me")
        first = workspace.start("same", op="job-1")
        assert workspace.start("same", op="job-1").id == first.id
        names.add(first.id)
    assert len(names) == 2
