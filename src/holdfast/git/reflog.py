"""The commits that were made in a worktree, read from git's own log of HEAD: no subprocess."""

from __future__ import annotations

import os

from holdfast.fs.port import FileSystem
from holdfast.git.refs import Repository
from holdfast.typed import Record

_TAIL = 1 << 16
"""Bytes of the log that are read."""
_MADE = (
    "commit",
    "cherry-pick",
    "revert",
    "am",
    "merge",
    "rebase (pick)",
    "rebase (squash)",
    "rebase (reword)",
)
"""Actions that make a commit; a checkout or a reset only moves HEAD."""


class Moved(Record):
    """A commit that HEAD moved to when it was made."""

    sha: str
    subject: str
    seconds: int
    """When, since the epoch."""


def made(fs: FileSystem, repository: Repository) -> list[Moved]:
    """The last commits that were made in this worktree, oldest first; empty if git keeps no log."""
    found = []
    for line in _tail(fs, os.path.join(repository.git, "logs", "HEAD")).splitlines():
        who, _, said = line.partition("\t")
        action, colon, subject = said.partition(": ")
        words = who.split(" ")
        if not colon or len(words) < 4 or not _is_made(action):
            continue
        sha, seconds = words[1], words[-2]
        if len(sha) in (40, 64) and seconds.isascii() and seconds.isdigit():
            found.append(Moved(sha, subject, int(seconds)))
    return found


def _is_made(action: str) -> bool:
    return any(action == name or action.startswith(f"{name} ") for name in _MADE)


def _tail(fs: FileSystem, path: str) -> str:
    """The end of the log, from the beginning of a line."""
    try:
        size = fs.stat(path).st_size
        start = max(0, size - _TAIL)
        fd = fs.open(path, os.O_RDONLY)
        try:
            data = fs.read(fd, _TAIL, start)
        finally:
            fs.close(fd)
    except OSError:
        return ""
    text = data.decode("utf-8", "replace")
    return text.partition("\n")[2] if start else text


def branch(fs: FileSystem, repository: Repository) -> str:
    """The branch that is checked out; empty for a detached HEAD."""
    try:
        fd = fs.open(os.path.join(repository.git, "HEAD"), os.O_RDONLY)
        try:
            head = fs.read(fd, 4096, 0).decode("utf-8", "replace").strip()
        finally:
            fs.close(fd)
    except OSError:
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
