"""Staying inside the workspace: a folder of it that is a link, or no folder, is refused before anything is done there.

A repository that was cloned can hold links in any place, also where nothing of holdfast is in git.
"""

from __future__ import annotations

import os
import stat
from time import monotonic_ns

from holdfast.errors import Forbidden
from holdfast.fs import posix
from holdfast.fs.port import FileSystem

_VALID_NS = 1_000_000_000
"""How long a folder that passed counts as real. A checkout during a long session can replace it with a link."""
_passed: dict[str, int] = {}


def reject_symlinks(fs: FileSystem, root: str, folder: str) -> None:
    """Raise ``Forbidden`` if a part of ``folder`` (relative to ``root``) is there and is not a real folder.

    A command asks about the same few folders for every file, so each is looked at once, and again after a second.
    """
    path, now = root, monotonic_ns()
    for part in folder.split(os.sep):
        path = f"{path}{os.sep}{part}"
        if now - _passed.get(path, -_VALID_NS) < _VALID_NS and fs is posix:
            continue
        try:
            mode = fs.stat(path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(mode):
            raise Forbidden(f"{path} is not a real folder; no link is followed out of the workspace.")
        _passed[path] = now


def forget_passed() -> None:
    """Look at every folder again: a workspace is being opened."""
    _passed.clear()
