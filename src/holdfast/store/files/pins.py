"""Pins: a hard link to every own segment, outside the working tree, until git has the segment.

``git reset --hard``, ``git clean``, a dropped stash and ``git worktree remove --force`` delete segments that no
git commit holds. So each new segment gets a hard link under the git common directory (under ``local/`` if that is
not writable): it costs no copy and no sync, and both names share every append. If the working tree has lost a
segment and no ref of the repository reaches it, ``salvage`` restores its commits under a new name; a name that git
may know is never reused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.errors import Forbidden, InvalidName
from holdfast.fs import durable
from holdfast.fs.symlinks import reject_symlinks
from holdfast.store.files import segments
from holdfast.store.files.identity import WriterIdentity
from holdfast.store.files.lockfile import WriterState
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.files.place import Place

FOLDER = "kept"
COPIES = "copies"
PLACES = "places"
_COMPARED = 256
"""Bytes at the end of a copy that are compared: they contain the checksum of its last line."""
MONTH_MS = 30 * 86_400_000
"""How long a pin is kept: a commit that a ref reaches today can be reset, amended or dropped tomorrow."""


def folders(place: Place, name: str = FOLDER) -> list[str]:
    """Where pins, or copies, may be: the shared folder first, then this workspace's own."""
    common = place.head.common
    shared = [os.path.join(common, "holdfast", name)] if common else []
    return [*shared, *_own_folder(place, name)]


def _own_folder(place: Place, name: str) -> list[str]:
    try:
        reject_symlinks(place.fs, place.root, f"local{os.sep}{name}")
    except (OSError, Forbidden):
        return []
    return [os.path.join(place.local, name)]


def pin_segment(place: Place, stream: str, path: str) -> None:
    """Pin a new segment, and record its writer's worktree."""
    if pin_file(place, stream, path) not in ("", os.path.join(place.local, FOLDER)):
        try:
            _record_worktree(place, segments.writer_of(os.path.basename(path)))
        except OSError:
            pass  # then its worktree does not count as active, and others restore what it lost


def pin_file(place: Place, stream: str, path: str) -> str:
    """Pin a file; returns the folder of the pin, if any. Only a safety net: if it fails, the file itself still
    exists."""
    if place.head.common is None:
        return ""
    for folder in folders(place):
        target = os.path.join(folder, stream.replace("/", "+"))
        try:
            try:
                place.fs.link(path, os.path.join(target, os.path.basename(path)))
            except FileNotFoundError:
                durable.make_folders(place.fs, target)
                place.fs.link(path, os.path.join(target, os.path.basename(path)))
            return folder
        except FileExistsError:
            return folder
        except OSError:
            continue
    return ""


def was_replaced(place: Place, stream: str, name: str, node: int | None, index_moved: bool) -> bool:
    """Whether git may have put another file under a segment's name, which now has the inode ``node``: a stash that is
    popped leaves HEAD, names and bytes as they were, and what is appended is not in the link. The link keeps the old
    file, so its inode number is not given to another one. Without a link, a moved index is reason enough."""
    if place.head.common is None:
        return False
    for pinned in paths(place, stream, name):
        try:
            return place.fs.stat(pinned).st_ino != node
        except OSError:
            continue
    return index_moved or node is None


def mirror(place: Place, stream: str, path: str) -> None:
    """Copy what was appended to a segment since the last call. A pin shares the segment's bytes, so it does not
    protect against a program that truncates the file in place. If a segment no longer continues its copy, the copy
    has more and is left alone. The caller holds the stream's lock."""
    for folder in folders(place, COPIES):
        target = os.path.join(folder, stream.replace("/", "+"), os.path.basename(path))
        try:
            try:
                fd = place.fs.open(target, durable.APPEND | os.O_CREAT)
            except FileNotFoundError:
                durable.make_folders(place.fs, os.path.dirname(target))
                fd = place.fs.open(target, durable.APPEND | os.O_CREAT)
            try:
                _extend(place, path, fd)
            finally:
                place.fs.close(fd)
            return
        except OSError:
            continue  # only a safety net


def _extend(place: Place, path: str, copy: int) -> None:
    source = place.fs.open(path, os.O_RDONLY)
    try:
        size, have = place.fs.stat_handle(source).st_size, place.fs.stat_handle(copy).st_size
        if have < size and continues(place, source, copy, have):
            durable.write_whole(place.fs, copy, durable.read_range(place.fs, source, have, size))
    finally:
        place.fs.close(source)


def continues(place: Place, source: int, copy: int, have: int) -> bool:
    """Whether a file still has, where its copy ends, the copy's last bytes. Lines are chained, so that verifies all
    lines before."""
    start = max(0, have - _COMPARED)
    return durable.read_range(place.fs, source, start, have) == durable.read_range(
        place.fs, copy, start, have
    )


def is_state_stale(
    place: Place, stream: str, writer: str, state: WriterState | None, listed: list[str]
) -> bool:
    """Whether the writer wrote something that its state lacks, on a branch that is not checked out.

    The state is not synced. After a power cut it can be older than a segment that git has since hidden;
    numbers and names would then be used twice.
    """
    if place.head.common is None:
        return False
    for folder in folders(place):
        pinned = os.path.join(folder, stream.replace("/", "+"))
        for name in _names(place, pinned):
            if name in listed or not name.startswith(writer) or not segments.is_segment(name):
                continue
            number = segments.number_of(name)
            if state is None or number > state.highest:
                return True
            if number == state.segment and _size(place, os.path.join(pinned, name)) > state.size:
                return True
    return False


def _size(place: Place, path: str) -> int:
    try:
        return place.fs.stat(path).st_size
    except OSError:
        return 0


def has_worktree(place: Place, writer: str) -> bool:
    """Whether the worktree of a writer of this repository still exists."""
    common = place.head.common
    if common is None:
        return False
    try:
        root = durable.read_whole(place.fs, os.path.join(common, "holdfast", PLACES, writer)).decode().strip()
    except (OSError, UnicodeDecodeError):
        return False
    return WriterIdentity(place.fs, os.path.join(root, "local"), lambda _: 0, place.tag).stored() == writer


def _record_worktree(place: Place, writer: str) -> None:
    """Record a writer's worktree, so that other worktrees can see whether it still exists."""
    path = os.path.join(str(place.head.common), "holdfast", PLACES, writer)
    try:
        place.fs.stat(path)
    except FileNotFoundError:
        durable.make_folders(place.fs, os.path.dirname(path))
        durable.replace(place.fs, path, f"{place.root}\n".encode(), tag=place.tag, durable=False)


def all_pins(place: Place, name: str = FOLDER) -> list[tuple[str, str]]:
    """Every pin, or copy, of a segment: its stream and its path."""
    return [
        (stream, path)
        for stream, paths in by_stream(place, name)
        for path in paths
        if segments.is_segment(os.path.basename(path))
    ]


def by_stream(place: Place, name: str = FOLDER) -> Iterator[tuple[str, list[str]]]:
    """Every stream that has pins, and their paths."""
    from holdfast.core.stream import checked_stream

    for folder in folders(place, name):
        for flat in _names(place, folder):
            try:
                stream = checked_stream(flat.replace("+", "/"))
            except InvalidName:
                continue
            own = os.path.join(folder, flat)
            yield stream, [os.path.join(own, name) for name in _names(place, own)]


def paths(place: Place, stream: str, name: str) -> list[str]:
    """Where a file of a stream may be pinned."""
    return [os.path.join(folder, stream.replace("/", "+"), name) for folder in folders(place)]


def drop(place: Place, path: str) -> None:
    """Drop one pin: the segment's commits are elsewhere."""
    try:
        place.fs.unlink(path)
        place.fs.remove_folder(os.path.dirname(path))
    except OSError:
        pass  # other pins are in the folder, or another process removed it first


def drop_segment(place: Place, stream: str, name: str) -> None:
    """Drop the pins of one segment whose file was replaced."""
    for folder in folders(place):
        drop(place, os.path.join(folder, stream.replace("/", "+"), name))


def drop_stream(place: Place, stream: str) -> None:
    """Drop all pins and copies of a stream that is removed."""
    for folder in (*folders(place), *folders(place, COPIES)):
        pinned = os.path.join(folder, stream.replace("/", "+"))
        for name in _names(place, pinned):
            drop(place, os.path.join(pinned, name))


def _names(place: Place, folder: str) -> list[str]:
    try:
        return sorted(place.fs.names(folder))
    except OSError:
        return []
