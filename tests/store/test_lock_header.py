"""The header of the lock file: the writer's state."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import holdfast
from holdfast.store.files.lockfile import decode_header
from holdfast.store.files.segments import name_of
from holdfast.workspace.session import Session

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


def stored(session: Session) -> tuple[int, int]:
    """The size of the segment according to the header, and its real size."""
    root = Path(session.workspace.where)
    memory = decode_header(
        (root / "local" / "locks" / f"{session.stream.replace('/', '+')}.lock").read_bytes()
    )
    assert memory is not None
    segment = root / "events" / session.stream / name_of(session.stream, memory.writer, memory.segment)
    return memory.size, segment.stat().st_size


def burst(session: Session, count: int = 40) -> None:
    """Commits in quick succession, the first after the folder's timestamp has settled."""
    time.sleep(0.06)
    for number in range(count):
        session.record("x.step", {"n": number})


def test_the_header_is_right_after_every_commit(project: Path) -> None:
    """Forty commits in a row: the header names the length of the segment after each of them."""
    session = holdfast.open(project).start("burst")
    for number in range(40):
        session.record("x.step", {"n": number})
        size, real = stored(session)
        assert size == real


def test_handles_that_take_turns_write_one_segment(project: Path) -> None:
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


def test_numbers_are_stored_before_the_command_returns(project: Path) -> None:
    """A new short id is in the header before the command returns: no branch can use it twice."""
    session = holdfast.open(project).start("numbers")
    burst(session)
    session.decide("now", because="it must not be forgotten")
    size, real = stored(session)
    assert size == real


def test_a_killed_process_leaves_a_header_that_the_next_one_uses(project: Path) -> None:
    """After kill -9 during a burst the next process continues the same segment."""
    session = holdfast.open(project, user="alice").start("killed")
    for how, version in (("die", 41), ("close", 81), ("die", 121)):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, cwd=project
        )
        assert int(done.stdout) == version, done.stderr
    assert session.version == 121
    assert len(list((project / ".state" / "events" / session.stream).iterdir())) == 1
