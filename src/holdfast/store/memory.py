"""The memory engine: the simplest implementation of the protocol, and the model for testing other engines.

URL ``memory:``. Nothing survives the process; threads may share one store.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

from holdfast.core import ids
from holdfast.core.codec import GENESIS, decode, encode, id_of, sum_of
from holdfast.core.stream import checked_note, checked_stream
from holdfast.core.timestamps import iso
from holdfast.store.numbered import (
    check_expected,
    check_op,
    check_unchanged,
    closed,
    is_local_note_of,
    place_of,
    plan_wrote,
)
from holdfast.store.protocol import AppendContext, Appended, Capabilities, Cursor, Fault, Plan, Tail


class MemoryStore:
    """Streams in lists."""

    def __init__(self, *, clock: Callable[[], int], writer: str) -> None:
        self.capabilities = Capabilities(
            "memory", survives_exit=False, survives_power_cut=False, shared=False, url="memory:"
        )
        self._clock = clock
        self._writer = writer
        self._streams: dict[str, list[bytes]] = {}
        self._places: dict[tuple[str, str], int] = {}  # (stream, op) -> place in the stream
        self._notes: dict[str, bytes] = {}
        self._lock = RLock()
        self._planning = False
        self._closed = False

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        checked_stream(stream)
        with self._lock:
            self._check_writable()
            lines = self._streams.get(stream, [])
            if op is not None and (stream, op) in self._places:
                place = self._places[stream, op]
                return Appended(decode(lines[place]), self._cursor(lines), place + 1, repeated=True)
            check_expected(stream, expect, len(lines))
            self._planning = True
            try:
                prepared = plan(AppendContext(self._tail(lines, cursor), self._writer, {}))
            finally:
                self._planning = False
            check_op(prepared.draft.op, op)
            now = self._clock()
            head = id_of(lines[-1]) if lines else ids.ZERO
            previous = sum_of(lines[-1]) if lines else GENESIS
            line, commit = encode(
                prepared.draft, ids.next_id(head, now, self._writer), iso(now), previous, prepared.content
            )
            lines.append(line[:-1])
            self._streams[stream] = lines
            if op is not None:
                self._places[stream, op] = len(lines) - 1
            return Appended(commit, self._cursor(lines), len(lines), repeated=False)

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        checked_stream(stream)
        with self._lock:
            self._check_open()
            lines = self._streams.get(stream, [])
            if newest_first:
                return self._tail(lines, None)._replace(lines=reversed(list(lines)))
            return self._tail(lines, cursor)

    def streams(self, prefix: str = "") -> list[str]:
        with self._lock:
            self._check_open()
            return sorted(stream for stream in self._streams if stream.startswith(prefix))

    def put(self, name: str, data: bytes | None) -> None:
        checked_note(name)
        with self._lock:
            self._check_writable()
            if data is None:
                self._notes.pop(name, None)
            else:
                self._notes[name] = bytes(data)

    def get(self, name: str) -> bytes | None:
        checked_note(name)
        with self._lock:
            self._check_open()
            return self._notes.get(name)

    def forget(self, stream: str, expect: int | None = None) -> None:
        checked_stream(stream)
        with self._lock:
            self._check_writable()
            check_unchanged(stream, expect, len(self._streams.get(stream, [])))
            self._streams.pop(stream, None)
            self._places = {key: place for key, place in self._places.items() if key[0] != stream}
            self._notes = {
                name: data
                for name, data in self._notes.items()
                if not name.startswith(stream + "/") and not is_local_note_of(stream, name)
            }

    def check(self, *, fix: bool = False) -> list[Fault]:
        with self._lock:
            self._check_open()
            return []

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._streams, self._places, self._notes = {}, {}, {}

    def _tail(self, lines: list[bytes], cursor: Cursor) -> Tail:
        count, last_sum = place_of(cursor) or (0, "")
        fits = count <= len(lines) and last_sum == (sum_of(lines[count - 1]) if count else GENESIS)
        return Tail(
            lines=lines[count:] if fits else list(lines),
            cursor=self._cursor(lines),
            version=len(lines),
            head=id_of(lines[-1]) if lines else ids.ZERO,
            restarted=not fits,
            faults=(),
        )

    @staticmethod
    def _cursor(lines: list[bytes]) -> Cursor:
        return [len(lines), sum_of(lines[-1]) if lines else GENESIS]

    def _check_open(self) -> None:
        if self._closed:
            raise closed()

    def _check_writable(self) -> None:
        self._check_open()
        if self._planning:
            raise plan_wrote()
