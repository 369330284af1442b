"""The durable steps: every way in which holdfast changes a disk, with its syncs in order.

Invariant numbers refer to docs/format.md.
"""

from __future__ import annotations

import os
import stat

from holdfast.fs.port import FileSystem

APPEND = os.O_RDWR | os.O_APPEND
CREATE = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
TEMP_MARK = ".tmp-"


def write_whole(fs: FileSystem, fd: int, data: bytes) -> None:
    """Append all of ``data``; normally one call, more only after a short write."""
    while True:
        done = fs.write(fd, data)
        if done == len(data):
            return
        data = data[done:]


def read_whole(fs: FileSystem, path: str) -> bytes:
    """All bytes of a file."""
    fd = fs.open(path, os.O_RDONLY)
    try:
        return read_range(fs, fd, 0, fs.stat_handle(fd).st_size)
    finally:
        fs.close(fd)


def read_range(fs: FileSystem, fd: int, start: int, end: int) -> bytes:
    """The bytes from ``start`` up to ``end``, or up to the end of the file if that comes first."""
    parts = []
    while start < end:
        part = fs.read(fd, end - start, start)
        if not part:
            break
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def make_folders(fs: FileSystem, path: str) -> None:
    """Create a folder and its missing parents. Their names are not yet durable: see ``fsync_dirs``."""
    missing = []
    while True:
        try:
            fs.make_folder(path)
            break
        except FileExistsError:
            break
        except FileNotFoundError:
            missing.append(path)
            path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            fs.make_folder(folder)
        except FileExistsError:
            pass  # another process created it first


def fsync_dirs(fs: FileSystem, folder: str, top: str) -> None:
    """Make the names of a new file and of all its folders up to ``top`` durable (I3).

    Every level is synced, including existing ones: the process that created them may have died before it could.
    """
    while True:
        fs.sync_folder(folder)
        if folder == top:
            return
        folder = os.path.dirname(folder)


def names_in(fs: FileSystem, folder: str) -> list[str]:
    """The names in a folder, sorted; none if it does not exist."""
    try:
        return sorted(fs.names(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def replace(
    fs: FileSystem,
    path: str,
    data: bytes,
    *,
    tag: str,
    durable: bool,
    mode: int | None = None,
    by_way_of: str = "",
) -> None:
    """Replace the file at ``path`` with ``data``: temp file in the same folder, then rename (I4).

    Readers see the old bytes or the new ones, never a mixture. ``durable`` syncs the data before the rename
    and the folder after it; a derived file does without, because it can be regenerated. ``tag`` makes the
    temp name unique among writers. With a ``mode`` the file gets exactly that one; without, it keeps the permissions
    of the file that it replaces, and its owner where that is permitted. ``by_way_of`` is another folder for the temp
    file, on the same file system.
    """
    folder, name = os.path.split(path)
    temp = os.path.join(by_way_of or folder, f".{name}{TEMP_MARK}{tag}")
    replaced = _regular_file(fs, path) if mode is None else None
    first = 0o600 if mode is not None else 0o644  # until it gets its final mode
    if replaced is not None:
        first = replaced.st_mode & 0o777
    try:
        fd = fs.open(temp, CREATE, first)
    except FileExistsError:
        fs.unlink(temp)  # left over by a process that died with the same tag
        fd = fs.open(temp, CREATE, first)
    try:
        try:
            write_whole(fs, fd, data)
            if mode is not None:
                fs.set_mode(fd, mode)
            elif replaced is not None:
                _keep_access(fs, fd, replaced)
            if durable:
                fs.sync(fd)
        finally:
            fs.close(fd)
        fs.rename(temp, path)
    except BaseException:
        try:
            fs.unlink(temp)
        except OSError:
            pass
        raise
    if durable:
        fs.sync_folder(folder)


def _regular_file(fs: FileSystem, path: str) -> os.stat_result | None:
    """The status of the regular file at a path; None if there is none, or if it is a link or a folder."""
    try:
        found = fs.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _keep_access(fs: FileSystem, fd: int, replaced: os.stat_result) -> None:
    """Give a new file the permissions and the owner of the one that it replaces.

    Most users may not change a file's owner: then the file is theirs, as with every editor.
    """
    own = fs.stat_handle(fd)
    if (own.st_uid, own.st_gid) != (replaced.st_uid, replaced.st_gid):
        try:
            fs.set_owner(fd, replaced.st_uid, replaced.st_gid)
        except PermissionError:
            pass
    if own.st_mode != replaced.st_mode:
        fs.set_mode(fd, replaced.st_mode & 0o777)


def private_mode(fs: FileSystem, folder: str) -> int:
    """The mode of a file that only those can read who can write to its folder."""
    found = fs.stat(folder).st_mode
    mode = 0o600 | (0o060 if found & stat.S_IWGRP else 0)
    return mode | 0o006 if found & stat.S_IWOTH and not found & stat.S_ISVTX else mode


def open_lock(fs: FileSystem, path: str) -> int:
    """Open a lock file. Whoever can read a file can take its lock and keep all others waiting, so only those can read
    it who can write to its folder."""
    mode = private_mode(fs, os.path.dirname(path))
    fd = fs.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    found = fs.stat_handle(fd)
    if stat.S_IMODE(found.st_mode) != mode and found.st_uid == os.geteuid():
        try:
            fs.set_mode(fd, mode)
        except OSError:
            pass  # a file system without modes
    return fd
