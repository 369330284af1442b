"""Reading one stream on disk: what lies beyond a cursor, over all of its segments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count, pairwise

from holdfast.core import codec, ids
from holdfast.fs.port import FileSystem
from holdfast.git.refs import GitHead
from holdfast.store.files import segments
from holdfast.store.files.identity import Identity
from holdfast.store.files.journal import JournalPolicy
from holdfast.store.files.segments import UNREAD, Mark
from holdfast.store.protocol import LONG_TAIL, Cursor, Fault, Tail
from holdfast.typed import Any, Record

_IN_MEMORY = 8 << 20
"""Streams up to this size are read whole at once; larger ones in a second, streaming pass."""
_SETTLED_NS = 50_000_000
"""A folder whose time stamp is younger than this can change again without its time stamp changing."""
_MAX_FAULTS = 20
_serials = count()
SUM_AND_END = codec.SUM_LENGTH + len('"}\r\n')


class Place(Record):
    """What all streams of a workspace share."""

    fs: FileSystem
    root: str
    local: str
    identity: Identity
    head: GitHead
    clock: Callable[[], int]
    tag: str
    load: Callable[[str], bytes | None]
    save: Callable[[str, bytes | None], None]
    journal_policy: JournalPolicy


class StreamReader:
    """The segments of one stream, for reading."""

    __slots__ = (
        "_clock",
        "_folder_stamp",
        "_fs",
        "_generation",
        "_head",
        "_listed",
        "_listed_at",
        "_own_generation",
        "_own_newest",
        "_place",
        "_put_away",
        "_seen_node",
        "_seen_path",
        "_segment",
        "_segment_fd",
        "_segment_node",
        "_segment_path",
        "_serial",
        "_unordered",
        "folder",
        "joined",
        "stream",
    )

    def __init__(self, place: Place, stream: str) -> None:
        self.stream = stream
        self.folder = segments.folder_of(place.root, stream)
        self.joined = segments.joined_of(place.root, stream)
        self._serial = next(
            _serials
        )  # marks this reader's cursors; an id() could come back in another reader
        self._place = place
        self._fs = place.fs
        self._clock = place.clock
        self._head = place.head
        self._segment_fd = -1
        self._segment_path = ""
        self._segment = ""
        """The name of the segment at hand."""
        self._segment_node = 0
        self._seen_path, self._seen_node = "", 0
        self._listed: list[str] = []
        self._put_away: frozenset[str] = frozenset()
        self._folder_stamp = -1
        self._listed_at = -1
        self._generation = 0
        self._unordered: frozenset[str] = frozenset()
        self._own_newest: str | None = None
        self._own_generation = 0

    def read(self, cursor: Cursor) -> Tail:
        names = self._names()
        if isinstance(cursor, dict):
            tail = self._read_beyond(names, cursor)
            if tail is not None:
                return tail
        return self._read_all(names)

    def paths(self) -> list[str]:
        """The files of all segments, live and archived."""
        return [self._path(name) for name in self._names()]

    def backward(self) -> Iterator[bytes]:
        """All commits, newest first. The stream was read before, so it is known which segments are out of order."""
        return segments.merged([self._backward(name) for name in self._names()], newest_first=True)

    def _backward(self, name: str) -> Iterator[bytes]:
        path = self._path(name)
        if name not in self._unordered:
            return segments.backward(self._fs, path)
        lines = segments.forward(self._fs, path, self._fs.stat(path).st_size)
        return iter(sorted(lines, key=codec.id_of, reverse=True))

    def _path(self, name: str) -> str:
        if name in self._put_away:
            return f"{self.joined}{os.sep}{name}"
        return f"{self.folder}{os.sep}{name}"

    def _names(self) -> list[str]:
        """The segments, listed again only if the folder's time stamp says that it changed."""
        try:
            stamp = self._fs.stat(self.folder).st_mtime_ns
        except FileNotFoundError:
            self._renew_listing(self._with_archived([]))
            return self._listed
        if stamp != self._folder_stamp:
            if stamp != self._listed_at:
                # The names may be the same and the files others: git replaces files, which is seen here alone.
                self._listed_at = stamp
                self._generation += 1
            self._renew_listing(self._with_archived(self._own(self._fs.names(self.folder))))
            now = self._clock() * 1_000_000
            self._folder_stamp = stamp if stamp < now - _SETTLED_NS else -1
        return self._listed

    def _with_archived(self, live: list[str]) -> list[str]:
        """The names in the stream's folder, and those that lie in the archive: joined ones, and others that a merge
        moved there because git took the archiving for the renaming of a folder."""
        self._put_away = frozenset()
        if self.joined:
            try:
                self._put_away = frozenset(self._own(self._fs.names(self.joined))).difference(live)
            except FileNotFoundError:
                pass
        return sorted([*live, *self._put_away])

    def _own(self, names: list[str]) -> list[str]:
        return [name for name in names if segments.belongs(self.stream, name)]

    def _renew_listing(self, names: list[str]) -> None:
        if names != self._listed or not self._generation:
            self._listed = names
            self._generation += 1

    def _growing(self) -> str | None:
        """The one segment that this place may still append to: only its length changes between listings."""
        if self._own_generation != self._generation:
            writer = self._place.identity.stored()
            own = (
                [n for n in self._listed if n.startswith(writer) and n not in self._put_away]
                if writer
                else []
            )
            self._own_newest = max(own, key=segments.number_of) if own else None
            self._own_generation = self._generation
        return self._own_newest

    def _is_own(self, cursor: dict[str, Any]) -> bool:
        """Whether this very handle made the cursor, from the listing that it still has."""
        return cursor.get("g") == (self._serial, self._generation)

    def _read_beyond(self, names: list[str], cursor: dict[str, Any]) -> Tail | None:
        """What is new since the cursor; None if the cursor does not fit what is on disk."""
        trusted = self._is_own(cursor)
        try:
            version, head, marks, faults = cursor["n"], cursor["h"], marks_in(cursor), cursor["f"]
            if trusted:
                growing = self._growing()
                candidates = [growing] if growing else []
            else:
                marks = {name: Mark(*mark) for name, mark in marks.items()}
                candidates = names
                if not marks.keys() <= set(names):
                    return None
        except (KeyError, TypeError, AttributeError):
            return None
        lines: list[bytes] = []
        parts = 0
        changes: dict[str, Mark] = {}
        new_faults: list[tuple[str, str, bool]] = []
        for name in candidates:
            mark = marks.get(name, UNREAD)
            part = self._read_segment_beyond(name, mark, trusted)
            if part is None:
                return None
            if part.mark != mark:
                changes[name] = part.mark
            if not part.ordered:
                return None
            if part.lines:
                lines += part.lines
                version += len(part.lines)
                parts += 1
            new_faults += [(f"{name}:{t.line}", t.what, t.kept) for t in part.troubles]
        if parts > 1:
            lines.sort(key=codec.id_of)
            if any(codec.id_of(one) == codec.id_of(other) for one, other in pairwise(lines)):
                return None  # a segment arrived together with a copy of it
        if lines:
            if codec.id_of(lines[0]) <= head:  # history arrived that belongs before what the reader has
                return None
            head = codec.id_of(lines[-1])
            if len(lines) >= LONG_TAIL:
                self._settle(names)
        if changes or not trusted:
            marks = {**marks, **changes}
            faults = [*faults, *new_faults][-_MAX_FAULTS:]
            cursor = {"g": (self._serial, self._generation), "n": version, "h": head, "s": marks, "f": faults}
        return Tail(lines, cursor, version, head, False, self._faults(faults) if faults else ())

    def _read_segment_beyond(self, name: str, mark: Mark, trusted: bool) -> segments.Part | None:
        path = self._path(name)
        try:
            found = self._fs.stat(path)
        except FileNotFoundError:
            return None
        self._seen_path, self._seen_node = path, found.st_ino
        if found.st_size == mark.offset and (trusted or found.st_mtime_ns == mark.changed):
            return segments.Part(mark, mark, [], [], True, 0)
        if not mark.offset <= found.st_size <= mark.offset + _IN_MEMORY:
            return None  # cut, or so much is new that it is better read as a stream
        at_hand = path == self._segment_path and found.st_ino == self._segment_node
        fd = self._segment_fd if at_hand else self._fs.open(path, os.O_RDONLY)
        try:
            if mark.offset and not self._ends_with(fd, mark):
                return None
            return segments.read_open_part(self._fs, fd, mark, found.st_size, found.st_mtime_ns)
        finally:
            if not at_hand:
                self._fs.close(fd)

    def _ends_with(self, fd: int, mark: Mark) -> bool:
        """Whether the line before the mark is the one that was read then."""
        end = self._fs.read(fd, SUM_AND_END, max(0, mark.offset - SUM_AND_END))
        whole = bool(mark.sum) and end.endswith(b"\n")
        return whole and end.rstrip(b"\r\n").endswith(mark.sum.encode() + b'"}')

    def _read_all(self, names: list[str]) -> Tail:
        """Everything, from the first line on."""
        size = sum(self._fs.stat(self._path(name)).st_size for name in names)
        keep = size <= _IN_MEMORY
        parts = {n: segments.read_part(self._fs, self._path(n), UNREAD, keep=keep) for n in names}
        self._settle(names)
        marks = {name: part.mark for name, part in parts.items()}
        faults = [(f"{n}:{t.line}", t.what, t.kept) for n, part in parts.items() for t in part.troubles]
        self._unordered = frozenset(name for name, part in parts.items() if not part.ordered)
        plain = not self._unordered and not _may_repeat(marks)
        version = sum(mark.lines for mark in marks.values())
        lines: Any
        if keep:
            collected = [line for part in parts.values() for line in part.lines]
            collected.sort(key=codec.id_of)
            lines = collected if plain else list(segments.merged([iter(collected)]))
            version = len(lines)
        else:
            if not plain:
                version = sum(1 for _ in self._stream_all(parts))
            lines = self._stream_all(parts)
        head = max((mark.last for mark in marks.values() if mark.last), default=ids.ZERO)
        cursor = {
            "g": (self._serial, self._generation),
            "n": version,
            "h": head,
            "s": marks,
            "f": faults[-_MAX_FAULTS:],
        }
        return Tail(lines, cursor, version, head, True, self._faults(faults))

    def _stream_all(self, parts: dict[str, segments.Part]) -> Iterator[bytes]:
        iterators = []
        for name, part in parts.items():
            lines = segments.forward(self._fs, self._path(name), part.mark.offset)
            iterators.append(lines if part.ordered else iter(sorted(lines, key=codec.id_of)))
        return segments.merged(iterators)

    def _settle(self, names: list[str]) -> None:
        """Sync the growing segment, so that a snapshot made from this reading never outlives its commits (I6)."""
        growing = self._growing()
        if growing in names:
            fd = self._fs.open(self._path(growing), os.O_RDONLY)
            try:
                self.sync_segment(growing, fd)
            finally:
                self._fs.close(fd)

    def sync_segment(self, name: str, fd: int) -> None:
        """Sync a segment; what a failure means for it is the writer's business."""
        self._fs.sync(fd)

    def _where(self, place: str) -> str:
        """A segment and a line, as a path from the workspace's folder on."""
        path = self._path(place.partition(":")[0])
        return f"{os.path.relpath(path, self._place.root)}:{place.partition(':')[2]}"

    def _faults(self, faults: list[Any]) -> tuple[Fault, ...]:
        return tuple(
            Fault(
                self.stream,
                self._where(where),
                what,
                harmless=False,
                action="the commit in this line is used"
                if kept
                else "this line is left out, all others are used",
            )
            for where, what, kept in faults
        )


def marks_in(cursor: dict[str, Any]) -> dict[str, Mark]:
    """How far each segment had been read. ``e`` has the newest mark of the one that the cursor's handle was writing to,
    beside all others: hundreds of segments must not make an append dearer."""
    marks: dict[str, Mark] = cursor["s"]
    if "e" not in cursor:
        return marks
    name, *mark = cursor["e"]
    return {**marks, name: Mark(*mark)}


def _is_joined(name: str) -> bool:
    return name.startswith(segments.JOINED) and segments.is_segment(name)


def _may_repeat(marks: dict[str, Mark]) -> bool:
    """Whether two segments with ids of one writer overlap, which only a copy of a segment can do.

    A copy can be in a segment of another writer: what counts is who wrote its commits. A joined one has all writers'.
    """
    if len(marks) > 1 and any(map(_is_joined, marks)):
        return True
    reach: dict[str, list[tuple[str, str]]] = {}
    for mark in marks.values():
        if mark.first:
            reach.setdefault(mark.first[-ids.WRITER_LENGTH :], []).append((mark.first, mark.last))
    for spans in reach.values():
        spans.sort()
        if any(earlier[1] >= later[0] for earlier, later in pairwise(spans)):
            return True
    return False
