"""Bringing segments back: from git, from the links that are kept out of git's reach, and out of conflicts.

Lines are unique and chained, so the union of the readable lines of all versions of a segment is always right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from holdfast.core import codec, ids
from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.recovery import pins, quarantine
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.stream import StreamFiles
    from holdfast.store.files.stream_reader import Place


RESTORED = "commits restored"
PUT_BACK = "put back where it belongs"
REMOVED = "that git removed from the working tree before a git commit had them"


def whole_lines(data: bytes) -> list[bytes]:
    """The commits in a segment's bytes, whatever else is between them."""
    return [line for piece in data.split(b"\n") if segments.is_whole(line := line_of(piece))]


def union(stream: str, name: str, versions: Iterable[bytes]) -> bytes:
    """All commits of several versions of a segment, each once, in canonical order."""
    found: dict[str, bytes] = {}
    for data in versions:
        for line in whole_lines(data):
            found.setdefault(codec.id_of(line), line)
    lines = (segments.shifted(stream, name, found[commit_id]) for commit_id in sorted(found))
    return b"".join(line + b"\n" for line in lines)


def from_git(place: Place, stream: str, path: str) -> Fault | None:
    """Mend a segment that is damaged or gone with what git has of it; None if that adds nothing. The caller holds the
    stream."""
    damaged = durable.read_whole(place.fs, path) if _exists(place, path) else b""
    own = {codec.id_of(line) for line in whole_lines(damaged)}
    contents, sources = [], []
    name = os.path.relpath(path, place.root)
    for version in porcelain.versions(place.root, name) if place.head.common else []:
        data = porcelain.content(place.root, version.blob)
        if data is None:
            continue
        contents.append(data)
        news = {codec.id_of(line) for line in whole_lines(data)} - own
        if news:
            sources.append(f"{len(news)} from {version.where}")
            own |= news
    joined = union(stream, os.path.basename(path), [damaged, *contents])
    marked = any(
        line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")) for line in damaged.split(b"\n")
    )
    if not sources and not marked:
        return None
    aside = ""
    if damaged:
        kept_at = quarantine.save_aside(
            place, stream, path, damaged, "a damaged segment, before it was restored"
        )
        aside = f"; the damaged file is {kept_at}"
    durable.make_folders(place.fs, os.path.dirname(path))
    durable.replace(place.fs, path, joined, tag=place.tag, durable=True)
    what = "conflict markers of a merge" if marked else "a damaged segment"
    origin = ", ".join(sources) or "all were in the file"
    action = f"{len(own)} {RESTORED} ({origin}){aside}"
    return Fault(stream, name, what, harmless=True, action=action)


def unmerged(place: Place, stream: str, name: str) -> bool:
    """Settle a segment that a merge left in conflict: the union of all sides. The caller holds the stream. False if it
    is not this stream's: git asks whether it belongs here."""
    path = os.path.join(place.root, name)
    if not segments.belongs(stream, os.path.basename(name)):
        return False
    contents = [
        porcelain.content(place.root, version.blob) or b"" for version in porcelain.versions(place.root, name)
    ]
    try:
        contents.append(durable.read_whole(place.fs, path))
    except FileNotFoundError:
        durable.make_folders(place.fs, os.path.dirname(path))
    joined = union(stream, os.path.basename(path), contents)
    if not _is_sound(joined) and all(map(_is_sound, contents)):
        joined = tied(stream, os.path.basename(path), joined)
    durable.replace(place.fs, path, joined, tag=place.tag, durable=True)
    return True


def _is_sound(data: bytes) -> bool:
    """Whether every line is a commit that is tied to the one before it."""
    previous = codec.GENESIS
    for piece in data.split(b"\n")[:-1]:
        line = line_of(piece)
        if codec.fault_of(line, previous) is not None:
            return False
        previous = codec.sum_of(line)
    return True


def tied(stream: str, name: str, data: bytes) -> bytes:
    """The commits of whole lines, each tied to the one that is now before it: nothing is missing between them, and
    nobody has to look for it."""
    found, previous = [], codec.GENESIS
    for line in whole_lines(data):
        anew, previous = codec.rechained(line, previous)
        found.append(segments.shifted(stream, name, anew[:-1]) + b"\n")
    return b"".join(found)


def put_back(place: Place, streams: list[str], handle_of: Callable[[str], StreamFiles]) -> list[Fault]:
    """Move segments that lie in the folder of another stream to where they belong."""
    found = [path for stream in streams for path in misplaced(place, stream)]
    if not found:
        return []
    known = {*streams, *(stream for stream, _ in pins.links(place)), *porcelain.sessions(place.root)}
    owners = {segments.tag_of(stream): stream for stream in known}
    faults = []
    for path in found:
        owner = owners.get(segments.tag_in(os.path.basename(path)))
        if owner is None:
            continue  # the check reports it
        handle = handle_of(owner)
        with handle.mutex:
            faults += _put_back(place, handle, path)
    return faults


def misplaced(place: Place, stream: str) -> list[str]:
    """The segments of other streams in the folders of this one, live and archived."""
    return [
        os.path.join(folder, name)
        for folder in (segments.folder_of(place.root, stream), segments.joined_of(place.root, stream))
        for name in (durable.names_in(place.fs, folder) if folder else ())
        if segments.is_segment(name) and not segments.belongs(stream, name)
    ]


def _put_back(place: Place, handle: StreamFiles, path: str) -> list[Fault]:
    target = _target(place, handle.stream, path)
    handle.lock()
    try:
        folder = os.path.dirname(target)
        durable.make_folders(place.fs, folder)
        if _exists(place, target):
            contents = [durable.read_whole(place.fs, found) for found in (path, target)]
            quarantine.save_aside(
                place, handle.stream, path, contents[0], "a segment that was also elsewhere"
            )
            whole = union(handle.stream, os.path.basename(target), contents)
            durable.replace(place.fs, target, whole, tag=place.tag, durable=True)
            place.fs.unlink(path)
        else:
            place.fs.rename(path, target)
        durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
        place.fs.sync_folder(os.path.dirname(path))
    finally:
        handle.unlock()
    old, new = (os.path.relpath(found, place.root) for found in (path, target))
    what = f"a segment of {handle.stream}"
    return [Fault(handle.stream, where, what, harmless=True, action=PUT_BACK) for where in (old, new)]


def salvage(place: Place, handle_of: Callable[[str], StreamFiles], *, fix: bool = True) -> list[Fault]:
    """Bring back every kept segment that the working tree has lost and that no ref leads to, or only name it.

    Not in the midst of a rebase, whose next step may bring the same file. Git is asked only if something is
    missing. After a month those that git has are forgotten. What waits in journals of dead processes comes first.
    """
    from holdfast.recovery import replay

    replay.make_all_sound(place, handle_of)
    if place.head.is_replaying():
        return []
    links = pins.links(place)
    old = place.clock() - pins.MONTH_MS
    wanted = [
        (stream, path, first)
        for stream, path in links
        if (first := _first_ms(place, path)) < old or not _is_in_tree(place, stream, path)
    ]
    if not wanted:
        return []
    paths = [path for _, path, _ in wanted]
    blobs = porcelain.blob_ids(place.root, paths)
    if len(blobs) != len(paths):
        return []  # no git to ask, or a link vanished meanwhile: the next time will do
    in_git = porcelain.blobs_in_refs(place.root, min(first for _, _, first in wanted))
    faults = []
    writer = place.identity.stored()
    for (stream, path, first), blob in zip(wanted, blobs, strict=True):
        if blob in in_git and not _is_cut(place, stream, path):
            if fix and first < old:
                pins.drop(place, path)
            continue
        owner = segments.writer_of(os.path.basename(path))
        if owner != writer and pins.is_at_work(place, owner):
            continue  # its own worktree brings it back
        handle = handle_of(stream)
        with handle.mutex:
            faults += _bring_back(place, handle, path) if fix else _lost(place, handle, path)
    return faults


def kept_sessions(place: Place, handle_of: Callable[[str], StreamFiles], known: set[str]) -> list[str]:
    """Sessions of which commits are only kept, or which nothing is ``known`` of but that."""
    lost = {fault.stream for fault in salvage(place, handle_of, fix=False)}
    lost |= {stream for stream, _ in pins.links(place) if stream not in known}
    return sorted(stream for stream in lost if stream.startswith("sessions/"))


def _lost(place: Place, handle: StreamFiles, path: str) -> list[Fault]:
    """What a link has and the stream lacks, by name."""
    present = {codec.id_of(line) for line in handle.read(None).lines}
    missing = sum(
        codec.id_of(line) not in present for line in whole_lines(durable.read_whole(place.fs, path))
    )
    where = os.path.relpath(_target(place, handle.stream, path), place.root)
    action = "`holdfast heal` brings them back"
    return [Fault(handle.stream, where, _removed(missing), harmless=True, action=action)] if missing else []


def _removed(count: int) -> str:
    commits = "commit" if count == 1 else "commits"
    return f"{count} {commits} {REMOVED}"


def _is_cut(place: Place, stream: str, path: str) -> bool:
    """Whether the working tree has the segment, but not all of it: an old version was put back over it.

    That is never a matter of branches, since git knows every segment in one version only.
    """
    return not _is_in_tree(place, stream, path) and _exists(place, _target(place, stream, path))


def _target(place: Place, stream: str, path: str) -> str:
    name = os.path.basename(path)
    if name.startswith(segments.JOINED):
        return os.path.join(segments.joined_of(place.root, stream), name)
    return os.path.join(segments.folder_of(place.root, stream), name)


def _exists(place: Place, path: str) -> bool:
    try:
        place.fs.stat(path)
    except FileNotFoundError:
        return False
    return True


def _is_in_tree(place: Place, stream: str, path: str) -> bool:
    """Whether the working tree has all that a link has."""
    target = _target(place, stream, path)
    try:
        one, other = place.fs.stat(path), place.fs.stat(target)
        if one.st_ino == other.st_ino:
            return True
        found = {codec.id_of(line) for line in whole_lines(durable.read_whole(place.fs, target))}
        return found.issuperset(map(codec.id_of, whole_lines(durable.read_whole(place.fs, path))))
    except FileNotFoundError:
        return False


def _bring_back(place: Place, handle: StreamFiles, path: str) -> list[Fault]:
    handle.lock()
    try:
        data = durable.read_whole(place.fs, path)
        lines = whole_lines(data)
        present = {codec.id_of(line) for line in handle.read(None).lines}
        missing = sum(codec.id_of(line) not in present for line in lines)
        target = _target(place, handle.stream, path)
        if not missing:
            return []
        joined = os.path.basename(target).startswith(segments.JOINED)
        if not joined and not _exists(place, target):
            # Not under the old name: another clone may have more under it, and git would refuse to merge that.
            target = handle.take_number(os.path.basename(path))
        folder = os.path.dirname(target)
        durable.make_folders(place.fs, folder)
        if joined:
            from holdfast.recovery import archive

            archive.name_owner(place, handle)
        contents = [data]
        try:
            contents.append(durable.read_whole(place.fs, target))
            quarantine.save_aside(
                place, handle.stream, target, contents[-1], "a segment that had lost commits"
            )
        except FileNotFoundError:
            pass
        whole = union(handle.stream, os.path.basename(target), contents)
        durable.replace(place.fs, target, whole, tag=place.tag, durable=True)
        durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
        pins.drop(place, path)
        pins.keep(place, handle.stream, target)
    finally:
        handle.unlock()
    where = os.path.relpath(target, place.root)
    return [Fault(handle.stream, where, _removed(missing), harmless=True, action="brought back")]


def _first_ms(place: Place, path: str) -> int:
    try:
        fd = place.fs.open(path, os.O_RDONLY)
    except OSError:
        return 0
    try:
        commit_id = codec.id_of(line_of(place.fs.read(fd, 256, 0)))
        return ids.milliseconds(commit_id) if ids.is_commit_id(commit_id) else 0
    finally:
        place.fs.close(fd)
