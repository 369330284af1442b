"""Files of a session that git moved into another session's folder.

The views of two sessions are similar. If one session is gone on one branch, git may detect its folder as renamed, and
suggests moving a file that the other branch added there ("file location"). The right place is where its author put it.
"""

from __future__ import annotations

import os

from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.place import Place

_SESSION = 3
"""Parts of a path up to a session's folder: ``sessions/<user>/<session>``, ``history/<month>/<session>``."""


def put_back(place: Place, path: str) -> list[str]:
    """Move a file in conflict to where a side of the merge has it; returns all changed paths, none if no side has it
    elsewhere, or if it was also changed."""
    blobs = porcelain.staged(place.root, path)
    if len(blobs) != 1:
        return []
    places = porcelain.places(place.root, blobs.pop())
    targets = [other for other in places if other.split("/")[_SESSION:] == path.split("/")[_SESSION:]]
    if not targets or path in places:
        return []
    moved = os.path.join(place.root, path)
    try:
        data = durable.read_whole(place.fs, moved)
    except FileNotFoundError:
        return []
    for target in targets:
        there = os.path.join(place.root, target)
        durable.make_folders(place.fs, os.path.dirname(there))
        if os.path.basename(there) not in durable.names_in(place.fs, os.path.dirname(there)):
            durable.replace(place.fs, there, data, tag=place.tag, durable=True)
            durable.fsync_dirs(place.fs, os.path.dirname(there), os.path.dirname(place.root))
    place.fs.unlink(moved)
    return [path, *targets]
