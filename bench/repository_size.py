"""How much a git repository grows with its workspace: one decision and its outcome per git commit.

Run it with the interpreter of the release to measure: ``python bench/repository_size.py [COMMITS]``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import holdfast
from holdfast.edge.cli import main

BLOCK = 512


def git(*arguments: str, data: str | None = None) -> str:
    """Run git in the current folder, without user settings."""
    done = subprocess.run(["git", *arguments], input=data, capture_output=True, text=True, check=True)
    return done.stdout


def on_disk(folder: str) -> int:
    """Bytes that the files of a folder occupy, in whole blocks."""
    found = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_blocks * BLOCK for path in found)


def work(commits: int) -> None:
    """A session of decisions, with a git commit after each."""
    git("init", "-q")
    assert main(["init"]) == 0
    with holdfast.open() as workspace:
        workspace.start("Import all files")
    for number in range(commits):
        with holdfast.open() as workspace:
            session = workspace.session()
            made = session.decide(f"Read part {number} with the new parser", because="it is faster")
            session.settle(made.id, f"part {number} has {number * 17} rows")
        git("add", "-A")
        git("commit", "-q", "-m", f"part {number}")


def kinds() -> dict[str, tuple[int, int]]:
    """The objects of the repository by kind: how many, and bytes without compression."""
    found: dict[str, tuple[int, int]] = {}
    names = git("rev-list", "--objects", "--all")
    form = "%(objecttype) %(objectsize) %(rest)"
    for line in git("cat-file", f"--batch-check={form}", data=names).splitlines():
        kind, size, path = (*line.split(" ", 2), "")[:3]
        if kind == "blob":
            kind = next((k for k in ("STATE.md", "state.json", ".jsonl") if path.endswith(k)), "other files")
        count, total = found.get(kind, (0, 0))
        found[kind] = (count + 1, total + int(size))
    return found


def measure(commits: int) -> list[str]:
    """The table of one run."""
    work(commits)
    lines = [f"{commits} git commits, two commits of a session in each", ""]
    for kind, (count, size) in sorted(kinds().items()):
        lines.append(f"{kind:12} {count:6} objects {size / 1e6:8.2f} MB of content")
    segments = len(list(Path(".state/events").rglob("*.jsonl")))
    tracked = git("ls-files", ".state").splitlines()
    lines += ["", f"segments {segments}, tracked files {len(tracked)}"]
    lines.append(f"objects, loose  {on_disk('.git/objects') / 1e6:8.2f} MB on disk")
    git("gc", "-q", "--prune=now")
    lines.append(f"objects, packed {on_disk('.git/objects') / 1e6:8.2f} MB on disk")
    lines.append(f"pins            {on_disk('.git/holdfast') / 1e6:8.2f} MB on disk")
    lines.append(f".state          {on_disk('.state') / 1e6:8.2f} MB on disk")
    return lines


def run(commits: int) -> None:
    """Measure in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=f"{folder}/gitconfig", HOLDFAST_USER="bench"
        )
        settings = "[user]\nname = Bench\nemail = bench@example.invalid\n[gc]\nauto = 0\n"
        (Path(folder) / "gitconfig").write_text(settings)
        project = Path(folder) / "project"
        project.mkdir()
        os.chdir(project)
        lines = measure(commits)
        os.chdir("/")
    print("\n".join(lines))


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
