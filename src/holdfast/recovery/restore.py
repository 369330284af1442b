"""Restoring segments: from git, from pins, and out of merge conflicts.

Lines are unique and chained, so the union of the readable lines of all versions of a segment is always correct.
"""

from __future__ import annotations

import os

from holdfast.core import codec, ids
from holdfast.fs import durable
from holdfast.git import porcelain
from holdfast.store import faults
from holdfast.store.files import pins, quarantine, segments
from holdfast.store.files.padding import line_of
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.store.files.place import Place
    from holdfast.store.files.stream import Stream


def from_git(place: Place, stream: str, path: str) -> Fault | None:
    """Restore a damaged or missing segment from git; None if git adds nothing. The caller holds the stream's lock."""
    damaged = durable.read_whole(place.fs, path) if _exists(place, path) else b""
    own = {codec.id_of(line) for line in segments.whole_lines(damaged)}
    contents: list[bytes] = []
    sources: dict[str, int] = {}
    name = os.path.relpath(path, place.root)
    for version in porcelain.versions(place.root, name) if place.head.common else []:
        data = porcelain.content(place.root, version.blob)
        if data is None:
            continue
        contents.append(data)
        news = {codec.id_of(line) for line in segments.whole_lines(data)} - own
        if news:
            sources[version.where] = sources.get(version.where, 0) + len(news)
            own |= news
    joined = segments.union(stream, os.path.basename(path), [damaged, *contents])
    marked = any(
        line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")) for line in damaged.split(b"\n")
    )
    if not sources and not marked:
        return None
    saved_as = None
    if damaged:
        saved_as = quarantine.save_aside(
            place, stream, path, damaged, "a damaged segment, before it was restored"
        )
    durable.make_folders(place.fs, os.path.dirname(path))
    durable.replace(place.fs, path, joined, tag=place.tag, durable=True)
    kind = faults.CONFLICT_MARKERS if marked else faults.DAMAGED_SEGMENT
    found = {"commits": len(own), "sources": sources, "saved_as": saved_as}
    return Fault(kind, stream, name, found, done=faults.RESTORED, harmless=True)


def settle_conflict(place: Place, stream: str, name: str) -> bool:
    """Settle a segment that a merge left in conflict: the union of all sides. The caller holds the stream's lock.
    False if it belongs to another stream."""
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
    joined = segments.union(stream, os.path.basename(path), contents)
    if not _is_valid(joined) and all(map(_is_valid, contents)):
        joined = segments.rechained(stream, os.path.basename(path), segments.whole_lines(joined))
    durable.replace(place.fs, path, joined, tag=place.tag, durable=True)
    _part_from_twin(place, os.path.basename(path), contents)
    return True


def _part_from_twin(place: Place, name: str, contents: list[bytes]) -> None:
    """Take a new identity if somebody else wrote in this writer's name: a machine that was copied with its memory."""
    writer = place.identity.stored()
    versions = [segments.ids_in(data) for data in contents]
    most = max(versions, key=len, default=set())
    if segments.writer_of(name) == writer and not all(found <= most for found in versions):
        place.identity.renew(writer)


def _is_valid(data: bytes) -> bool:
    """Whether every line is a commit that is chained to the one before it."""
    previous = codec.GENESIS
    for piece in data.split(b"\n")[:-1]:
        line = line_of(piece)
        if codec.fault_of(line, previous) is not None:
            return False
        previous = codec.sum_of(line)
    return True


def move_misplaced(place: Place, streams: list[str], handle_of: Callable[[str], Stream]) -> list[Fault]:
    """Move segments that are in another stream's folder to where they belong."""
    found = [path for stream in streams for path in misplaced(place, stream)]
    if not found:
        return []
    known = {*streams, *(stream for stream, _ in pins.all_pins(place)), *porcelain.sessions(place.root)}
    owners = {segments.tag_of(stream): stream for stream in known}
    done = []
    for path in found:
        owner = owners.get(segments.tag_in(os.path.basename(path)))
        if owner is None:
            continue  # the check reports it
        handle = handle_of(owner)
        with handle.mutex:
            done += _move_back(place, handle, path)
    return done


def misplaced(place: Place, stream: str) -> list[str]:
    """The segments of other streams in this stream's folders, live and archived."""
    return [
        os.path.join(folder, name)
        for folder in (segments.folder_of(place.root, stream), segments.joined_of(place.root, stream))
        for name in (durable.names_in(place.fs, folder) if folder else ())
        if segments.is_segment(name) and not segments.belongs(stream, name)
    ]


def _move_back(place: Place, handle: Stream, path: str) -> list[Fault]:
    target = _target(place, handle.stream, path)
    with handle.lock:
        folder = os.path.dirname(target)
        durable.make_folders(place.fs, folder)
        if _exists(place, target):
            contents = [durable.read_whole(place.fs, found) for found in (path, target)]
            quarantine.save_aside(
                place, handle.stream, path, contents[0], "a segment that was also elsewhere"
            )
            whole = segments.union(handle.stream, os.path.basename(target), contents)
            durable.replace(place.fs, target, whole, tag=place.tag, durable=True)
            place.fs.unlink(path)
        else:
            place.fs.rename(path, target)
        durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
        place.fs.sync_folder(os.path.dirname(path))
    old, new = (os.path.relpath(found, place.root) for found in (path, target))
    fault = Fault(
        faults.MISPLACED_SEGMENT,
        handle.stream,
        old,
        {"owner": handle.stream},
        done=faults.MOVED,
        harmless=True,
    )
    return [fault, fault._replace(where=new)]


def salvage(place: Place, handle_of: Callable[[str], Stream], *, fix: bool = True) -> list[Fault]:
    """Restore every pinned segment that the working tree has lost and that no ref reaches, or only report it.

    Not during a rebase, whose next step may add the same file. Git runs only if something is missing. After a
    month, pins of segments that git has are dropped. Journals of dead processes are replayed first.
    """
    from holdfast.store.files import replay

    replay.recover_all(place, handle_of)
    done: list[Fault] = []
    if place.head.is_replaying():
        return done
    links = _fullest(place, pins.all_pins(place))
    old = place.clock() - pins.MONTH_MS
    wanted = [
        (stream, path, first)
        for stream, path in links
        if (first := _first_ms(place, path)) < old or not _is_in_tree(place, stream, path)
    ]
    if not wanted:
        return done
    paths = [path for _, path, _ in wanted]
    blobs = porcelain.blob_ids(place.root, paths)
    if len(blobs) != len(paths):
        return done  # git failed, or a pin vanished meanwhile: retried the next time
    in_git = porcelain.blobs_in_refs(place.root, min(first for _, _, first in wanted))
    writer = place.identity.stored()
    for (stream, path, first), blob in zip(wanted, blobs, strict=True):
        if blob in in_git and not _is_cut(place, stream, path):
            if fix and first < old:
                pins.drop(place, path)
            continue
        owner = segments.writer_of(os.path.basename(path))
        if owner != writer and pins.has_worktree(place, owner):
            continue  # its own worktree restores it
        handle = handle_of(stream)
        with handle.mutex:
            done += _restore_pinned(place, handle, path) if fix else _lost(place, handle, path)
    return done


def _fullest(place: Place, links: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The links, and instead of one whose segment grew in another file the copy that has more."""
    copies = {(stream, os.path.basename(path)): path for stream, path in pins.all_pins(place, pins.COPIES)}
    found = []
    for stream, path in links:
        copy = copies.get((stream, os.path.basename(path)))
        if copy is not None and not _exists(place, _target(place, stream, path)):
            known, more = (segments.ids_in(durable.read_whole(place.fs, p)) for p in (path, copy))
            if known < more:
                path = copy
        found.append((stream, path))
    return found


def restore_cut(
    place: Place, handle_of: Callable[[str], Stream], known: list[Fault], *, fix: bool
) -> list[Fault]:
    """Restore segments that lack what their copies have, beyond the ``known`` damage. A missing one was removed by a
    checkout: see its pin."""
    done = []
    old = place.clock() - pins.MONTH_MS
    for stream, copy in pins.all_pins(place, pins.COPIES):
        target = _target(place, stream, copy)
        if (
            _exists(place, target)
            and not _continues(place, target, copy)
            and not _is_in_tree(place, stream, copy)
        ):
            handle = handle_of(stream)
            with handle.mutex:
                found = _restore_pinned(place, handle, copy) if fix else _lost(place, handle, copy)
            done += [fault for fault in found if fault.done or not _is_reported(fault, known)]
        elif fix and _first_ms(place, copy) < old:
            pins.drop(place, copy)
    return done


def _is_reported(fault: Fault, known: list[Fault]) -> bool:
    """Whether the known faults cover all lost commits of a segment: git has them, or each is an unreadable line."""
    of_file = [other for other in known if other.where.partition(":")[0] == fault.where]
    damaged = sum(other.kind == faults.DAMAGED_LINE for other in of_file)
    behind = any(other.kind == faults.BEHIND_GIT for other in of_file)
    return behind or damaged >= int(fault.data["commits"])


def pinned_sessions(place: Place, handle_of: Callable[[str], Stream], known: set[str]) -> list[str]:
    """Sessions that have commits only in pins, or of which nothing but that is ``known``."""
    lost = {fault.stream for fault in salvage(place, handle_of, fix=False)}
    lost |= {stream for stream, _ in pins.all_pins(place) if stream not in known}
    return sorted(stream for stream in lost if stream.startswith("sessions/"))


def _lost(place: Place, handle: Stream, path: str) -> list[Fault]:
    """What a pin has and the stream lacks, by name."""
    present = {codec.id_of(line) for line in handle.read(None).lines}
    missing = sum(
        codec.id_of(line) not in present for line in segments.whole_lines(durable.read_whole(place.fs, path))
    )
    where = os.path.relpath(_target(place, handle.stream, path), place.root)
    cut = _is_cut(place, handle.stream, path)
    return [_removed(handle, where, missing, cut=cut)] if missing else []


def _removed(handle: Stream, where: str, count: int, *, cut: bool, done: str = "") -> Fault:
    kind, harmless = (faults.LOST_COMMITS, bool(done)) if cut else (faults.REMOVED_COMMITS, True)
    return Fault(kind, handle.stream, where, {"commits": count}, done=done, harmless=harmless)


def _is_cut(place: Place, stream: str, path: str) -> bool:
    """Whether the working tree has the segment, but not all of it: an old version replaced it.

    That is never caused by a branch switch, since git knows every segment in one version only.
    """
    return not _is_in_tree(place, stream, path) and _exists(place, _target(place, stream, path))


def restore_if_cut(place: Place, handle: Stream, path: str) -> None:
    """Restore a segment of the working tree that lacks commits of a pin or a copy of it."""
    if _is_cut(place, handle.stream, path):
        _restore_pinned(place, handle, path)


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
    """Whether the working tree has everything that a pin has."""
    target = _target(place, stream, path)
    try:
        one, other = place.fs.stat(path), place.fs.stat(target)
        if one.st_ino == other.st_ino:
            return True
        found = {codec.id_of(line) for line in segments.whole_lines(durable.read_whole(place.fs, target))}
        return found.issuperset(map(codec.id_of, segments.whole_lines(durable.read_whole(place.fs, path))))
    except FileNotFoundError:
        return False


def _continues(place: Place, segment: str, copy: str) -> bool:
    """Whether a segment still has everything that its copy has, checked at the copy's end."""
    one, other = place.fs.open(segment, os.O_RDONLY), -1
    try:
        other = place.fs.open(copy, os.O_RDONLY)
        return pins.continues(place, one, other, place.fs.stat_handle(other).st_size)
    finally:
        for fd in (one, other):
            if fd >= 0:
                place.fs.close(fd)


def _restore_pinned(place: Place, handle: Stream, path: str) -> list[Fault]:
    with handle.lock:
        data = durable.read_whole(place.fs, path)
        lines = segments.whole_lines(data)
        present = {codec.id_of(line) for line in handle.read(None).lines}
        missing = sum(codec.id_of(line) not in present for line in lines)
        target = _target(place, handle.stream, path)
        if not missing:
            return []
        cut = _exists(place, target)
        joined = os.path.basename(target).startswith(segments.JOINED)
        if not joined and not _exists(place, target):
            # Not under the old name: another clone may have more under it, and git would report a conflict.
            target = handle.take_number(os.path.basename(path))
        folder = os.path.dirname(target)
        durable.make_folders(place.fs, folder)
        if joined:
            from holdfast.recovery import owner

            owner.name_owner(place, handle)
        contents = [data]
        try:
            contents.append(durable.read_whole(place.fs, target))
            quarantine.save_aside(
                place, handle.stream, target, contents[-1], "a segment that had lost commits"
            )
        except FileNotFoundError:
            pass
        whole = segments.union(handle.stream, os.path.basename(target), contents)
        durable.replace(place.fs, target, whole, tag=place.tag, durable=True)
        durable.fsync_dirs(place.fs, folder, os.path.dirname(place.root))
        pins.drop(place, path)
        if cut:
            pins.drop_segment(
                place, handle.stream, os.path.basename(target)
            )  # they share the truncated bytes
        pins.pin_segment(place, handle.stream, target)
    where = os.path.relpath(target, place.root)
    return [_removed(handle, where, missing, cut=cut, done=faults.RECOVERED)]


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
