"""The file that names the stream of an archived folder: without it the archive cannot be found."""

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
    """Write the file that names an archive's stream."""
    folder = segments.archive_of(place.root, handle.stream)
    path, name = os.path.join(folder, OWNER), f"{handle.stream}\n".encode()
    durable.make_folders(place.fs, folder)
    durable.replace(place.fs, path, name, tag=f"{place.tag}-archive", durable=True)
    durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))


def lacks_owner(place: Place, handle: Stream) -> bool:
    """Whether a stream's archive lacks the file that names it."""
    return bool(segments.archive_of(place.root, handle.stream)) and (
        bool(durable.names_in(place.fs, handle.segments.joined))
        and not named_owner(place, segments.archive_of(place.root, handle.stream))
    )


def named_owner(place: Place, folder: str) -> str:
    """The stream named in an archived folder; empty if none is, or if the name is invalid."""
    try:
        stream = durable.read_whole(place.fs, os.path.join(folder, OWNER)).decode().strip()
        return stream if segments.archive_of(place.root, checked_stream(stream)) == folder else ""
    except (OSError, UnicodeDecodeError, HoldfastError):
        return ""


def folder_of(place: Place, stream: str) -> str:
    """The archive folder of a stream, relative to the workspace."""
    return os.path.relpath(segments.archive_of(place.root, stream), place.root)
