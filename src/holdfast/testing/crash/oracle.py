"""The oracle: check one disk state against the guarantees, as the next process finds it.

An acknowledged commit is there once and unchanged. Any other commit is complete or absent, in the order written. A
fault is reported by file and line, comes after every acknowledged commit of its file, and nothing unreadable goes
unreported. All of this holds before the next append, after it, and after reopening.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Protocol

from holdfast.core import codec, fold
from holdfast.fs import posix
from holdfast.fs.port import FileSystem
from holdfast.recovery.files_store import FilesStore
from holdfast.store.faults import LOST_COMMITS, REMOVED_COMMITS
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.protocol import Fault, Store
from holdfast.testing.crash.states import DiskState
from holdfast.testing.crash.workload import Acknowledged, Violation, append, op_of, verify
from holdfast.testing.crash.wrapped import SameDisk
from holdfast.testing.plans import wall_clock
from holdfast.workspace.snapshot import WorkingSet

WORKSPACE = ".state"
SEGMENT = re.compile(r"[0-9a-z]{8}-\d+\.[0-9a-z]{6}\.jsonl")
_MOST_NAMED = 20
"""The engine reports at most this many faults of a stream."""

Opened = Callable[[str, FileSystem], Store]
"""Opens a workspace folder: with the real engine, or with one that is broken on purpose."""


def files_engine(root: str, fs: FileSystem) -> Store:
    return FilesStore(root, clock=wall_clock, fs=fs)


class Past(Protocol):
    """What happened before the cut; a ``Fixture`` provides it."""

    top: str
    attempted: dict[str, list[str]]
    acknowledged: list[Acknowledged]
    uncertain: set[str]
    forgotten: set[str]
    joined: bool
    torn: bytes


def check_state(
    past: Past, state: DiskState, top: str, where: str, *, copied: bool = False, opened: Opened = files_engine
) -> int:
    """Open one state as the next process would, and check it against the guarantees.

    Returns how many unacknowledged lines remain and are reported by the engine.
    """
    promises = past.acknowledged[: state.acknowledged]
    if past.torn and not any(past.torn in content for content in state.files.values()):
        raise Violation(f"{where}: the torn tail is neither in its segment nor in quarantine")
    root = os.path.join(top, WORKSPACE)
    fs: FileSystem = posix if copied else SameDisk(posix)
    if not copied:
        _keep_times(past, state, top)
    streams = [stream for stream in past.attempted if stream not in past.forgotten]
    expected: dict[str, list[str]] = {}
    store = opened(root, fs)
    try:
        for stream in streams:
            _check_snapshot(store, stream, state, where)
            found = _read(past, store, stream, promises, where)
            _check_prefix(past, stream, found, where)
            promises = [*promises, append(store, stream, "successor")]
            expected[stream] = [*found, "successor"]
            after = _read(past, store, stream, promises, where)
            if after != expected[stream]:
                raise Violation(f"{where}: appending changed {stream} from {found} to {after}")
    finally:
        store.close()
    _check_kept(state, top, where)
    store = opened(root, fs)
    try:
        for stream in streams:
            again = _read(past, store, stream, promises, where)
            if again != expected[stream]:
                raise Violation(f"{where}: opening once more changed {stream} to {again}")
        return _check_faults(store.check(), state, top, promises, where)
    finally:
        store.close()


def _read(past: Past, store: Store, stream: str, promises: list[Acknowledged], where: str) -> list[str]:
    found = verify(store, stream, promises, where, faults_allowed=True, joined=past.joined)
    backwards = [op_of(codec.decode(bytes(line))) for line in store.read(stream, newest_first=True).lines]
    if backwards != found[::-1]:
        raise Violation(f"{where}: {stream} read backwards is {backwards}, forwards {found}")
    return found


def _keep_times(past: Past, state: DiskState, top: str) -> None:
    """Give segments of full length their recorded mtime: size and mtime are one unit of metadata.

    The bytes may still be missing: a file system may allocate blocks before it writes them.
    """
    for name, content in state.files.items():
        if SEGMENT.fullmatch(os.path.basename(name)):
            try:
                original = os.stat(os.path.join(past.top, name))
            except FileNotFoundError:
                continue
            if original.st_size == len(content):
                os.utime(os.path.join(top, name), ns=(original.st_atime_ns, original.st_mtime_ns))


def _check_snapshot(store: Store, stream: str, state: DiskState, where: str) -> None:
    """A snapshot that survived the cut equals the fold of the whole stream (I6), and knows of no commit that is not
    there: that would be reported as a loss."""
    if f"{WORKSPACE}/local/snapshots/{stream.replace('/', '+')}" not in state.files:
        return
    shown = WorkingSet(store, stream)
    shown.refresh()
    if any(fault.kind == LOST_COMMITS for fault in shown.faults):
        raise Violation(f"{where}: the snapshot outlived its commits: {stream} is reported as lost")
    tail = store.read(stream)
    whole = fold.fold(fold.blank(shown.state["kind"]), tail.lines)
    if (shown.version, shown.state) != (tail.version, whole):
        raise Violation(
            f"{where}: the snapshot outlived its commits: it shows version {shown.version} of {stream}, "
            f"which has {tail.version} commits"
        )


def _check_faults(
    faults: list[Fault], state: DiskState, top: str, promises: list[Acknowledged], where: str
) -> int:
    """No fault needs manual repair, hides an acknowledged commit or goes unreported; return the number of bad lines."""
    left = 0
    named: dict[str, set[int]] = {}
    for fault in faults:
        place, _, number = fault.where.rpartition(":")
        line = int(number) if number.isdigit() else 0
        path = place if line else fault.where
        if not os.path.exists(os.path.join(top, WORKSPACE, path)):
            raise Violation(f"{where}: a fault names no file: {fault}")
        if fault.kind == REMOVED_COMMITS:
            continue  # a commit that nobody was promised, in the link that is kept of a segment
        if not line and SEGMENT.fullmatch(os.path.basename(path)):
            raise Violation(f"{where}: a fault names no line: {fault}")
        if line:
            named.setdefault(path, set()).add(line)
            if not _is_after_acknowledged(fault, path, line, state, top, promises):
                raise Violation(f"{where}: needs a human: {fault}")
        elif not fault.harmless:
            raise Violation(f"{where}: needs a human: {fault}")
        left += not fault.harmless
    if left < _MOST_NAMED:
        _check_named(named, top, where)
    return left


def _is_after_acknowledged(
    fault: Fault, path: str, number: int, state: DiskState, top: str, promises: list[Acknowledged]
) -> bool:
    """Whether a fault names a line that was already after the last acknowledged commit of its segment.

    A cut that also lost the writer's record of a segment can leave garbage there: the writer continues in a new
    segment, because git may have the old one, and the garbage stays and is reported. Lines written after the cut must
    be intact.
    """
    before = _before(path, state, top)
    lines = before.split(b"\n")
    known = {promise.id for promise in promises if promise.stream == fault.stream}
    safe = 0
    for index, line in enumerate(map(line_of, lines[:-1]), 1):
        if segments.is_whole(line) and codec.id_of(line) in known:
            known.discard(codec.id_of(line))  # old bytes after it can repeat the line
            safe = index
    return safe < number <= len(lines) and bool(before)


def _before(path: str, state: DiskState, top: str) -> bytes:
    """The contents of a segment right after the cut; a copied folder may have renamed it since."""
    name = f"{WORKSPACE}/{path}"
    if name in state.files:
        return state.files[name]
    with open(os.path.join(top, name), "rb") as file:
        now = file.read()
    same = [
        content
        for other, content in state.files.items()
        if os.path.dirname(other) == os.path.dirname(name) and _continues(now, content)
    ]
    return max(same, key=len, default=b"")


def _check_named(named: dict[str, set[int]], top: str, where: str) -> None:
    """Every line without a commit is reported, and so are bytes after the last line feed."""
    root = os.path.join(top, WORKSPACE)
    for folder, _, names in os.walk(root):
        for name in filter(SEGMENT.fullmatch, names):
            path = os.path.join(folder, name)
            place = os.path.relpath(path, root)
            if place.startswith("local" + os.sep):
                continue
            with open(path, "rb") as file:
                *lines, rest = file.read().split(b"\n")
            for number, line in enumerate(map(line_of, lines), 1):
                if not segments.is_whole(line) and number not in named.get(place, ()):
                    raise Violation(f"{where}: nobody reports the unreadable line {place}:{number}")
            if rest and not named.get(place):
                raise Violation(f"{where}: nobody reports the torn tail of {place}")


def _check_prefix(past: Past, stream: str, found: list[str], where: str) -> None:
    """The contents are a prefix of what was written, apart from calls that failed."""
    certain = [op for op in past.attempted[stream] if op not in past.uncertain]
    seen = [op for op in found if op not in past.uncertain]
    if seen != certain[: len(seen)]:
        raise Violation(f"{where}: {stream} holds {found}, which is no prefix of {past.attempted[stream]}")


def _check_kept(state: DiskState, top: str, where: str) -> None:
    """Recovery discards nothing: what it truncated is in quarantine, byte for byte."""
    quarantine = os.path.join(top, WORKSPACE, "local", "quarantine")
    kept = []
    if os.path.isdir(quarantine):
        for name in os.listdir(quarantine):
            with open(os.path.join(quarantine, name), "rb") as file:
                kept.append(file.read())
    for name, before in state.files.items():
        if not SEGMENT.fullmatch(os.path.basename(name)):
            continue
        left = [before, *(before[: -len(part)] for part in kept if part and before.endswith(part))]
        if not any(_is_there(os.path.join(top, name), beginning) for beginning in left):
            raise Violation(f"{where}: bytes of {name} are gone: {before[-200:]!r}")


def _is_there(path: str, beginning: bytes) -> bool:
    """Whether a segment begins with these bytes. A copied folder renames segments that the original may still write."""
    try:
        with open(path, "rb") as file:
            return file.read().startswith(beginning)
    except FileNotFoundError:
        pass
    folder = os.path.dirname(path)
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            if _continues(file.read(), beginning):
                return True
    return False


def _continues(now: bytes, before: bytes) -> bool:
    """Whether a segment begins with all lines of another; the padding of a line depends on the segment's name."""
    one, other = (b"\n".join(map(line_of, data.split(b"\n"))) for data in (now, before))
    return one.startswith(other)
