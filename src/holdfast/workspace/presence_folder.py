"""A folder that all worktrees of a repository share, for presence.

It is under the git common directory; if that is not writable (no git, a sandboxed agent), it falls back to the
workspace's own ``local/``. Both are read, because one of two agents in a worktree may be sandboxed. File names match
the same pattern as all other files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from holdfast.core.stream import checked_note
from holdfast.fs import durable, posix
from holdfast.fs.port import LOCK_EX, FileSystem
from holdfast.fs.process import Process, agent, identify, is_alive, is_kin, program
from holdfast.fs.symlinks import reject_symlinks
from holdfast.git.refs import Repository, find_repository
from holdfast.store.oserror import translate_oserror
from holdfast.typed import Any

__all__ = ["Hold", "Process", "SharedFolder", "agent", "identify", "is_alive", "is_kin", "program"]


class SharedFolder:
    """Small JSON records in one folder, each replaced as a whole."""

    def __init__(
        self, workspace: str, kind: str, repository: Repository | None, fs: FileSystem = posix
    ) -> None:
        self._fs = fs
        self._tag = f"{os.getpid()}-{int.from_bytes(os.urandom(4), 'big'):08x}"
        self._workspace = os.path.abspath(workspace)
        own = os.path.join(self._workspace, "local", kind)
        self.shared = repository is not None
        """Whether other worktrees see it too."""
        self._common = repository.common if repository else ""
        self.path = os.path.join(self._common, "holdfast", kind) if repository else own
        self._top = os.path.dirname(self._workspace)
        self._other = own if repository else ""
        """The folder used by agents of this worktree with other permissions than this one."""
        try:
            self._reject_symlinks(self.path)
            durable.make_folders(fs, self.path)
            probe = os.path.join(self.path, "writable")
            fs.close(fs.open(probe, os.O_RDWR | os.O_CREAT))
        except OSError:
            self.shared, self.path, self._other = False, own, self.path if repository else ""
            self._reject_symlinks(own)
            durable.make_folders(fs, own)

    def _reject_symlinks(self, folder: str) -> None:
        """Only for a folder in the workspace: git's own directory is the user's."""
        if not self.shared:
            reject_symlinks(self._fs, self._workspace, os.path.relpath(folder, self._workspace))

    def _at(self, name: str) -> str:
        checked_note(f"local/{name}")
        path = os.path.join(self.path, *name.split("/"))
        self._reject_symlinks(os.path.dirname(path))
        return path

    def get(self, name: str) -> dict[str, Any] | None:
        """The record, or None; one that cannot be read counts as none."""
        return self._read(self._at(name))

    def get_to_change(self, name: str) -> dict[str, Any] | None:
        """The record that is about to be replaced: if it is there and the disk does not give it, this fails, because
        what it holds would be lost."""
        path = self._at(name)
        try:
            durable.read_whole(self._fs, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise translate_oserror(error, "presence") from error
        return self._read(path)

    def malformed(self, under: str, is_valid: Callable[[dict[str, Any]], bool]) -> list[str]:
        """The paths of all records in a folder, in both places, that can be read and are not valid."""
        found = []
        for folder in filter(None, (self.path, self._other)):
            for name in durable.names_in(self._fs, os.path.join(folder, under)):
                path = os.path.join(folder, under, name)
                if durable.TEMP_MARK in name or name.endswith(".lock"):
                    continue
                try:
                    durable.read_whole(self._fs, path)
                except OSError:
                    continue  # removed meanwhile, or a disk that may give it later
                record = self._read(path)
                if record is None or not is_valid(record):
                    found.append(path)
        return found

    def remove(self, path: str) -> None:
        """Remove a record that ``malformed`` has found."""
        try:
            self._fs.unlink(path)
        except FileNotFoundError:
            pass

    def get_other(self, name: str) -> dict[str, Any] | None:
        """The record of that name in the folder of this worktree's agents with other permissions."""
        self._at(name)
        return self._read(os.path.join(self._other, *name.split("/"))) if self._other else None

    def _read(self, path: str) -> dict[str, Any] | None:
        try:
            found = json.loads(durable.read_whole(self._fs, path))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, name: str, record: dict[str, Any] | None, *, sync: bool = False) -> None:
        """Replace a record, or remove it."""
        path = self._at(name)
        if record is None:
            try:
                self._fs.unlink(path)
            except FileNotFoundError:
                pass
            return
        data = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        try:
            durable.replace(self._fs, path, data, tag=self._tag, durable=sync)
        except FileNotFoundError:
            durable.make_folders(self._fs, os.path.dirname(path))
            durable.replace(self._fs, path, data, tag=self._tag, durable=sync)

    def names(self, under: str) -> list[str]:
        """The names of all records in a folder, in both locations."""
        self._at(under)
        found: set[str] = set()
        for path in (self.path, self._other):
            found.update(durable.names_in(self._fs, os.path.join(path, under)) if path else ())
        return sorted(name for name in found if durable.TEMP_MARK not in name and not name.endswith(".lock"))

    def belongs_here(self, worktree: str) -> bool:
        """Whether a record from a worktree belongs to this repository: a copy has the original's records."""
        try:
            self._fs.stat(worktree)
        except OSError:
            return True  # removed or moved: unknown
        found = find_repository(self._fs, worktree)
        if found is None or not self._common:
            return found is None and not self._common and self._is_same(worktree, self._top)
        return self._is_same(found.common, self._common)

    def _is_same(self, one: str, other: str) -> bool:
        try:
            found, wanted = (self._fs.stat(os.path.realpath(path)) for path in (one, other))
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)

    def age_ms(self, name: str, now: int) -> int | None:
        """The age of a record; None if there is none."""
        try:
            return now - self._fs.stat(self._at(name)).st_mtime_ns // 1_000_000
        except OSError:
            return None

    def held(self, name: str) -> Hold:
        """Hold a kernel lock while several records change; the kernel releases it when the holder dies."""
        fd = self._lock_file(name)
        self._fs.lock(fd, LOCK_EX)
        return Hold(self._fs, fd)

    def try_held(self, name: str) -> Hold | None:
        """Hold a kernel lock that nobody has; None if somebody has it."""
        fd = self._lock_file(name)
        if self._fs.try_lock(fd):
            return Hold(self._fs, fd)
        self._fs.close(fd)
        return None

    def _lock_file(self, name: str) -> int:
        path = self._at(f"{name}.lock")
        try:
            fd = durable.open_lock(self._fs, path)
        except FileNotFoundError:
            durable.make_folders(self._fs, os.path.dirname(path))
            fd = durable.open_lock(self._fs, path)
        return fd


class Hold:
    """A kernel lock that is held until the ``with`` block ends."""

    def __init__(self, fs: FileSystem, fd: int) -> None:
        self._fs = fs
        self._fd = fd

    def fileno(self) -> int:
        """The open file that holds it: a child process that inherits this holds the lock too."""
        return self._fd

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        self._fs.close(self._fd)
