"""The few file calls that holdfast uses.

Everything that the files engine does to a disk goes through one object with these methods, so that each call can be
recorded, made to fail, or replayed into every state that a power cut may leave. Paths are absolute strings, file
handles are plain descriptors, and errors are ``OSError`` as the system raised them.
"""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_UN
from os import SEEK_END

from holdfast.typed import Protocol

__all__ = ["LOCK_EX", "LOCK_UN", "RWF_DSYNC", "SEEK_END", "WHOLE_SECOND", "FileSystem", "Origin"]

RWF_DSYNC = getattr(os, "RWF_DSYNC", 0)
"""The flag for writing a journal; 0 if the system does not have it, and a sync follows instead."""

WHOLE_SECOND = 1_000_000_000
"""A time stamp in nanoseconds that this divides is probably of a file system that stores no fractions of a second."""


Origin = dict[str, "int | str"]
"""What tells a disk, mount and boot from others."""


class FileSystem(Protocol):
    """The calls that the files engine may make to an operating system."""

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        """Open without following a symlink in the last part of the path; a new file gets the mode."""

    def set_mode(self, fd: int, mode: int) -> None:
        """Set the mode of the handle's file exactly, regardless of the umask."""

    def set_owner(self, fd: int, user: int, group: int) -> None:
        """Set owner and group of the handle's file, if permitted."""

    def close(self, fd: int) -> None:
        """Close the handle."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Up to ``size`` bytes at ``offset``; fewer at the end of the file."""

    def write(self, fd: int, data: bytes) -> int:
        """Append to a handle that was opened with ``O_APPEND``; may write fewer bytes than asked."""

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        """Overwrite in place. Only for what may be lost, such as caches: never for history."""

    def truncate(self, fd: int, size: int) -> None:
        """Truncate the file. Only for a torn tail, under the lock, after the tail was saved to quarantine, and for a
        failed preallocation."""

    def sync(self, fd: int) -> None:
        """Return when the file's bytes and length are on the disk."""

    def write_through(self, fd: int, data: list[memoryview], offset: int, how: int) -> int:
        """Overwrite in place, and return when these bytes are on the disk (``RWF_DSYNC``). For journals only."""

    def sync_folder(self, path: str) -> None:
        """Return when the names in the folder are on the disk."""

    def rename(self, source: str, target: str) -> None:
        """Move a file over another one, atomically, within one folder tree."""

    def link(self, source: str, target: str) -> None:
        """Give a file a second name on the same file system; ``FileExistsError`` where the name is taken."""

    def unlink(self, path: str) -> None:
        """Remove a name."""

    def make_folder(self, path: str) -> None:
        """Create one folder; ``FileExistsError`` if it exists."""

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, in no special order."""

    def stat(self, path: str) -> os.stat_result:
        """The status of the file at the path, without following a symlink in the last part."""

    def exists(self, path: str) -> bool:
        """Whether something is at the path, for paths where usually nothing is: ``stat`` would raise an error."""

    def origin(self, path: str) -> Origin:
        """Which disk, mount and boot the folder is on, as far as the system says."""

    def stat_handle(self, fd: int) -> os.stat_result:
        """The status of the open file."""

    def seek(self, fd: int, offset: int, whence: int) -> int:
        """Only ever to ``SEEK_END``: the length of the handle's file, without reading its times. After they were read,
        the kernel must give the next write a new timestamp, and storing that costs more than the rest of an append."""

    def lock(self, fd: int, how: int) -> None:
        """Wait for the kernel lock on the handle's file (``LOCK_EX``), which ends with its holder, or release it
        (``LOCK_UN``)."""

    def try_lock(self, fd: int) -> bool:
        """Take the kernel lock on the handle's file if it is free."""
