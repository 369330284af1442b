"""The segments of one stream: which exist, where they are, and their commits after a cursor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise

from holdfast.core import codec, ids
from holdfast.fs import durable
from holdfast.fs.port import SEEK_END, WHOLE_SECOND
from holdfast.store.files import segments
from holdfast.store.files.cursor import Cursor, Loss, Problem, cursor_of
from holdfast.store.files.segments import UNREAD, Mark
from holdfast.store.protocol import LONG_TAIL, Fault, Tail
from holdfast.typed import TYPE_CHECKING, Any, new_record

if TYPE_CHECKING:
    from holdfast.fs.port import FileSystem
    from holdfast.store.files.place import Place

_IN_MEMORY = 8 << 20
"""Streams up to this size are read in one pass; larger ones are streamed in a second pass."""
_SETTLED_NS = 50_000_000
"""A folder whose modification time is younger than this can change again without its time changing."""
_COARSE_NS = 2_050_000_000
"""The same on a file system that stores whole seconds, or every other one."""
_BURST_MS = 50
"""Appends that follow each other this quickly do not look at the segment's modification time: a file whose time was
looked at gets an exact new one from its next write, and on ext4 that costs as much as the write itself."""
_RECHECKED = 1 << 18
"""A segment that has grown since a snapshot is verified again up to this length; a longer one only by ``doctor``."""
_MAX_FAULTS = 20
_TRIES = 20
"""Listings of a folder whose segments vanish while they are read."""
SUM_AND_END = codec.SUM_LENGTH + len('"}\r\n')


class OpenSegment:
    """The segment that a handle appends to."""

    __slots__ = ("appended_at", "fd", "name", "node", "opening", "path")

    def __init__(self, stream: str, name: str, path: str, fd: int, node: int) -> None:
        self.name = name
        self.path = path
        self.fd = fd
        self.node = node
        self.opening = segments.opening_of(stream, name)
        """The start of its lines."""
        self.appended_at = 0
        """When this handle last appended to it, in milliseconds."""


class SegmentSet:
    """The segments of one stream, live and archived."""

    __slots__ = (
        "_archived",
        "_folder_fd",
        "_folder_stamp",
        "_fs",
        "_growing",
        "_listed",
        "_place",
        "_sync",
        "_unordered",
        "_verified",
        "folder",
        "generation",
        "joined",
        "open",
        "stream",
    )

    def __init__(self, place: Place, stream: str, sync: Callable[[str, int], None]) -> None:
        self.stream = stream
        self.folder = segments.folder_of(place.root, stream)
        self.joined = segments.joined_of(place.root, stream)
        self._place = place
        self._fs: FileSystem = place.fs
        self._sync = sync
        """Syncs a segment, and handles a failed sync."""
        self.open: OpenSegment | None = None
        self._listed: list[str] = []
        self._archived: frozenset[str] = frozenset()
        self.generation = 0
        """Counts the listings: what was known about files under an earlier one has to be checked again."""
        self._folder_fd = -1
        """A handle on the stream's folder: faster to query than its path."""
        self._folder_stamp = -1
        self._verified: dict[str, Mark] = {}
        """How far this handle has read and verified each segment of this listing."""
        self._unordered: frozenset[str] | None = None
        """Segments whose ids do not increase from line to line; None until the whole stream was read."""
        self._growing: str | None = None
        """The one segment that this writer may still append to; empty for none, None if not known yet."""

    # -- which there are ----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The segments' names, listed again only if the folder's modification time shows a possible change."""
        try:
            stamp = self._fs.stat(self.folder).st_mtime_ns
        except FileNotFoundError:
            found = self._with_archived([])
            if found != self._listed or not self.generation:
                self._renew(found)
            self._folder_stamp = -1
            return self._listed
        if stamp != self._folder_stamp:
            self._renew(self._with_archived(self._own(self._fs.names(self.folder))))
            now = self._place.clock() * 1_000_000
            settled = _SETTLED_NS if stamp % WHOLE_SECOND else _COARSE_NS
            self._folder_stamp = stamp if stamp < now - settled else -1
        return self._listed

    def listed(self) -> list[str]:
        """The names as they were last listed."""
        return self._listed

    def has_listed(self, newest: list[bytes]) -> bool:
        """Whether the segment that a lock-file header names is in the listing."""
        try:
            writer, number, _ = newest
            return segments.name_of(self.stream, writer.decode(), abs(int(number))) in self._listed
        except ValueError:
            return False

    def expire(self) -> None:
        """List the folder the next time, whatever its modification time says."""
        self._folder_stamp = -1

    def list_again(self) -> None:
        """List the folder now, whatever its modification time says."""
        self.expire()
        self.names()

    def add(self, name: str) -> None:
        """A segment was created."""
        self._renew(sorted([*self._listed, name]))

    def _renew(self, names: list[str]) -> None:
        # The names may be the same and the files different: git replaces files, which only the folder's time shows.
        self._listed = names
        self.generation += 1
        self._verified = {}
        self._growing = None

    def _with_archived(self, live: list[str]) -> list[str]:
        """The names in the stream's folder and in the archive: joined segments, and others that a merge moved there
        because git detected the archiving as a folder rename."""
        self._archived = frozenset()
        if self.joined:
            try:
                self._archived = frozenset(self._own(self._fs.names(self.joined))).difference(live)
            except FileNotFoundError:
                pass
        return sorted([*live, *self._archived])

    def _own(self, names: list[str]) -> list[str]:
        return [name for name in names if segments.belongs(self.stream, name)]

    def path_of(self, name: str) -> str:
        return f"{self.joined if name in self._archived else self.folder}{os.sep}{name}"

    def paths(self) -> list[str]:
        """The files of all segments, live and archived."""
        return [self.path_of(name) for name in self.names()]

    def is_archived(self, name: str) -> bool:
        return name in self._archived

    def growing(self) -> str:
        """The one segment that this writer may still append to: only its length changes between listings."""
        if self._growing is None:
            writer = self._place.identity.stored()
            own = (
                [n for n in self._listed if n.startswith(writer) and n not in self._archived]
                if writer
                else []
            )
            self._growing = max(own, key=segments.number_of) if own else ""
        return self._growing

    def writer_changed(self) -> None:
        """The growing segment may have changed."""
        self._growing = None

    # -- the segment that is appended to ------------------------------------------------------------------

    def node_of(self, name: str) -> int | None:
        """The inode of a segment; None if it does not exist."""
        try:
            return self._fs.stat(self.path_of(name)).st_ino
        except FileNotFoundError:
            return None

    def open_for_append(self, name: str, node: int) -> None:
        path = self.path_of(name)
        self.open = OpenSegment(self.stream, name, path, self._fs.open(path, durable.APPEND), node)

    def create(self, name: str) -> OpenSegment:
        """A new segment. Its name is not yet durable."""
        path = f"{self.folder}{os.sep}{name}"
        try:
            fd = self._fs.open(path, durable.CREATE)
        except FileNotFoundError:
            files = os.path.join(self._place.root, *self.stream.split("/"))  # for files that users put there
            for folder in (self.folder, files):
                durable.make_folders(self._fs, folder)
            fd = self._fs.open(path, durable.CREATE)
        self.open = OpenSegment(self.stream, name, path, fd, self._fs.stat_handle(fd).st_ino)
        self.add(name)
        return self.open

    def size(self) -> int:
        """The length of the open segment."""
        assert self.open is not None
        return self._fs.seek(self.open.fd, 0, SEEK_END)

    def changed_at(self) -> int:
        """The modification time of the open segment; 0 if unknown."""
        assert self.open is not None
        try:
            return self._fs.stat_handle(self.open.fd).st_mtime_ns
        except OSError:
            return 0

    def is_unchanged(self, size: int, cursor: Cursor) -> bool:
        """Whether the folder has not changed since it was listed, and the open segment matches the cursor."""
        if self.open is None or not self._is_listed():
            return False
        mark = cursor.marks.get(self.open.name, UNREAD)
        if not mark.changed:
            return self.size() == size
        found = self._fs.stat_handle(self.open.fd)
        return found.st_size == size and found.st_mtime_ns == mark.changed

    def is_only_grown(self, size: int, cursor: Cursor) -> bool:
        """Whether the cursor is one of this listing, the folder has not changed since, and the open segment, all of
        whose lines were in order up to the cursor, has this length now."""
        if self.open is None or cursor.marks != self._verified or not self._is_listed():
            return False
        mark = cursor.marks.get(self.open.name, UNREAD)
        return (
            mark.rows == mark.lines
            and mark.offset <= size
            and self._fs.seek(self.open.fd, 0, SEEK_END) == size
        )

    def _is_listed(self) -> bool:
        """Whether the folder has not changed since it was listed."""
        fs = self._fs
        try:
            if self._folder_fd < 0:
                self._folder_fd = fs.open(self.folder, os.O_RDONLY)
            folder = fs.stat_handle(self._folder_fd)
        except OSError:
            return False
        if folder.st_mtime_ns != self._folder_stamp or not folder.st_nlink:
            self._close_folder()  # it may have been replaced
            return False
        return True

    def close_segment(self) -> None:
        if self.open is not None:
            fd, self.open = self.open.fd, None
            self._close(fd)

    def close(self) -> None:
        self.close_segment()
        self._close_folder()

    def _close_folder(self) -> None:
        if self._folder_fd >= 0:
            fd, self._folder_fd = self._folder_fd, -1
            self._close(fd)

    def _close(self, fd: int) -> None:
        try:
            self._fs.close(fd)
        except OSError:
            pass

    # -- reading ------------------------------------------------------------------------------------------

    def read(self, cursor: Any) -> Tail:
        """What is beyond the cursor; everything if there is none or it does not fit."""
        for _ in range(_TRIES):
            try:
                return self._read(cursor)
            except FileNotFoundError:
                self.expire()  # archived, removed or replaced since the folder was listed
        return self._read(cursor)

    def _read(self, cursor: Any) -> Tail:
        names = self.names()
        start = cursor_of(cursor) if cursor is not None else None
        if start is not None:
            tail = self._read_beyond(names, start)
            if tail is not None:
                return tail
        return self._read_all(names, start)

    def after(self, cursor: Cursor, size: int, rows: int, commit_id: str, line_sum: str) -> Cursor:
        """The cursor moved past a commit that was just written to the open segment."""
        assert self.open is not None
        before, version, _, problems, lost = cursor
        name, last = self.open.name, self.open.appended_at
        self.open.appended_at = now = self._place.clock()
        changed = 0 if now - last < _BURST_MS else self.changed_at()
        _, _, lines, first, _, _, _ = before.get(name, UNREAD)
        mark = new_record(Mark, (size, rows, lines + 1, first or commit_id, commit_id, line_sum, changed))
        marks = {**before, name: mark}
        if before == self._verified:
            self._verified = marks
        return new_record(Cursor, (marks, version + 1, commit_id, problems, lost))

    def with_time(self, cursor: Cursor) -> Cursor:
        """The cursor with the modification time of the open segment, if it lacks that and the last append is so recent
        that the time is still its own. Without it the next process verifies the segment again."""
        segment = self.open
        assert segment is not None
        mark = cursor.marks.get(segment.name, UNREAD)
        if mark.changed or self._place.clock() - segment.appended_at >= _BURST_MS:
            return cursor
        marks = {**cursor.marks, segment.name: mark._replace(changed=self.changed_at())}
        if cursor.marks == self._verified:
            self._verified = marks
        return cursor._replace(marks=marks)

    @property
    def is_order_known(self) -> bool:
        """Whether the stream can be read backward without reading all of it first."""
        return self._unordered is not None

    def backward(self) -> Iterator[bytes]:
        """All commits, newest first. The whole stream was read before, so the segments that are out of order are
        known."""
        return segments.merged([self._backward(name) for name in self.names()], newest_first=True)

    def _backward(self, name: str) -> Iterator[bytes]:
        path = self.path_of(name)
        assert self._unordered is not None
        if name not in self._unordered:
            return segments.backward(self._fs, path)
        lines = segments.forward(self._fs, path, self._fs.stat(path).st_size)
        return iter(sorted(lines, key=codec.id_of, reverse=True))

    def _read_beyond(self, names: list[str], cursor: Cursor) -> Tail | None:
        """The commits since the cursor; None if the cursor does not match the disk."""
        marks, version, head, problems, lost = cursor
        candidates = self._candidates(names, marks)
        if candidates is None:
            return None
        lines: list[bytes] = []
        changes: dict[str, Mark] = {}
        found: list[Problem] = []
        parts = 0
        for name in candidates:
            mark = marks.get(name, UNREAD)
            trusted = self._verified.get(name) == mark
            clean = not any(where.startswith(name) for where, _, _ in problems)
            part = self._read_segment_beyond(name, mark, trusted, clean)
            if part is None or not part.ordered:
                return None
            if part.mark != mark:
                changes[name] = part.mark
            if part.lines:
                lines += part.lines
                version += len(part.lines)
                parts += 1
            found += [(f"{name}:{t.line}", t.what, t.kept) for t in part.troubles]
        if parts > 1:
            lines.sort(key=codec.id_of)
            if any(codec.id_of(one) == codec.id_of(other) for one, other in pairwise(lines)):
                return None  # a segment arrived together with a copy of it
        if lines:
            if codec.id_of(lines[0]) <= head:  # history arrived that belongs before what the reader has
                return None
            head = codec.id_of(lines[-1])
            if len(lines) >= LONG_TAIL:
                self._make_durable(names)
        if changes:
            problems = (*problems, *found)[-_MAX_FAULTS:]
            cursor = Cursor({**marks, **changes}, version, head, problems, lost)
        self._verified = cursor.marks
        return Tail(lines, cursor, version, head, False, self.faults(cursor))

    def _candidates(self, names: list[str], marks: dict[str, Mark]) -> list[str] | None:
        """The segments that may extend past their marks; None if a mark's segment is missing."""
        if len(marks) == len(names) and marks == self._verified:
            growing = self.growing()
            return [growing] if growing else []
        if not marks.keys() <= set(names):
            return None
        growing, verified = self.growing(), self._verified
        return [
            name
            for name in names
            if name == growing or name not in marks or marks[name] != verified.get(name)
        ]

    def _read_segment_beyond(self, name: str, mark: Mark, trusted: bool, clean: bool) -> segments.Part | None:
        """The part of a segment after a mark; None if the file up to the mark is not known to be the one that was
        read, or if problems in it (not ``clean``) may have been put in order since."""
        path = self.path_of(name)
        try:
            found = self._fs.stat(path)
        except FileNotFoundError:
            return None
        if found.st_size == mark.offset:
            if found.st_mtime_ns == mark.changed or (trusted and not mark.changed):
                return segments.Part(mark, mark, [], [], True, 0)
            trusted = False  # written without growing: bytes may have changed
        elif mark.offset > _RECHECKED:
            trusted = (
                True  # appended to, which explains its time; re-verifying would cost more with every commit
            )
        if not mark.offset <= found.st_size <= mark.offset + _IN_MEMORY:
            return None  # truncated, or so much is new that streaming is better
        is_open = self.open is not None and path == self.open.path and found.st_ino == self.open.node
        fd = self.open.fd if is_open and self.open else self._fs.open(path, os.O_RDONLY)
        try:
            if mark.offset and not (
                self._ends_with(fd, mark) and (trusted or (clean and self._is_intact(fd, mark)))
            ):
                return None
            return segments.read_open_part(self._fs, fd, mark, found.st_size, found.st_mtime_ns)
        finally:
            if not is_open:
                self._fs.close(fd)

    def _ends_with(self, fd: int, mark: Mark) -> bool:
        """Whether the line before the mark is still the one that was read."""
        end = self._fs.read(fd, SUM_AND_END, max(0, mark.offset - SUM_AND_END))
        whole = bool(mark.sum) and end.endswith(b"\n")
        return whole and end.rstrip(b"\r\n").endswith(mark.sum.encode() + b'"}')

    def _is_intact(self, fd: int, mark: Mark) -> bool:
        """Whether all lines up to the mark are still those that were read: a snapshot must not hide damage."""
        part = segments.read_open_part(self._fs, fd, UNREAD, mark.offset, mark.changed, collect=False)
        return not part.troubles and part.mark == mark

    def _read_all(self, names: list[str], before: Cursor | None) -> Tail:
        """Everything, from the first line. ``before`` is an invalid cursor, which may know about lost commits."""
        size = sum(self._fs.stat(self.path_of(name)).st_size for name in names)
        collect = size <= _IN_MEMORY
        parts = {n: segments.read_part(self._fs, self.path_of(n), UNREAD, collect=collect) for n in names}
        self._make_durable(names)
        marks = {name: part.mark for name, part in parts.items()}
        problems = tuple(
            (f"{n}:{t.line}", t.what, t.kept) for n, part in parts.items() for t in part.troubles
        )
        self._unordered = frozenset(name for name, part in parts.items() if not part.ordered)
        plain = not self._unordered and not _may_repeat(marks)
        version = sum(mark.lines for mark in marks.values())
        lines: Any
        if collect:
            collected = [line for part in parts.values() for line in part.lines]
            collected.sort(key=codec.id_of)
            lines = collected if plain else list(segments.merged([iter(collected)]))
            version = len(lines)
        else:
            if not plain:
                version = sum(1 for _ in self._stream_all(parts))
            lines = self._stream_all(parts)
        head = max((mark.last for mark in marks.values() if mark.last), default=ids.ZERO)
        self._verified = marks
        lost = self._lost(before, parts) if before is not None else ()
        cursor = Cursor(marks, version, head, problems[-_MAX_FAULTS:], lost)
        return Tail(lines, cursor, version, head, True, self.faults(cursor._replace(problems=problems)))

    def _lost(self, before: Cursor, parts: dict[str, segments.Part]) -> tuple[Loss, ...]:
        """The commits that an earlier cursor had read and that are gone, although their segment still exists."""
        suspected = list(before.lost)
        for name, mark in before.marks.items():
            if name in parts and mark.lines and not self._still_has(name, mark):
                kept = sum(codec.id_of(line) <= mark.last for line in self._stream_all({name: parts[name]}))
                damaged = parts[name].damaged  # reported line by line
                if mark.lines > kept + damaged:
                    suspected.append((name, mark.lines - kept - damaged, mark.last))
        if not suspected:
            return ()
        # A segment that was rewritten with other columns has its commits at other offsets.
        wanted = {last for _, _, last in suspected}
        present = {codec.id_of(line) for line in self._stream_all(parts)} & wanted
        return tuple(loss for loss in suspected if loss[2] not in present)

    def _still_has(self, name: str, mark: Mark) -> bool:
        """Whether a segment still has the line before the mark at the same offset."""
        fd = self._fs.open(self.path_of(name), os.O_RDONLY)
        try:
            return self._ends_with(fd, mark)
        finally:
            self._fs.close(fd)

    def _stream_all(self, parts: dict[str, segments.Part]) -> Iterator[bytes]:
        iterators = []
        for name, part in parts.items():
            lines = segments.forward(self._fs, self.path_of(name), part.mark.offset)
            iterators.append(lines if part.ordered else iter(sorted(lines, key=codec.id_of)))
        return segments.merged(iterators)

    def _make_durable(self, names: list[str]) -> None:
        """Sync the growing segment, so that a snapshot from this read never outlives its commits (I6)."""
        growing = self.growing()
        if growing in names:
            fd = self._fs.open(self.path_of(growing), os.O_RDONLY)
            try:
                self._sync(growing, fd)
            finally:
                self._fs.close(fd)

    def faults(self, cursor: Cursor) -> tuple[Fault, ...]:
        """The known faults before a cursor."""
        if not cursor.problems and not cursor.lost:
            return ()
        from holdfast.store.faults import DAMAGED_LINE, LOST_COMMITS

        damaged = (
            Fault(DAMAGED_LINE, self.stream, self._where(where), {"problem": what, "used": used})
            for where, what, used in cursor.problems
        )
        lost = (
            Fault(LOST_COMMITS, self.stream, self._relative(name), {"commits": count})
            for name, count, _ in cursor.lost
        )
        return (*damaged, *lost)

    def _relative(self, name: str) -> str:
        return os.path.relpath(self.path_of(name), self._place.root)

    def _where(self, place: str) -> str:
        """A segment and a line, as a path relative to the workspace folder."""
        name, _, line = place.partition(":")
        return f"{self._relative(name)}:{line}"


def _is_joined(name: str) -> bool:
    return name.startswith(segments.JOINED) and segments.is_segment(name)


def _may_repeat(marks: dict[str, Mark]) -> bool:
    """Whether two segments with ids of one writer overlap, which only a copy of a segment can do.

    A copy can be in another writer's segment: what counts is who wrote its commits. A joined one has all writers'.
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
