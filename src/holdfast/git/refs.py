"""What git has checked out and staged, read from the git directory: no subprocess, a few stats when cached.

The files engine starts a new segment whenever this changes, so the value only has to *differ* after every commit,
checkout, reset, rebase, amend, stash and branch switch; it is compared, never interpreted. Timestamps are part of it:
a commit that was made and undone leaves the same HEAD, but git keeps the commit.
"""

from __future__ import annotations

import os

from holdfast.fs import durable
from holdfast.fs.port import WHOLE_SECOND, FileSystem
from holdfast.typed import Record

NO_GIT = ""
_LARGEST_INDEX = 4 << 20
"""A larger index is not searched: a needless new segment costs less than reading it."""
_PLAIN_VERSIONS = (2, 3)
"""Versions of git's index that store every path in full; version 4 compresses path prefixes."""

_CHECKSUM = 32
"""Bytes at the end of git's index that hold its checksum, or the end of it."""

_THEN = "\t"

Stamp = tuple[int, int, int] | None


class Repository(Record):
    """A git repository, as one of its worktrees sees it."""

    top: str
    """The top folder of the worktree."""
    git: str
    """The git directory of the worktree."""
    common: str
    """The git directory that all worktrees share."""


UNSEARCHED = Repository("", "", "")
"""Marks a repository that has not been searched for yet."""


def find_repository(fs: FileSystem, folder: str) -> Repository | None:
    """The repository around ``folder``, or None."""
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
        if not _is_folder(
            found.st_mode
        ):  # a worktree or submodule: the file has the path of the git directory
            text = _read(fs, dot)
            if not text.startswith("gitdir:"):
                return None
            git = os.path.normpath(os.path.join(folder, text[len("gitdir:") :].strip()))
        common = _read(fs, os.path.join(git, "commondir")).strip()
        return Repository(folder, git, os.path.normpath(os.path.join(git, common)) if common else git)


class GitHead:
    """The checked-out commit of the repository around a folder, as a token that changes with it."""

    def __init__(self, fs: FileSystem, repository: Repository | None) -> None:
        self._fs = fs
        self._repository = repository
        self._watched: list[tuple[str, Stamp]] = []
        self._token = NO_GIT
        self._head = NO_GIT
        self._index_path = os.path.join(repository.git, "index") if repository else ""
        self._index: tuple[Stamp, str] = (None, NO_GIT)

    @property
    def common(self) -> str | None:
        """The git common directory; None without git."""
        return self._repository.common if self._repository else None

    def is_replaying(self) -> bool:
        """Whether a merge, rebase, cherry-pick or revert is in progress, whose next step may add files; git refuses to
        overwrite untracked ones."""
        if self._repository is None:
            return False
        marks = ("rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
        return any(self._stamp(os.path.join(self._repository.git, mark)) is not None for mark in marks)

    def head(self) -> str:
        """Branch and commit, such as ``refs/heads/main 1f3…``, or the commit alone; empty without git."""
        self.token()
        return self._head

    @staticmethod
    def head_in(token: str) -> str:
        """Branch and commit in an earlier token."""
        return token.partition(_THEN)[0]

    def token(self) -> str:
        """A token that differs from every earlier one once git may have committed something; empty without git."""
        if self._repository is None:
            return NO_GIT
        if self._watched and self._is_unmoved():
            return self._token
        _, git, common = self._repository
        self._watched = []
        # Stamps are taken before reading: a change in between shows as a changed stamp the next time.
        head = os.path.join(git, "HEAD")
        self._watch(head)
        self._watch(os.path.join(common, "refs", "stash"))
        self._head = self._resolve(common, _read(self._fs, head).strip())
        stamps = " ".join("-" if stamp is None else _text(stamp) for _, stamp in self._watched)
        self._token = f"{self._head}{_THEN}{stamps}"
        return self._token

    def index(self) -> str:
        """A token that changes when something is staged; empty without git or index."""
        stamp = self._stamp(self._index_path) if self._repository else None
        if stamp is not None and not stamp[1] % WHOLE_SECOND:
            return f"{_text(stamp)}.{self._index_checksum(stamp[2])}"
        if stamp != self._index[0]:
            self._index = (stamp, _text(stamp) if stamp else NO_GIT)
        return self._index[1]

    def _index_checksum(self, size: int) -> str:
        """The checksum at the end of git's index, for where its time stamp does not tell one from the next."""
        try:
            fd = self._fs.open(self._index_path, os.O_RDONLY)
            try:
                return self._fs.read(fd, _CHECKSUM, max(0, size - _CHECKSUM)).hex()
            finally:
                self._fs.close(fd)
        except OSError:
            return ""

    def is_at(self, token: str, index: str) -> bool:
        """Whether HEAD and the index are unchanged since they were read."""
        if self._repository is None:
            return token == index == NO_GIT
        return self.token() == token and self.index() == index

    def may_be_staged(self, path: str) -> bool:
        """Whether git's index may hold a file whose path ends in ``path``."""
        if self._repository is None:
            return False
        index = self._index_path
        try:
            if self._fs.stat(index).st_size > _LARGEST_INDEX:
                return True
            data = durable.read_whole(self._fs, index)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        plain = data[:4] == b"DIRC" and int.from_bytes(data[4:8], "big") in _PLAIN_VERSIONS
        return not plain or path.encode() in data or self._index_is_split()

    def _index_is_split(self) -> bool:
        """Whether the index keeps some paths in a second file (split index)."""
        assert self._repository is not None
        return any(name.startswith("sharedindex.") for name in self._fs.names(self._repository.git))

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
        return f"{ref} {_read(self._fs, tables)}".strip()

    def _watch(self, path: str) -> None:
        self._watched.append((path, self._stamp(path)))

    def _is_unmoved(self) -> bool:
        """Whether everything that was read is unchanged. Called at every append, so a missing file raises nothing."""
        for path, stamp in self._watched:
            if stamp is None:
                if self._fs.exists(path):
                    return False
            elif not stamp[1] % WHOLE_SECOND or self._stamp(path) != stamp:
                return False  # within one second a ref can move and leave the same stamp
        return True

    def _stamp(self, path: str) -> Stamp:
        try:
            found = self._fs.stat(path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def _read(fs: FileSystem, path: str) -> str:
    try:
        return durable.read_whole(fs, path).decode("utf-8", "replace")
    except OSError:
        return ""


def _is_folder(mode: int) -> bool:
    return mode & 0o170000 == 0o040000


def _text(stamp: tuple[int, int, int]) -> str:
    node, changed, size = stamp
    return f"{node:x}.{changed:x}.{size:x}"
