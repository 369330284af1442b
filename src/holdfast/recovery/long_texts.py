"""Long texts that are stored as files (``store.files.blobs``): finding missing, changed and unused ones, and restoring
them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from holdfast.core import codec, long_texts
from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.store import faults
from holdfast.store.files import blobs, pins, quarantine, segments
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream

DAY_MS = 86_400_000
"""How long a text that no commit names is kept."""


def check(place: Place, handle: Stream, lines: Iterable[bytes], *, fix: bool) -> list[Fault]:
    """Every missing or changed text of a stream with these ``lines``, and files that no commit names."""
    folder = blobs.folder_of(place.root, handle.stream)
    with handle.lock:
        lines = list(filter(codec.is_detached, lines))
        named = _named(lines)
        problems = [
            _restored(place, handle.stream, name, size, fix=fix)
            for name, size in named.items()
            if _valid_bytes(place, handle.stream, name, size) is None
        ]
        problems += _malformed(place, handle.stream, lines)
        found = durable.names_in(place.fs, folder)
        unused = [name for name in found if name not in named and durable.TEMP_MARK not in name]
        return [*problems, *_unused(place, handle.stream, unused, fix=fix)]


def _without_texts(handle: Stream) -> list[bytes]:
    """The lines of a stream that name long texts."""
    return list(filter(codec.is_detached, handle.read(None).lines))


def _named(lines: list[bytes]) -> dict[str, int]:
    """The texts that lines name, with their sizes."""
    return {found.hash: found.size for line in lines for found in long_texts.references_in(line)}


def _malformed(place: Place, stream: str, lines: list[bytes]) -> Iterator[Fault]:
    """Lines with a correct checksum whose texts are all present but do not give the line that was written: another
    program wrote them."""
    for line in lines:
        references = long_texts.references_in(line)
        found = {
            reference: text.decode("utf-8", "replace")
            for reference in references
            if (text := _valid_bytes(place, stream, *reference[1:])) is not None
        }
        complete = len(found) == len(set(references))
        if complete and not long_texts.attach(line, found.__getitem__)[1]:
            data = {"commit": codec.id_of(line)}
            yield Fault(faults.MALFORMED_TEXTS, stream, f"{segments.EVENTS}/{stream}", data)


def _valid_bytes(place: Place, stream: str, name: str, size: int) -> bytes | None:
    """The bytes of a text, if its file has the correct ones."""
    data = blobs.read(place, os.path.join(blobs.folder_of(place.root, stream), name), size)
    return data if data is not None and long_texts.hash_of(data) == name else None


def _restored(place: Place, stream: str, name: str, size: int, *, fix: bool) -> Fault:
    """Restore a text from a pin or from git; what cannot be found is reported."""
    path = os.path.join(blobs.folder_of(place.root, stream), name)
    where = os.path.relpath(path, place.root)
    there = place.fs.exists(path)
    kind = faults.CHANGED_TEXT if there else faults.MISSING_TEXT
    for data in _elsewhere(place, stream, name, where, size) if fix else ():
        if long_texts.hash_of(data) == name:
            if there:
                changed = durable.read_whole(place.fs, path)
                quarantine.save_aside(place, stream, path, changed, "a changed text, before it was restored")
            _write(place, stream, path, data)
            return Fault(kind, stream, where, done=faults.RECOVERED, harmless=True)
    return blobs.lost(stream, name, kind)


def _elsewhere(place: Place, stream: str, name: str, where: str, size: int) -> Iterator[bytes]:
    for pin in pins.paths(place, stream, name):
        if (data := blobs.read(place, pin, size)) is not None:
            yield data
    for version in porcelain.versions(place.root, where) if place.head.common else ():
        if (data := porcelain.content(place.root, version.blob)) is not None:
            yield data


def _write(place: Place, stream: str, path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    durable.make_folders(place.fs, folder)
    durable.replace(place.fs, path, data, tag=place.tag, durable=True)
    durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
    pins.pin_file(place, stream, path)


def _unused(place: Place, stream: str, names: list[str], *, fix: bool) -> list[Fault]:
    """A crash between a text and its line leaves an unused file. The caller holds the stream's lock, so nobody is about
    to write the line."""
    found = []
    old = (place.clock() - DAY_MS) * 1_000_000
    for name in names:
        path = os.path.join(blobs.folder_of(place.root, stream), name)
        done = ""
        if fix and long_texts.is_hash(name) and place.fs.stat(path).st_mtime_ns < old:
            place.fs.unlink(path)
            done = faults.REMOVED
        where = os.path.relpath(path, place.root)
        found.append(Fault(faults.UNUSED_TEXT, stream, where, done=done, harmless=True))
    return found


def restore_pinned(place: Place, handle_of: Callable[[str], Stream]) -> list[Fault]:
    """Restore every pinned text that a commit names and the working tree has lost. Not during a rebase, whose next
    step may add the same file."""
    if place.head.is_replaying():
        return []
    found = []
    for stream, pinned in pins.by_stream(place):
        names = {os.path.basename(pin) for pin in pinned if long_texts.is_hash(os.path.basename(pin))}
        present = set(durable.names_in(place.fs, blobs.folder_of(place.root, stream))) if names else set()
        _drop_old(place, [pin for pin in pinned if os.path.basename(pin) in names & present])
        if names <= present:
            continue
        handle = handle_of(stream)
        with handle.mutex, handle.lock:
            for name, size in _named(_without_texts(handle)).items():
                if name in names - present:
                    found.append(_restored(place, stream, name, size, fix=True))
    return found


def _drop_old(place: Place, dropped: list[str]) -> None:
    """A text that has been in the working tree for a month needs no pin."""
    old = (place.clock() - pins.MONTH_MS) * 1_000_000
    for pin in dropped:
        if place.fs.stat(pin).st_mtime_ns < old:
            pins.drop(place, pin)


def settle(place: Place, stream: str, where: str) -> bool:
    """Settle a text that a merge left in conflict: the version whose hash is its name. False if there is none."""
    name = os.path.basename(where)
    path = os.path.join(place.root, where)
    for version in porcelain.versions(place.root, where):
        data = porcelain.content(place.root, version.blob)
        if data is not None and long_texts.hash_of(data) == name:
            _write(place, stream, path, data)
            return True
    return False
