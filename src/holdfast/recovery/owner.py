"""The file that names the stream of an archived folder: without it nobody finds the archive."""

from __future__ import annotations

import os

from holdfast.core.stream import checked_stream
from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.store.files import segments
from holdfast.store.files.place import Place
from holdfast.store.files.stream import Stream

OWNER = "stream"
"""The file that names the stream of an archived folder."""


def name_owner(place: Place, handle: Stream) -> None:
    """Write down whose archive it is."""
    folder = segments.archive_of(place.root, handle.stream)
    path, name = os.path.join(folder, OWNER), f"{handle.stream}\n".encode()
    durable.make_folders(place.fs, folder)
    durable.replace(place.fs, path, name, tag=f"{place.tag}-archive", durable=True)
    durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))


def lacks_owner(place: Place, handle: Stream) -> bool:
    """Whether a stream has an archive that does not say whose it is."""
    return bool(segments.archive_of(place.root, handle.stream)) and (
        bool(durable.names_in(place.fs, handle.segments.joined))
        and not named_owner(place, segments.archive_of(place.root, handle.stream))
    )


def named_owner(place: Place, folder: str) -> str:
    """The stream that an archived folder says it belongs to; empty if it says nothing, or something else."""
    try:
        stream = durable.read_whole(place.fs, os.path.join(folder, OWNER)).decode().strip()
        return stream if segments.archive_of(place.root, checked_stream(stream)) == folder else ""
    except (OSError, UnicodeDecodeError, HoldfastError):
        return ""


def folder_of(place: Place, stream: str) -> str:
    """Where a stream is archived, relative to the workspace."""
    return os.path.relpath(segments.archive_of(place.root, stream), place.root)
