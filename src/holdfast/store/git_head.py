"""Which git commit is checked out, read from the git directory itself: no subprocess, a few stats when cached.

The files engine starts a new segment whenever this changes, so the answer only has to be *different* after
every commit, checkout, reset, rebase, amend and branch switch; it is compared, never interpreted.
"""

from __future__ import annotations

import os

from holdfast.fs import steps
from holdfast.fs.port import FileSystem

NO_GIT = ""


def find_git(fs: FileSystem, folder: str) -> tuple[str, str] | None:
    """The git directory and the common directory that govern ``folder``, or None."""
    while True:
        dot = os.path.join(folder, ".git")
        try:
            found = fs.stat(dot)
        except OSError:
            parent = os.path.dirname(folder)
            if parent == folder:
                return None
            folder = parent
            continue
        git = dot
        if not _is_folder(found.st_mode):  # a worktree or submodule: the file names the real place
            text = _read(fs, dot)
            if not text.startswith("gitdir:"):
                return None
            git = os.path.normpath(os.path.join(folder, text[len("gitdir:") :].strip()))
        common = _read(fs, os.path.join(git, "commondir")).strip()
        return git, os.path.normpath(os.path.join(git, common)) if common else git


class GitHead:
    """The checked-out commit of the repository around a folder, as a text that changes when it changes."""

    def __init__(self, fs: FileSystem, folder: str) -> None:
        self._fs = fs
        self._places = find_git(fs, folder)
        self._watched: list[str] = []
        self._stamps: list[tuple[int, int, int] | None] = []
        self._token = NO_GIT

    def token(self) -> str:
        """Branch and commit, such as ``refs/heads/main 1f3…``; empty without git."""
        if self._places is None:
            return NO_GIT
        if self._watched and [self._stamp(path) for path in self._watched] == self._stamps:
            return self._token
        git, common = self._places
        self._watched = [os.path.join(git, "HEAD")]
        # Stamps are taken before reading: a change in between shows up as a changed stamp the next time.
        self._stamps = [self._stamp(self._watched[0])]
        self._token = self._resolve(common, _read(self._fs, self._watched[0]).strip())
        return self._token

    def _resolve(self, common: str, head: str) -> str:
        if not head.startswith("ref:"):
            return head
        ref = head[len("ref:") :].strip()
        loose = os.path.join(common, *ref.split("/"))
        self._watch(loose)
        if value := _read(self._fs, loose).strip():
            return f"{ref} {value}"
        packed = os.path.join(common, "packed-refs")
        self._watch(packed)
        for line in _read(self._fs, packed).splitlines():
            if line.endswith(f" {ref}"):
                return f"{ref} {line.split(' ')[0]}"
        tables = os.path.join(common, "reftable", "tables.list")
        self._watch(tables)
        return f"{ref} {_read(self._fs, tables)}"

    def _watch(self, path: str) -> None:
        self._watched.append(path)
        self._stamps.append(self._stamp(path))

    def _stamp(self, path: str) -> tuple[int, int, int] | None:
        try:
            found = self._fs.stat(path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def _read(fs: FileSystem, path: str) -> str:
    try:
        return steps.read_whole(fs, path).decode("utf-8", "replace")
    except OSError:
        return ""


def _is_folder(mode: int) -> bool:
    return mode & 0o170000 == 0o040000
