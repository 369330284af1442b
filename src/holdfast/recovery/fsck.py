"""Check a workspace folder, and repair what can be repaired without losing anything."""

from __future__ import annotations

import json
import os
import stat

from holdfast.core import validation
from holdfast.core.long_texts import FOLDER as TEXTS
from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.store import faults, forked
from holdfast.store.files import pins, quarantine, segments
from holdfast.store.files.place import Place
from holdfast.store.files.stream import Stream
from holdfast.store.protocol import Fault
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def check_streams(
    place: Place, streams: list[str], handle_of: Callable[[str], Stream], *, fix: bool
) -> list[Fault]:
    """``check_stream`` for every stream, and segments that git ignores."""
    from holdfast.recovery import behind_git, long_texts

    suspects = behind_git.suspects(place)

    def check(some: list[str]) -> list[Fault]:
        found = []
        for stream in some:
            handle = handle_of(stream)
            with handle.mutex, handle.lock:
                tail = handle.read(None)
                found += check_stream(place, handle, tail.faults, fix=fix, suspects=suspects)
                lines = handle.read(None).lines if fix else tail.lines
                found += long_texts.check(place, handle, lines, fix=fix)
        return found

    found = forked.over_streams("Checking the log of", streams, check, writes=fix)
    return found + _ignored(place) + _tracked_caches(place)


def check_stream(
    place: Place,
    handle: Stream,
    unreadable: Iterable[Fault],
    *,
    fix: bool,
    suspects: frozenset[str] = frozenset(),
) -> list[Fault]:
    """Every ``unreadable`` line of a stream, as reading it has reported; torn tails, commits that git has and it
    lacks (in ``suspects``), and files that do not belong in its folder."""
    from holdfast.recovery import behind_git

    with handle.lock:
        found = list(unreadable)
        if fix and found:
            found = _restore(place, handle)
        found += behind_git.check(place, handle, suspects, fix=fix)
        for name in durable.names_in(place.fs, handle.segments.folder):
            path = os.path.join(handle.segments.folder, name)
            where = f"{segments.EVENTS}/{handle.stream}/{name}"
            if segments.belongs(handle.stream, name):
                part = segments.read_part(place.fs, path, segments.UNREAD)
                found += _check_malformed(place, handle.stream, path, where, part)
                found += _check_tail(place, handle.stream, path, where, part, fix=fix)
            elif segments.is_segment(name):
                continue  # see _misplaced
            elif durable.TEMP_MARK not in name and name not in (segments.STUB, TEXTS):
                found.append(Fault(faults.NOT_A_SEGMENT, handle.stream, where, harmless=True))
        return [*found, *_misplaced(place, handle.stream), *_check_owner(place, handle, fix=fix)]


def _check_malformed(place: Place, stream: str, path: str, where: str, part: segments.Part) -> list[Fault]:
    """Lines with a correct checksum but a malformed commit: another program wrote them."""
    return faults.bounded(_malformed(place, stream, path, where, part))


def _malformed(place: Place, stream: str, path: str, where: str, part: segments.Part) -> Iterator[Fault]:
    is_whole = part.mark.rows == len(part.lines) and not part.troubles
    for number, line in enumerate(part.lines, 1) if is_whole else segments.numbered(place.fs, path):
        try:
            validation.commit_in(line)
        except HoldfastError as error:
            yield Fault(faults.MALFORMED_COMMIT, stream, f"{where}:{number}", {"problem": error.message})


def _misplaced(place: Place, stream: str) -> list[Fault]:
    from holdfast.recovery import restore

    return [
        Fault(faults.MISPLACED_SEGMENT, stream, os.path.relpath(path, place.root))
        for path in restore.misplaced(place, stream)
    ]


def _check_owner(place: Place, handle: Stream, *, fix: bool) -> list[Fault]:
    """An archive without the file that names its stream."""
    from holdfast.recovery import owner

    if not owner.lacks_owner(place, handle):
        return []
    if fix:
        owner.name_owner(place, handle)
    where = f"{owner.folder_of(place, handle.stream)}/{owner.OWNER}"
    done = faults.REWRITTEN if fix else ""
    return [Fault(faults.MISSING_OWNER, handle.stream, where, done=done, harmless=True)]


def _restore(place: Place, handle: Stream) -> list[Fault]:
    """Restore damaged segments from git; what stays damaged is reported again."""
    from holdfast.recovery import restore

    done = []
    for path in handle.segments.paths():
        part = segments.read_part(place.fs, path, segments.UNREAD, collect=False)
        if part.troubles and (fault := restore.from_git(place, handle.stream, path)):
            done.append(fault)
    return [*done, *handle.read(None).faults]


def _check_tail(
    place: Place, stream: str, path: str, where: str, part: segments.Part, *, fix: bool
) -> list[Fault]:
    own = os.path.basename(path).startswith(place.identity.stored() or "-")
    torn = place.fs.stat(path).st_size - part.good.offset
    if not torn:
        return []
    line = f"{where}:{part.good.rows + 1}"
    fault = Fault(faults.TORN_TAIL, stream, line, {"bytes": torn, "own": own}, harmless=True)
    if not own or not fix:
        # Not read, never acknowledged, and truncated by the next append to this segment: no action is needed.
        return [fault]
    fd = place.fs.open(path, durable.APPEND)
    try:
        quarantine.cut_torn_tail(place.fs, place, stream, path, fd)
    finally:
        place.fs.close(fd)
    return [fault._replace(done=faults.CUT_OFF)]


def stray_files(place: Place, *, fix: bool) -> list[Fault]:
    """Temporary files of processes that died, and files in quarantine."""
    found = []
    for path in _walk(place, place.root):
        name = os.path.basename(path)
        where = os.path.relpath(path, place.root)
        if durable.TEMP_MARK in name:
            if fix and _is_old(place, path):
                place.fs.unlink(path)
                found.append(Fault(faults.TEMP_FILE, "", where, done=faults.REMOVED, harmless=True))
        elif f"{os.sep}quarantine{os.sep}" in path and name.endswith(".json"):
            report = {"report": _report(place, path)}
            found.append(Fault(faults.QUARANTINED, "", where, report, harmless=True))
    return found


def _report(place: Place, path: str) -> str:
    """The text of a report in quarantine."""
    try:
        return str(json.loads(durable.read_whole(place.fs, path))["what"])
    except (OSError, ValueError, KeyError, TypeError):
        return "a file that was moved here"


def _is_old(place: Place, path: str) -> bool:
    """Older than an hour: no replacement takes that long, so its process is gone."""
    return place.fs.stat(path).st_mtime_ns < (place.clock() - 3_600_000) * 1_000_000


def _tracked_caches(place: Place) -> list[Fault]:
    """Files under ``local/`` that git tracks. Git is asked only if its index may hold one."""
    if not place.head.may_be_staged(f"{os.path.basename(place.root)}/local/"):
        return []
    from holdfast.git import porcelain

    names = sorted(porcelain.tracked(place.root, ["local"]))
    return [Fault(faults.TRACKED_CACHE, "", names[0], {"others": len(names) - 1})] if names else []


def _ignored(place: Place) -> list[Fault]:
    """Segments that git ignores although it does not ignore the whole workspace: no other clone would get them."""
    from holdfast.git import porcelain

    if place.head.common is None or porcelain.ignores(place.root, "config.toml"):
        return []
    names = [name for name in porcelain.ignored(place.root, segments.EVENTS) if durable.TEMP_MARK not in name]
    if not names:
        return []
    return [Fault(faults.IGNORED_BY_GIT, "", names[0], {"others": len(names) - 1}, harmless=True)]


def remove_stream(place: Place, stream: str) -> None:
    """Remove a stream's folders, files before folders, and its caches. The caller holds the stream's lock."""
    flat = stream.replace("/", "+")
    views = ("state.json", "state.md", "latest.md")
    asides = (f"{why}-{view}" for why in ("lost", "merged") for view in views)
    projections = (
        name for name in durable.names_in(place.fs, place.local) if name.startswith("projections.")
    )
    for kind in ("snapshots", "ops", *asides, *projections):
        place.save(f"local/{kind}/{flat}", None)
    pins.drop_stream(place, stream)
    for folder in segments.folders_of(place.root, stream):
        remove_folder(place, folder)


def remove_folder(place: Place, folder: str) -> None:
    """Remove a folder with its contents, durably."""
    folders = [folder]
    for path in _walk(place, folder, folders):
        place.fs.unlink(path)
    for path in sorted(folders, key=len, reverse=True):
        try:
            place.fs.remove_folder(path)
        except FileNotFoundError:
            pass
    parent = os.path.dirname(folder)
    if folders and durable.names_in(place.fs, parent):
        place.fs.sync_folder(parent)


def _walk(place: Place, folder: str, folders: list[str] | None = None) -> Iterator[str]:
    for name in durable.names_in(place.fs, folder):
        path = os.path.join(folder, name)
        if stat.S_ISDIR(place.fs.stat(path).st_mode):
            if folders is not None:
                folders.append(path)
            yield from _walk(place, path, folders)
        else:
            yield path
