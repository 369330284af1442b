"""Long texts that are stored as files (``store.files.blobs``): which are missing, changed or unused, and bringing them
back."""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.core import codec, long_texts
from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.store.files import blobs, pins, quarantine, segments
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream

DAY_MS = 86_400_000
"""A text that no commit names is removed after a day."""
UNUSED = "a long text that no commit names"
RESTORED = "the text is restored"


def check(place: Place, handle: Stream, *, fix: bool) -> list[Fault]:
    """Every text of a stream that is missing or changed, and files that no commit names."""
    folder = blobs.folder_of(place.root, handle.stream)
    with handle.lock:
        named = _named(handle)
        faults = [
            _restored(place, handle.stream, name, size, fix=fix)
            for name, size in named.items()
            if _right(place, handle.stream, name, size) is None
        ]
        faults += _malformed(place, handle)
        found = durable.names_in(place.fs, folder)
        unused = [name for name in found if name not in named and durable.TEMP_MARK not in name]
        return [*faults, *_unused(place, handle.stream, unused, fix=fix)]


def _named(handle: Stream) -> dict[str, int]:
    """The texts that the commits of a stream name, with their sizes."""
    lines = filter(codec.is_detached, handle.read(None).lines)
    return {found.hash: found.size for line in lines for found in long_texts.references_in(line)}


def _malformed(place: Place, handle: Stream) -> Iterator[Fault]:
    """Lines with a right sum whose texts are all there and do not make the line that was written: somebody else wrote
    them."""
    for line in filter(codec.is_detached, handle.read(None).lines):
        references = long_texts.references_in(line)
        found = {
            reference: text.decode("utf-8", "replace")
            for reference in references
            if (text := _right(place, handle.stream, *reference[1:])) is not None
        }
        complete = len(found) == len(set(references))
        if complete and not long_texts.attach(line, found.__getitem__)[1]:
            what = f"the commit {codec.id_of(line)} names its long texts in a malformed way"
            where = f"{segments.EVENTS}/{handle.stream}"
            yield Fault(handle.stream, where, what, action="the commit is used as it is")


def _right(place: Place, stream: str, name: str, size: int) -> bytes | None:
    """The bytes of a text, if its file has the right ones."""
    data = blobs.read(place, os.path.join(blobs.folder_of(place.root, stream), name), size)
    return data if data is not None and long_texts.hash_of(data) == name else None


def _restored(place: Place, stream: str, name: str, size: int, *, fix: bool) -> Fault:
    """Bring a text back from a pin or from git; what cannot be found is reported."""
    path = os.path.join(blobs.folder_of(place.root, stream), name)
    where = os.path.relpath(path, place.root)
    there = place.fs.exists(path)
    what = blobs.CHANGED if there else blobs.MISSING
    if not fix:
        return blobs.lost(stream, name, what)
    for origin, data in _elsewhere(place, stream, name, where, size):
        if long_texts.hash_of(data) == name:
            if there:
                changed = durable.read_whole(place.fs, path)
                quarantine.save_aside(place, stream, path, changed, "a changed text, before it was restored")
            _write(place, stream, path, data)
            return Fault(stream, where, what, harmless=True, action=f"{RESTORED} from {origin}")
    return Fault(stream, where, what, action="no copy of it was found; the commit is used without it")


def _elsewhere(place: Place, stream: str, name: str, where: str, size: int) -> Iterator[tuple[str, bytes]]:
    for pin in pins.paths(place, stream, name):
        if (data := blobs.read(place, pin, size)) is not None:
            yield "a pin", data
    for version in porcelain.versions(place.root, where) if place.head.common else ():
        if (data := porcelain.content(place.root, version.blob)) is not None:
            yield version.where, data


def _write(place: Place, stream: str, path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    durable.make_folders(place.fs, folder)
    durable.replace(place.fs, path, data, tag=place.tag, durable=True)
    durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
    pins.link(place, stream, path)


def _unused(place: Place, stream: str, names: list[str], *, fix: bool) -> list[Fault]:
    """A crash between a text and its line leaves a file that nobody needs. The caller holds the stream, so nobody is
    about to write the line."""
    faults = []
    old = (place.clock() - DAY_MS) * 1_000_000
    for name in names:
        path = os.path.join(blobs.folder_of(place.root, stream), name)
        what = UNUSED if long_texts.is_hash(name) else "not a long text"
        action = "it is not read"
        if fix and long_texts.is_hash(name) and place.fs.stat(path).st_mtime_ns < old:
            place.fs.unlink(path)
            action = "removed"
        faults.append(Fault(stream, os.path.relpath(path, place.root), what, harmless=True, action=action))
    return faults


def bring_back(place: Place, handle_of: Callable[[str], Stream]) -> list[Fault]:
    """Every pinned text that a commit names and the working tree has lost. Not in the middle of a rebase, whose next
    step may bring the same file."""
    if place.head.is_replaying():
        return []
    faults = []
    for stream, pinned in pins.held(place):
        names = {os.path.basename(pin) for pin in pinned if long_texts.is_hash(os.path.basename(pin))}
        present = set(durable.names_in(place.fs, blobs.folder_of(place.root, stream))) if names else set()
        _drop_old(place, [pin for pin in pinned if os.path.basename(pin) in names & present])
        if names <= present:
            continue
        handle = handle_of(stream)
        with handle.mutex, handle.lock:
            for name, size in _named(handle).items():
                if name in names - present:
                    faults.append(_restored(place, stream, name, size, fix=True))
    return faults


def _drop_old(place: Place, found: list[str]) -> None:
    """A text that has been in the working tree for a month needs no pin."""
    old = (place.clock() - pins.MONTH_MS) * 1_000_000
    for pin in found:
        if place.fs.stat(pin).st_mtime_ns < old:
            pins.drop(place, pin)


def settle(place: Place, stream: str, where: str) -> bool:
    """Settle a text that a merge left in conflict: of all versions, the one that has this name. False if none has."""
    name = os.path.basename(where)
    path = os.path.join(place.root, where)
    for version in porcelain.versions(place.root, where):
        data = porcelain.content(place.root, version.blob)
        if data is not None and long_texts.hash_of(data) == name:
            _write(place, stream, path, data)
            return True
    return False


def is_text(path: str) -> bool:
    """Whether a path (relative to the workspace) is that of a long text."""
    folder, name = os.path.split(path)
    return (
        path.startswith(f"{segments.EVENTS}/")
        and os.path.basename(folder) == blobs.FOLDER
        and long_texts.is_hash(name)
    )
