"""The end of the transcript that a payload names: what some hosts do not say in the payload itself."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator

from holdfast.edge.hooks.event import Payload
from holdfast.typed import Any

BYTES = 512 << 10


def backwards(path: str, mark: bytes) -> Iterator[Payload]:
    """The objects of the last lines that contain ``mark``, the newest first; none if the file cannot be read."""
    for line in reversed(_lines(path)):
        if mark not in line:
            continue
        try:
            found: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _lines(path: str) -> list[bytes]:
    if not os.path.isabs(path):
        return []
    try:
        # A fifo must not be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return []
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return []
        begin = max(0, found.st_size - BYTES)
        lines = os.pread(fd, BYTES, begin).split(b"\n")
        return lines[1:] if begin else lines
    except OSError:
        return []
    finally:
        os.close(fd)
