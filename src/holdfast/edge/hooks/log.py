"""The error log of hooks: ``local/hooks.log`` of the workspace. Bounded and never tracked."""

from __future__ import annotations

import os

LARGEST = 64_000
"""The size limit in bytes; the older half is dropped when it is reached."""


def note(where: str, what: str, error: Exception) -> None:
    """Add a line, if there is a workspace; never raises."""
    try:
        from holdfast.core.timestamps import iso
        from holdfast.views.markdown import visible
        from holdfast.workspace.clock import wall_clock
        from holdfast.workspace.discovery import find
        from holdfast.workspace.workspace import HOOK_LOG

        path = os.path.join(find(where), *HOOK_LOG.split("/"))
        if os.path.islink(os.path.dirname(path)):
            return  # outside of the workspace
        said = f"{iso(wall_clock())} {what}: {type(error).__name__}: {error}"
        line = " ".join(visible(said).split())[:400] + "\n"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _append(path, line.encode("utf-8", "replace"))
    except Exception:  # noqa: S110 - there is nowhere left to tell it
        pass


def _append(path: str, line: bytes) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(fd).st_size
        if size + len(line) > LARGEST:
            kept = os.pread(fd, LARGEST // 2, max(0, size - LARGEST // 2)).partition(b"\n")[2]
            os.ftruncate(fd, 0)
            line = kept + line
        os.write(fd, line)
    finally:
        os.close(fd)
