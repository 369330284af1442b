"""Files that a session refers to, in the project's folder or in its own.

Paths are relative (see ``core.paths``) and stay inside: no symlink below the two folders is followed, and only
regular files are read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from hashlib import sha256

from holdfast.core.paths import IN_SESSION, checked_path
from holdfast.errors import Forbidden, NotFound, Refused, TooLarge, Unavailable
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.typed import Record

_CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK  # a pipe must not block


class Found(Record):
    """A file as it is now."""

    path: str
    size: int
    hash: str
    """SHA-256, in hexadecimal digits."""


class Attachments:
    """The files of one project, and of one session if its store has folders."""

    def __init__(
        self,
        project: str,
        session: str | None = None,
        fs: FileSystem = posix,
        pin: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.project = os.path.abspath(project)
        self.session = os.path.abspath(session) if session is not None else None
        self._fs = fs
        self._pin = pin
        """Called with the path of each new file of the session."""

    def name(self, given: str) -> str:
        """The relative path for a given one: relative to the session's or the project's folder, or absolute."""
        if not isinstance(given, str) or given.startswith(IN_SESSION):
            return checked_path(given)
        if os.path.isabs(given):
            for folder, prefix in ((self.session, IN_SESSION), (self.project, "")):
                inside = _below(given, folder)
                if inside:
                    return checked_path(prefix + inside)
            raise Forbidden(
                f"{given[:200]} is outside of the project; nothing was written.",
                hint=f"Only files below {self.project} can be referred to.",
            )
        plain = checked_path(given)
        if self.session is not None and self._is_there(os.path.join(self.session, plain)):
            return IN_SESSION + plain
        return plain

    def look(self, path: str) -> Found:
        """Size and hash of a file."""
        fd = self._open(path)
        try:
            digest, size = sha256(), 0
            while part := self._fs.read(fd, _CHUNK, size):
                digest.update(part)
                size += len(part)
            return Found(path, size, digest.hexdigest())
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror}.") from error
        finally:
            self._fs.close(fd)

    def size(self, path: str) -> int:
        """The size of a file, without reading it."""
        fd = self._open(path)
        try:
            return self._fs.stat_handle(fd).st_size
        finally:
            self._fs.close(fd)

    def read(self, path: str, most: int) -> bytes:
        """All bytes of a file that has at most ``most``."""
        fd = self._open(path)
        try:
            size = self._fs.stat_handle(fd).st_size
            if size > most:
                raise TooLarge(
                    f"{path} has {size:,} bytes; the limit is {most:,}.", hint="Give a smaller file."
                )
            return durable.read_range(self._fs, fd, 0, size)
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror}.") from error
        finally:
            self._fs.close(fd)

    def write_context(self, name: str, data: bytes) -> str:
        """Write a file to the session's context folder, durably; returns its path.

        The name must come from the content: an existing file with the same bytes is kept, and any other is replaced (a
        power cut can leave an empty one).
        """
        if self.session is None:
            raise Refused("This store has no folders; nothing was written.")
        path = f"{IN_SESSION}context/{name}"
        folder = os.path.join(self.session, "context")
        try:
            if not self._is_there(folder):
                durable.make_folders(self._fs, folder)
            self._reject_symlinks(self.session, "context")
            target = os.path.join(folder, name)
            durable.replace(self._fs, target, data, tag=f"{os.getpid()}-{os.urandom(4).hex()}", durable=True)
            durable.fsync_dirs(self._fs, folder, self.project)
            self._pin(target)
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror}; nothing was stored.") from error
        return path

    def _open(self, path: str) -> int:
        """A handle on a regular file below its folder. Checked before and after opening: it may be replaced."""
        plain = checked_path(path)
        inside = plain.removeprefix(IN_SESSION)
        folder = self.session if plain.startswith(IN_SESSION) else self.project
        if folder is None:
            raise NotFound(
                f"{plain}: this store has no folders.", hint="Only a workspace in a folder has session files."
            )
        try:
            self._reject_symlinks(folder, inside)
            self._refuse_special(self._fs.stat(os.path.join(folder, inside)), plain)
            fd = self._fs.open(os.path.join(folder, inside), _READ)
            try:
                self._refuse_special(self._fs.stat_handle(fd), plain)
                self._reject_symlinks(folder, inside)
            except BaseException:
                self._fs.close(fd)
                raise
            return fd
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"There is no file {plain}.", hint=f"Paths begin at {folder}.") from None
        except OSError as error:
            raise Forbidden(f"{plain} cannot be read: {error.strerror}.") from error

    def _reject_symlinks(self, folder: str, inside: str) -> None:
        path = folder
        for part in inside.split("/"):
            path = os.path.join(path, part)
            if stat.S_ISLNK(self._fs.stat(path).st_mode):
                raise Forbidden(
                    f"{path} is a link; links are not followed.", hint="Name the file that the link leads to."
                )

    def _refuse_special(self, found: os.stat_result, path: str) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise Refused(f"{path} is not a plain file; nothing was written.")

    def _is_there(self, path: str) -> bool:
        try:
            self._fs.stat(path)
        except OSError:
            return False
        return True


def _below(path: str, folder: str | None) -> str | None:
    """``path`` relative to ``folder``, if it is below it; symlinks above the two folders may differ."""
    if folder is None:
        return None
    plain = os.path.normpath(path)
    if plain.startswith(folder + os.sep):
        return plain[len(folder) + 1 :]
    # The same folder by another name, such as /tmp and /private/tmp: only the parent is resolved, so that a
    # symlink to a file inside stays visible as one.
    real, top = os.path.realpath(os.path.dirname(plain)), os.path.realpath(folder)
    if real == top or real.startswith(top + os.sep):
        return os.path.join(real, os.path.basename(plain))[len(top) + 1 :]
    return None
