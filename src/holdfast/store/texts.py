"""The texts of long messages, which are files of their session: kept out of git's reach like segments.

What ``git reset --hard`` or ``git clean`` deletes before a git commit has it comes back as long as a commit of the
session tells of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.errors import InvalidName
from holdfast.fs import steps
from holdfast.store import kept
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.stream_files import StreamFiles
    from holdfast.store.stream_reader import Place

PREFIX = "message-"
_KEPT_NS = 30 * 86_400_000_000_000


def bring_back(
    place: Place, handle_of: Callable[[str], StreamFiles], folder_of: Callable[[str], str]
) -> list[Fault]:
    """Every kept text that its session refers to and no longer has. Not in the midst of a rebase, whose next step may
    bring the same file."""
    if place.head.is_replaying():
        return []
    faults = []
    for stream, link in _links(place):
        name = os.path.basename(link)
        folder = os.path.join(folder_of(stream), "context")
        if name in steps.names_in(place.fs, folder):
            if place.fs.stat(link).st_mtime_ns < place.clock() * 1_000_000 - _KEPT_NS:
                kept.drop(place, link)
            continue
        handle = handle_of(stream)
        with handle.mutex:
            if not any(name.encode() in line for line in handle.read(None).lines):
                continue
        steps.make_folders(place.fs, folder)
        data = steps.read_whole(place.fs, link)
        steps.replace(place.fs, os.path.join(folder, name), data, tag=place.tag, durable=True)
        steps.sync_names(place.fs, folder, os.path.dirname(place.root))
        where = os.path.relpath(os.path.join(folder, name), place.root)
        what = "a text that git removed from the working tree before a git commit had it"
        faults.append(Fault(stream, where, what, harmless=True, action="brought back"))
    return faults


def _links(place: Place) -> Iterator[tuple[str, str]]:
    """Every kept text: its stream and the path of the link."""
    from holdfast.core.stream import checked_stream

    for folder in kept.folders(place):
        for flat in steps.names_in(place.fs, folder):
            try:
                stream = checked_stream(flat.replace("+", "/"))
            except InvalidName:
                continue
            for name in steps.names_in(place.fs, os.path.join(folder, flat)):
                if name.startswith(PREFIX):
                    yield stream, os.path.join(folder, flat, name)
