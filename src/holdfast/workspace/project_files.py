"""Files next to a workspace folder, in the project itself: the few that holdfast writes there on request.

The names are a closed set. No symlink is followed: if AGENTS.md is one, the command fails with an error.
"""

from __future__ import annotations

import errno
import os
import stat

from holdfast.core.ids import checked_name
from holdfast.errors import Forbidden, InvalidName
from holdfast.fs import durable, posix
from holdfast.fs.port import FileSystem
from holdfast.git.refs import find_repository
from holdfast.workspace import scaffold
from holdfast.workspace.discovery import FOLDER, HANDOFF

CONTINUE = ".continue-here.md"


class ProjectFolder:
    """The folder that contains a workspace folder."""

    def __init__(self, root: str, fs: FileSystem = posix) -> None:
        self.root = root
        self._fs = fs

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, or None."""
        path = self._path(name)
        return durable.read_whole(self._fs, path) if self._is_file(path) else None

    def read_own(self, name: str) -> bytes | None:
        """The bytes of a file that ``init`` created in the workspace's folder, or None."""
        path = os.path.join(self.root, name)
        known = os.path.basename(name) in scaffold.FILES and os.path.dirname(name) == FOLDER
        return durable.read_whole(self._fs, path) if known and self._is_file(path) else None

    def write(self, name: str, data: bytes) -> str:
        """Replace a file, keeping its permissions; returns its path."""
        path = self._path(name)
        self._is_file(path)  # refuses a link
        if name == HANDOFF:
            self._make_handoff_folder(os.path.dirname(path))
        self._put(path, data)
        return path

    def _put(self, path: str, data: bytes) -> None:
        """Replace a file using a temp file in a folder that git ignores: git would see, and commit, one next to the
        page."""
        aside = os.path.join(self.root, FOLDER, "local")
        if not self._fs.exists(os.path.dirname(aside)):  # a project without a workspace
            self._replace(path, data, "")
            return
        try:
            durable.make_folders(self._fs, aside)
            self._replace(path, data, aside)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            self._replace(path, data, "")  # .state is mounted from elsewhere

    def _make_handoff_folder(self, folder: str) -> None:
        """Create the folder of the page, with git attributes unless some exist."""
        durable.make_folders(self._fs, folder)
        path = os.path.join(folder, ".gitattributes")
        if find_repository(self._fs, self.root) is not None and not self._fs.exists(path):
            self._put(path, scaffold.PAGE_ATTRIBUTES.encode())

    def _replace(self, path: str, data: bytes, aside: str) -> None:
        tag = f"{os.getpid():x}"
        durable.replace(self._fs, path, data, tag=tag, durable=True, by_way_of=aside)

    def remove(self, name: str) -> None:
        path = self._path(name)
        if self._is_file(path):
            self._fs.unlink(path)

    def _path(self, name: str) -> str:
        if name not in (HANDOFF, CONTINUE):
            checked_name(name.lower() if name.isascii() else name, "name of a file")
            if not name.lower().endswith(".md"):
                raise InvalidName(
                    f"{name[:80]!r} cannot be written here.",
                    hint="Name a Markdown file in the top folder of the project.",
                )
        if name == HANDOFF:
            self._is_folder(os.path.join(self.root, os.path.dirname(name)))
        return os.path.join(self.root, name)

    def _is_file(self, path: str) -> bool:
        try:
            mode = self._fs.stat(path).st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(mode):
            kind = "a link" if stat.S_ISLNK(mode) else "not a plain file"
            raise Forbidden(
                f"{path} is {kind}; nothing was written.",
                hint="Name the file that it points to.",
            )
        return True

    def _is_folder(self, path: str) -> None:
        try:
            mode = self._fs.stat(path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(mode):
            raise Forbidden(f"{path} is not a folder of its own; nothing was written.", hint="Move it aside.")


def project_folder_of(url: str) -> ProjectFolder | None:
    """The project folder of a workspace in a ``.state`` folder; None for a database."""
    if os.path.basename(url) == FOLDER and os.path.isabs(url):
        return ProjectFolder(os.path.dirname(url))
    return None
