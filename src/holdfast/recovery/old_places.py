"""Segments in the folders where they lay before there was ``events/``: beside the views of their session.

They are not read there. ``doctor`` names them, and ``doctor --fix`` moves them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.fs import durable
from holdfast.fs.symlinks import refuse_links
from holdfast.store.files import segments
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.stream_reader import Place


def check(place: Place, *, fix: bool) -> list[Fault]:
    """Every folder with such segments; with ``fix``, moved durably. One that is in both places stays in both."""
    faults = []
    for folder in _folders(place):
        old = os.path.join(place.root, folder, "events")
        refuse_links(place.fs, place.root, f"{folder}/events")
        names = list(filter(segments.is_segment, durable.names_in(place.fs, old)))
        if not names:
            continue
        if fix:
            refuse_links(place.fs, place.root, f"{segments.EVENTS}/{folder}")
            _move(place, old, os.path.join(place.root, segments.EVENTS, folder), names)
        done = "moved" if fix else ""
        faults.append(Fault("misplaced-segment", "", f"{folder}/events", done=done, harmless=fix))
    return faults


def _folders(place: Place) -> Iterator[str]:
    yield "project"
    for kind in ("users", "sessions", "history"):
        for name in durable.names_in(place.fs, os.path.join(place.root, kind)):
            if kind == "users":
                yield f"{kind}/{name}"
                continue
            for inner in durable.names_in(place.fs, os.path.join(place.root, kind, name)):
                yield f"{kind}/{name}/{inner}"


def _move(place: Place, old: str, new: str, names: list[str]) -> None:
    durable.make_folders(place.fs, new)
    present = durable.names_in(place.fs, new)
    for name in names:
        if name not in present:
            place.fs.rename(os.path.join(old, name), os.path.join(new, name))
    durable.sync_names(place.fs, new, os.path.dirname(place.root))
    place.fs.sync_folder(old)
    try:
        place.fs.remove_folder(old)
    except OSError:
        pass  # something else is in it
