"""Staying inside the workspace: a folder of it that is a link, or no folder, is refused before anything is done there.

A repository that was cloned can hold links in any place, also where nothing of holdfast is in git.
"""

from __future__ import annotations

import os
import stat

from holdfast.errors import Forbidden
from holdfast.fs.port import FileSystem


def reject_symlinks(fs: FileSystem, root: str, folder: str) -> None:
    """Raise ``Forbidden`` if a part of ``folder`` (relative to ``root``) is there and is not a real folder."""
    path = root
    for part in folder.split(os.sep):
        path = f"{path}{os.sep}{part}"
        try:
            mode = fs.stat(path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(mode):
            raise Forbidden(f"{path} is not a real folder; no link is followed out of the workspace.")
