"""Ten thousand sessions against ten: `sessions` (first page), `status` and `resume`, in a git repository.

``python -m bench.sessions [COUNT]`` prints one row per command: median milliseconds at 10 and at COUNT sessions,
start to exit of the process, in turns, and their ratio.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from holdfast.fs import posix
from holdfast.recovery.files_store import FilesStore
from holdfast.testing.crash.wrapped import Wrapped
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.setup import init
from holdfast.workspace.workspace import Workspace

FEW = 10
ROUNDS = 25
COMMANDS = ("sessions", "status", "resume")
PROGRAM = "import sys; from holdfast.edge.cli import script; script()"


class Unsynced(Wrapped):
    """The real calls without waiting for the disk: only for creating the sessions that are measured."""

    def sync(self, fd: int) -> None:
        pass

    def sync_folder(self, path: str) -> None:
        pass


def make(folder: str, count: int) -> None:
    """A repository with ``count`` sessions of one commit each; the newest is the current one."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    root, _ = init(folder, given=True)
    workspace = Workspace(FilesStore(root, clock=wall_clock, fs=Unsynced(posix)), user="bench", by="bench")
    for number in range(count):
        workspace.start(f"session {number}")
    workspace.close()


def once(folder: str, command: str) -> float:
    """Milliseconds from start to exit."""
    environment = {**os.environ, "HOLDFAST_USER": "bench", "NO_COLOR": "1"}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", PROGRAM, command],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return (time.perf_counter() - start) * 1000


def main(many: int = 10_000) -> int:
    """Measure, print, and exit with 0 only if every ratio is within 1.5."""
    with tempfile.TemporaryDirectory() as top:
        folders = {}
        for count in (FEW, many):
            folders[count] = os.path.join(top, str(count))
            make(folders[count], count)
        worst = 0.0
        for command in COMMANDS:
            times: dict[int, list[float]] = {FEW: [], many: []}
            for _ in range(ROUNDS):
                for count, folder in folders.items():
                    times[count].append(once(folder, command))
            few, lot = (statistics.median(times[count]) for count in (FEW, many))
            worst = max(worst, lot / few)
            print(f"{command:10} {few:7.1f} ms at {FEW}   {lot:7.1f} ms at {many:,}   ratio {lot / few:.2f}")
    return 0 if worst <= 1.5 else 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:2])))
