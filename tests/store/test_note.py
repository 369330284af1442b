"""The note of a stream may lag behind a handle that appends alone; nobody must notice."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import holdfast
from holdfast.store.files.engine import FilesStore
from holdfast.store.files.segments import name_of
from holdfast.store.files.writer_state import decode_memory
from holdfast.workspace.session import Session
from holdfast.workspace.workspace import Workspace

PROGRAM = """
import os, signal, sys
import holdfast
session = holdfast.open(user="alice").session()
for number in range(40):
    session.record("x.step", {"n": number})
print(session.version, flush=True)
if sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
session.workspace.close()
"""


def noted(session: Session) -> tuple[int, int]:
    """The size of the segment as the note has it, and as it is."""
    root = Path(session.workspace.where)
    memory = decode_memory(
        (root / "local" / "locks" / f"{session.stream.replace('/', '+')}.lock").read_bytes()
    )
    assert memory is not None
    segment = root / "events" / session.stream / name_of(session.stream, memory.writer, memory.segment)
    return memory.size, segment.stat().st_size


def burst(session: Session, count: int = 40) -> None:
    """Commits in quick succession, the first of them once the folder's time stamp has settled."""
    time.sleep(0.06)
    for number in range(count):
        session.record("x.step", {"n": number})


def test_the_note_lags_in_a_burst_and_is_right_after_closing(project: Path) -> None:
    """Forty commits in a row do not write forty notes, and closing leaves the note as it should be."""
    store = FilesStore(str(project / ".state"), clock=lambda: 1_800_000_000_000)  # no time passes
    with Workspace(store, user="alice", by="alice") as workspace:
        session = workspace.start("burst")
        session.record("x.first", {})
        burst(session)
        size, real = noted(session)
        assert size < real
    size, real = noted(session)
    assert size == real


def test_another_handle_goes_on_behind_a_lagging_note(project: Path) -> None:
    """Two handles that take turns in bursts write one segment, and every commit is there once, in order."""
    one = holdfast.open(project).start("turns")
    two = holdfast.open(project).session(one.id)
    for _ in range(3):
        burst(one)
        burst(two)
    assert len(list((project / ".state" / "events" / one.stream).iterdir())) == 1
    ids = [commit.id for commit in one.log()]
    assert len(ids) == len(set(ids)) == 1 + 6 * 40 == two.version
    assert one.peek().faults == ()


def test_numbers_are_noted_at_once(project: Path) -> None:
    """A short id that was given out is in the note before the command returns: no branch can give it twice."""
    session = holdfast.open(project).start("numbers")
    burst(session)
    session.decide("now", because="it must not be forgotten")
    size, real = noted(session)
    assert size == real


def test_a_killed_process_leaves_a_note_that_the_next_one_reads_beyond(project: Path) -> None:
    """After kill -9 in the midst of a burst the next process continues the same segment."""
    session = holdfast.open(project, user="alice").start("killed")
    for how, version in (("die", 41), ("close", 81), ("die", 121)):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, cwd=project
        )
        assert int(done.stdout) == version, done.stderr
    assert session.version == 121
    assert len(list((project / ".state" / "events" / session.stream).iterdir())) == 1
