"""Quiet commits, told as a whole: what a state holds of them is in the note, so that nobody has to read them.

A busy stream mostly gets commits that only count: a program's own events. The note adds them up. Who keeps the
snapshots of such a stream asks for the sum, however much others have written since.
"""

from __future__ import annotations

from holdfast.core import codec, validation
from holdfast.errors import Damaged
from holdfast.fs.port import END
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.files.segments import Mark
from holdfast.store.files.stream_beside import StreamBeside
from holdfast.store.files.stream_reader import marks_in
from holdfast.store.files.writer_state import Memory, read_note
from holdfast.store.protocol import LONG_TAIL, Cursor, Quiet, Tail

_LAST_LINE = 1 << 16
"""Bytes in which the last line is looked for."""


class StreamQuiet(StreamBeside):
    """A stream whose quiet commits need not be read."""

    __slots__ = ()

    def _quiet_beyond(self, cursor: Cursor) -> Tail | None:
        """What is beyond the cursor, if that is only quiet commits in the segment at hand; None if it is anything else,
        or cannot be told without reading it."""
        if self._lock_fd < 0 or self._segment_fd < 0 or not isinstance(cursor, dict) or "e" not in cursor:
            return None
        names = self._names()
        segment, *_, mix = cursor["e"]
        if segment != self._segment or self._growing() != segment:
            return None
        memory = self._whole_note()
        marks = {name: Mark(*mark) for name, mark in marks_in(cursor).items()}
        mark = marks[segment]
        if (
            memory is None
            or segments.name_of(self.stream, memory.writer, memory.segment) != segment
            or not memory.loud <= mark.offset < memory.size
            or memory.clock <= cursor["h"]
            or not self._stands(names, marks, trusted=self._is_own(cursor))
        ):
            return None
        last = self._last_line(memory, mark.offset)
        if last is None or last.id != memory.clock:
            return None
        number = memory.rows - mark.rows
        if number >= LONG_TAIL:
            self._settle(names)
        version = cursor["n"] + number
        lines = mark.lines + number
        newest = (memory.size, memory.rows, lines, mark.first, memory.clock, memory.sum, mark.changed)
        faults = self._faults(cursor["f"]) if cursor["f"] else ()
        moved = {
            "g": (self._serial, self._generation),
            "n": version,
            "h": memory.clock,
            "s": marks,
            "f": cursor["f"],
            "e": (segment, *newest, memory.mix),
        }
        quiet = Quiet(number, (memory.mix - mix) & 0xFFFFFFFF, last)
        return Tail([], moved, version, memory.clock, False, faults, quiet)

    def _whole_note(self) -> Memory | None:
        """A note that tells of all that is in the segment at hand. While somebody writes it may be a line behind: then,
        and only then, the lock is waited for."""
        memory = self._note_of_all()
        if memory is None:
            with self.holding():
                memory = self._note_of_all()
        return memory

    def _note_of_all(self) -> Memory | None:
        memory = self._remembered(read_note(self._fs, self._lock_fd))
        if memory is None or self._fs.seek(self._segment_fd, 0, END) != memory.size:
            return None
        return memory

    def _stands(self, names: list[str], marks: dict[str, Mark], *, trusted: bool) -> bool:
        """Whether all that is before the marks is as it was read: the segment at hand up to its mark, others whole."""
        if not self._ends_with(self._segment_fd, marks[self._segment]):
            return False
        if trusted:
            return True
        if marks.keys() != set(names):
            return False
        for name, mark in marks.items():
            try:
                found = self._fs.stat(self._path(name))
            except FileNotFoundError:
                return False  # taken away since it was listed
            if name == self._segment:
                if found.st_ino != self._segment_node:
                    return False
            elif found.st_size != mark.offset or found.st_mtime_ns != mark.changed:
                return False
        return True

    def _last_line(self, memory: Memory, start: int) -> codec.Commit | None:
        """The commit in the last line of the segment, which begins at or behind ``start``; None if it is not the one
        that the note tells of."""
        start = max(start, memory.size - _LAST_LINE)
        data = self._fs.read(self._segment_fd, memory.size - start, start)
        line = line_of(data.rstrip(b"\n").rpartition(b"\n")[2])
        if (
            not codec.looks_right(line)
            or codec.sum_of(line) != memory.sum
            or codec.fault_of(line, None) is not None
        ):
            return None
        try:
            return validation.commit_in(line)
        except Damaged:
            return None
