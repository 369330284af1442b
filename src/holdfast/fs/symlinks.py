"""Staying inside the workspace: a workspace folder that is a symlink, or not a folder, is refused before any use.

A cloned repository can contain symlinks anywhere, even where git tracks nothing of holdfast.
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
    """Raise ``Forbidden`` if a part of ``folder`` (relative to ``root``) exists and is not a real folder.

    A command checks the same few folders for every file, so each result is reused for a second.
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
    """Check every folder again: a workspace is being opened."""
    _passed.clear()
