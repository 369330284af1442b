"""What a copied folder does about the segments that the original may still be appending to.

A copy (``cp -r``, a restored backup) takes a new identity. The segment that the old writer had open, and that git
does not have, now exists twice and grows in the original: committed in both places it would be one name with two
contents. So the copy gives its version a name of its own; the commits in it count once, whoever brings them.
"""

from __future__ import annotations

import os

from holdfast.store import segments
from holdfast.store.writer import BLANK, decode_memory, encode_memory, read_note
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.stream_reader import Place

_LOCK = ".lock"


def part(place: Place, old: str, new: str) -> None:
    """Rename every open segment of ``old`` for its new owner. Nobody has written here under ``new`` yet."""
    if place.head.common is None:
        return
    folder = os.path.join(place.local, "locks")
    try:
        names = place.fs.names(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(_LOCK):
            _part_stream(
                place, os.path.join(folder, name), name.removesuffix(_LOCK).replace("+", "/"), old, new
            )


def _part_stream(place: Place, lock: str, stream: str, old: str, new: str) -> None:
    fd = place.fs.open(lock, os.O_RDWR)
    try:
        memory = decode_memory(read_note(place.fs, fd))
        if memory is None or memory.writer != old or not memory.segment:
            return
        name = segments.name_of(old, memory.segment)
        events = os.path.join(place.root, *stream.split("/"), "events")
        if place.head.may_be_staged(f"{stream}/events/{name}"):
            return
        try:
            seen = segments.read_part(place.fs, os.path.join(events, name), segments.UNREAD, keep=False)
            if seen.troubles or seen.torn:
                return  # damaged: it stays where its faults are known
            place.fs.rename(os.path.join(events, name), os.path.join(events, segments.name_of(new, 1)))
        except FileNotFoundError:
            return
        place.fs.sync_folder(events)
        note = BLANK._replace(writer=new, highest=1, clock=memory.clock)
        place.fs.write_at(fd, encode_memory(note), 0)
    finally:
        place.fs.close(fd)
