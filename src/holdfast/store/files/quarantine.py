"""Cutting a torn tail: what a power cut or a killed process left after the last complete line of a segment.

The bytes are saved under ``local/quarantine/`` with a report, durable before the segment is truncated (I5).
"""

from __future__ import annotations

import json
import os

from holdfast.core import timestamps
from holdfast.fs import durable
from holdfast.fs.port import FileSystem
from holdfast.fs.symlinks import reject_symlinks
from holdfast.store.files import segments
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.place import Place


def cut_torn_tail(fs: FileSystem, place: Place, stream: str, path: str, fd: int) -> segments.Mark:
    """Save what follows the last complete line, and truncate the segment. The caller holds the stream's lock."""
    found = fs.stat_handle(fd)
    part = segments.read_open_part(fs, fd, segments.UNREAD, found.st_size, found.st_mtime_ns, collect=False)
    good = part.good
    if good.offset == found.st_size:
        return good
    tail = durable.read_range(fs, fd, good.offset, found.st_size)
    what = "a torn tail: bytes after the last complete line, never acknowledged as a commit"
    save_aside(place, stream, path, tail, what, line=good.rows + 1, offset=good.offset)
    fs.truncate(fd, good.offset)
    fs.sync(fd)
    return good


def save_aside(
    place: Place, stream: str, path: str, data: bytes, what: str, *, line: int = 1, offset: int = 0
) -> str:
    """Save bytes in quarantine, durably, with a report; returns their path relative to the workspace."""
    fs = place.fs
    folder = os.path.join(place.local, "quarantine")
    reject_symlinks(fs, place.root, f"local{os.sep}quarantine")
    durable.make_folders(fs, folder)
    name = f"{stream.replace('/', '+')}+{os.path.basename(path)}+{offset}+{place.clock()}"
    durable.replace(fs, os.path.join(folder, f"{name}.bin"), data, tag=place.tag, durable=True)
    durable.fsync_dirs(fs, folder, place.root)
    report = {
        "stream": stream,
        "segment": os.path.basename(path),
        "line": line,
        "offset": offset,
        "bytes": len(data),
        "at": timestamps.iso(place.clock()),
        "what": what,
    }
    text = json.dumps(report, indent=2).encode() + b"\n"
    durable.replace(fs, os.path.join(folder, f"{name}.json"), text, tag=place.tag, durable=False)
    return f"local/quarantine/{name}.bin"
