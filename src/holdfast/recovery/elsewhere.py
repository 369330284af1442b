"""Whether a commit that a stream lacks still exists: in a pin, or in git on another branch, in a stash or a reflog.

A checkout, a reset or a stash removes segments from the working tree, while untracked views stay.
"""

from __future__ import annotations

from holdfast.core import codec, ids
from holdfast.core.stream import last_part
from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.store.files import pins, segments
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.place import Place


def has(place: Place, stream: str, commit_id: str) -> bool:
    """Whether a pin or git has the commit. Pins are checked first: searching a long git history is slow."""
    if place.head.common is None:
        return False
    return _is_pinned(place, stream, commit_id) or porcelain.has_text(
        place.root,
        f":(glob){segments.EVENTS}/**/{last_part(stream)}/**",
        commit_id,
        ids.milliseconds(commit_id),
    )


def _is_pinned(place: Place, stream: str, commit_id: str) -> bool:
    for pinned, path in pins.all_pins(place):
        if pinned == stream:
            lines = segments.whole_lines(durable.read_whole(place.fs, path))
            if any(codec.id_of(line) == commit_id for line in lines):
                return True
    return False
