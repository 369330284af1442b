"""The disk usage of a workspace: long notes, and many small sessions.

``python bench/disk_usage.py [--sessions 2000] [--git]`` prints, per folder, how many files there are, how many bytes
they hold, and how many the file system allocates: a file of ten bytes takes a block.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import holdfast
from holdfast.workspace.setup import init

NOTE = 100_000
GROUPS = (
    "events",
    "sessions",
    "local/locks",
    "local/snapshots",
    "local/journals",
    "local/kept",
    ".git/holdfast",
)


def words(seed: int, size: int) -> str:
    """A text without repetitions."""
    drawn = random.Random(seed)
    return " ".join(f"{drawn.getrandbits(32):x}" for _ in range(size // 8))[:size]


def group_of(path: Path, top: Path) -> str:
    name = str(path.relative_to(top)).removeprefix(".state/")
    return next((group for group in GROUPS if name.startswith(f"{group}/")), "other")


def usage(top: Path) -> dict[str, tuple[int, int, int]]:
    """Files, bytes and bytes of blocks, by group. A file with two hard links counts once."""
    files, sizes, blocks = Counter[str](), Counter[str](), Counter[str]()
    seen: set[int] = set()
    for folder, folders, names in os.walk(top):
        for name in (*folders, *names):
            path = Path(folder, name)
            found = path.lstat()
            if found.st_ino in seen or (".git" in path.parts and "holdfast" not in path.parts):
                continue
            seen.add(found.st_ino)
            group = group_of(path, top)
            files[group] += 1
            sizes[group] += found.st_size if name in names else 0
            blocks[group] += found.st_blocks * 512
    return {group: (files[group], sizes[group], blocks[group]) for group in files}


def show(title: str, top: Path, text: int) -> None:
    found = usage(top)
    print(f"\n{title}: {text:,} bytes of text")
    print(f"{'':16} {'files':>8} {'bytes':>12} {'on disk':>12}")
    for group, (files, size, blocks) in sorted(found.items()):
        print(f"{group:16} {files:8,} {size:12,} {blocks:12,}")
    files, size, blocks = (sum(column) for column in zip(*found.values(), strict=True))
    print(f"{'all':16} {files:8,} {size:12,} {blocks:12,}")


def prepared(folder: str, *, git: bool) -> Path:
    top = Path(folder, "project")
    top.mkdir()
    if git:
        subprocess.run(["git", "init", "-q", str(top)], check=True)
    init(str(top))
    return top


def one_long_note(*, git: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = prepared(folder, git=git)
        with holdfast.open(top) as workspace:
            workspace.start("Write it down").note(words(1, NOTE))
        show("one note of 100 KB", top, NOTE)


def many_sessions(count: int, *, git: bool) -> None:
    text = 0
    with tempfile.TemporaryDirectory() as folder:
        top = prepared(folder, git=git)
        for number in range(count):
            with holdfast.open(top) as workspace:
                session = workspace.start(f"Task {number}")
                for part in range(3):
                    said = words(number * 3 + part, 400)
                    session.note(said)
                    text += len(said)
        show(f"{count:,} small sessions", top, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--git", action="store_true", help="in a git repository")
    given = parser.parse_args()
    one_long_note(git=given.git)
    many_sessions(given.sessions, git=given.git)


if __name__ == "__main__":
    main()
