"""A copied folder and the segments that the original may still be appending to.

A copy (``cp -r``, a restored backup) takes a new identity. The segment that the old writer had open, and that git
does not have, now exists twice and grows in the original: committed in both places it would be one name with two
contents. So the copy renames its version. Its commits count once, even if both versions are merged.
"""

from __future__ import annotations

import os

from holdfast.fs import durable
from holdfast.store.files import replay, segments
from holdfast.store.files.lockfile import WriterState, decode_header, encode_header, read_header
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.place import Place

_LOCK = ".lock"


def fork(place: Place, old: str, new: str) -> None:
    """Give every open segment of ``old`` to its new owner. Nothing has been written here under ``new`` yet."""
    if place.head.common is None:
        return
    folder = os.path.join(place.local, "locks")
    try:
        names = place.fs.names(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(_LOCK):
            _fork_stream(
                place, os.path.join(folder, name), name.removesuffix(_LOCK).replace("+", "/"), old, new
            )


def _fork_stream(place: Place, lock: str, stream: str, old: str, new: str) -> None:
    fd = place.fs.open(lock, os.O_RDWR)
    try:
        state = decode_header(read_header(place.fs, fd))
        if state is None or state.writer != old or not state.segment:
            return
        name = segments.name_of(stream, old, state.segment)
        events = segments.folder_of(place.root, stream)
        if place.head.may_be_staged(f"{segments.EVENTS}/{stream}/{name}"):
            return
        try:
            seen = segments.read_part(place.fs, os.path.join(events, name), segments.UNREAD, collect=False)
            if seen.troubles or seen.torn:
                return  # damaged: it stays where its faults are reported
            data = durable.read_whole(place.fs, os.path.join(events, name))
        except FileNotFoundError:
            return
        # Neither the same name with other bytes, nor the same bytes under another name, which git would detect as a
        # rename: the lines of the new segment begin in another column.
        number = 1 + segments.same_column(stream, name, segments.name_of(stream, new, 1))
        own = segments.name_of(stream, new, number)
        # Lines that a cut removed may be waiting in a journal: it would no longer find their segment.
        content = segments.union(stream, own, [data, *replay.lines_for(place, stream, name)])
        durable.replace(place.fs, os.path.join(events, own), content, tag=place.tag, durable=True)
        place.fs.unlink(os.path.join(events, name))
        place.fs.sync_folder(events)
        note = WriterState(new, highest=number, clock=state.clock, node=place.fs.stat_handle(fd).st_ino)
        place.fs.write_at(fd, encode_header(note), 0)
    finally:
        place.fs.close(fd)
