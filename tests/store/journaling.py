"""Real processes with journals, and the effects of a power cut on their segments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import BLOCK, Entry, JournalPolicy, entries_in
from holdfast.testing.plans import texts, wall_clock

STREAM = "sessions/ada/2026-01-21-a1b2c3d4"
AFTER = 3
"""The processes here create a journal with their third commit."""
PROGRAM = """
import sys
from holdfast.recovery.files_store import FilesStore
from holdfast.store.files.journal import JournalPolicy
from holdfast.testing.plans import saying, wall_clock
root, stream, name, after, size = sys.argv[1:]
store = FilesStore(root, clock=wall_clock, journal_policy=JournalPolicy(after=int(after), size=int(size)))
cursor, number = None, 0
for line in sys.stdin:
    for _ in range(int(line)):
        number += 1
        cursor = store.append(stream, saying(f"{name} {number}"), cursor=cursor).cursor
    print(number, flush=True)
store.close()
"""


class Living:
    """A process with its own store. It appends on request, and runs until it is stopped or killed."""

    def __init__(self, root: Path, stream: str, name: str, size: int) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(root), stream, name, str(AFTER), str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def append(self, count: int) -> list[str]:
        """Append so many commits, and return the texts of all its acknowledged commits."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(count, file=self._process.stdin, flush=True)
        return [f"{self.name} {number + 1}" for number in range(int(self._process.stdout.readline()))]

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.communicate()

    def end(self) -> None:
        """Close the store, and exit."""
        self._process.communicate()
        assert self._process.returncode == 0


@contextmanager
def living(root: Path, stream: str = STREAM, name: str = "ada", size: int = 64 * BLOCK) -> Iterator[Living]:
    """A process that is always stopped at the end."""
    process = Living(root, stream, name, size)
    try:
        yield process
    finally:
        process.kill()


def killed(
    root: Path, count: int = 8, stream: str = STREAM, name: str = "ada", size: int = 64 * BLOCK
) -> list[str]:
    """The acknowledged commits of a process that kill -9 ended and that left a journal."""
    with living(root, stream, name, size) as process:
        said = process.append(count)
    assert journals(root)
    return said


def opened(root: Path, journal_policy: JournalPolicy | None = None) -> FilesStore:
    return FilesStore(str(root), clock=wall_clock, journal_policy=journal_policy)


def journals(root: Path) -> list[Path]:
    folder = root / "local" / "journals"
    return sorted(folder.iterdir()) if folder.exists() else []


def entries(root: Path) -> list[Entry]:
    """The entries of the only journal."""
    (journal,) = journals(root)
    return list(entries_in(journal.read_bytes()))


def segment(root: Path, stream: str = STREAM) -> Path:
    """The only segment of a stream."""
    (found,) = (root / "events" / stream).iterdir()
    return found


def said_in(root: Path, stream: str = STREAM) -> list[str]:
    """What a new process reads, without faults."""
    store = opened(root)
    try:
        tail = store.read(stream)
        assert tail.faults == ()
        assert [fault for fault in store.check() if not fault.harmless] == []
        return texts(tail)
    finally:
        store.close()


def cut_off(path: Path, size: int) -> None:
    """Truncate a file, as a power cut would."""
    with path.open("r+b") as file:
        file.truncate(size)
