"""A database that may be read but not written: on a read-only disk, or in another user's folder.

SQLite reads a database with a write-ahead log only if it can create the log's index beside it. Where it cannot, and no
log is there, the file alone is the whole database: it is opened as one that does not change. If a log is there, a
private copy of both is read. A change that the owner makes meanwhile is noticed by the files' times.
"""

from __future__ import annotations

import os
import sqlite3

from holdfast.errors import Unavailable
from holdfast.fs import durable
from holdfast.fs.port import FileSystem
from holdfast.store.sqlite import database

TRIES = 20
"""Readings of a file that its owner keeps changing."""
_CANNOT_INDEX = frozenset([sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR])

Stamp = tuple[tuple[int, int, int], ...]


def is_needed(error: sqlite3.Error, path: str) -> bool:
    """Whether opening failed because nothing can be created beside the database."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _CANNOT_INDEX and not os.access(os.path.dirname(path), os.W_OK)


class Frozen:
    """A connection to a database as it was at one point in time."""

    __slots__ = ("_folder", "_fs", "_path", "_stamp", "db")

    def __init__(self, fs: FileSystem, path: str) -> None:
        self._fs = fs
        self._path = path
        self._folder = ""
        self._stamp = self._stamped()
        if self._has_log():
            path = self._copy()
            self.db = database.connect(path, "rw")
        else:
            self.db = database.connect(path, "ro&immutable=1")

    def is_current(self) -> bool:
        """Whether the owner has not written since."""
        return self._stamped() == self._stamp

    def close(self) -> None:
        """Remove the copy. The connection is closed by its owner."""
        if self._folder:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _has_log(self) -> bool:
        return len(self._stamp) > 1 and self._stamp[1][1] > 0

    def _stamped(self) -> Stamp:
        found = []
        for path in (self._path, self._path + "-wal"):
            try:
                seen = self._fs.stat(path)
                found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
            except FileNotFoundError:
                pass
        return tuple(found)

    def _copy(self) -> str:
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="holdfast-read-only-")
        target = os.path.join(self._folder, "copy.db")
        try:
            for _ in range(TRIES):
                for end in ("", "-wal"):
                    data = durable.read_whole(self._fs, self._path + end)
                    durable.replace(self._fs, target + end, data, tag="copy", durable=False)
                if self.is_current():
                    return target
                self._stamp = self._stamped()
            raise Unavailable(f"{self._path} changes faster than it can be read.", hint="Retry.")
        except BaseException:
            self.close()
            raise
