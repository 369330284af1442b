"""Stores that are broken on purpose. A check that accepts one of them is worthless."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator

from holdfast.core import ids
from holdfast.core.codec import GENESIS, Commit, Draft, Event, decode, encode
from holdfast.fs.port import FileSystem
from holdfast.store.files import segments
from holdfast.store.files.padding import line_of
from holdfast.store.protocol import Appended, Cursor, Fault, Plan, Store, Tail
from holdfast.testing.crash.oracle import files_engine


class _Around:
    """A wrapper around a store."""

    def __init__(self, inner: Store, seed: int = 0) -> None:
        self.inner = inner
        self.capabilities = inner.capabilities
        self.rng = random.Random(seed)

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        return self.inner.append(stream, plan, cursor=cursor, expect=expect, op=op)

    def read(
        self, stream: str, cursor: Cursor = None, *, newest_first: bool = False, brief: bool = False
    ) -> Tail:
        return self.inner.read(stream, cursor, newest_first=newest_first)

    def streams(self, prefix: str = "") -> list[str]:
        return self.inner.streams(prefix)

    def put(self, name: str, data: bytes | None) -> None:
        self.inner.put(name, data)

    def get(self, name: str) -> bytes | None:
        return self.inner.get(name)

    def forget(self, stream: str, expect: int | None = None) -> None:
        self.inner.forget(stream, expect)

    def check(self, *, fix: bool = False) -> list[Fault]:
        return self.inner.check(fix=fix)

    def close(self) -> None:
        self.inner.close()


class NoVersionCheck(_Around):
    """Accepts every expected version, like a last-writer-wins store."""

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        return self.inner.append(stream, plan, cursor=cursor, op=op)


class StaleRead(_Around):
    """Often answers a full read with an older result, like a lagging replica."""

    def __init__(self, inner: Store, seed: int = 0) -> None:
        super().__init__(inner, seed)
        self._old: dict[str, Tail] = {}

    def read(
        self, stream: str, cursor: Cursor = None, *, newest_first: bool = False, brief: bool = False
    ) -> Tail:
        old = self._old.get(stream)
        if old is not None and self.rng.random() < 0.5:
            return old
        tail = self.inner.read(stream)
        self._old[stream] = tail._replace(lines=list(tail.lines))
        return self._old[stream]


class LostWrite(_Around):
    """Acknowledges some appends without writing them, like a cache that is never flushed."""

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        if self.rng.random() >= 0.1:
            return self.inner.append(stream, plan, cursor=cursor, expect=expect, op=op)
        made: list[Commit] = []
        tail = self.inner.read(stream)

        class Enough(Exception):
            """Aborts the append after planning and before writing."""

        def pretend(context: object) -> object:
            made.append(encode(plan(context).draft, tail.head, "", tail.head)[1])  # type: ignore[arg-type]
            raise Enough

        try:
            self.inner.append(stream, pretend, cursor=cursor, expect=expect, op=op)  # type: ignore[arg-type]
        except Enough:
            return Appended(made[0], cursor, tail.version + 1, False)
        raise AssertionError("the plan was not called")


class _Recovering(_Around):
    """The files engine with a bug in its crash recovery."""

    def __init__(self, root: str, fs: FileSystem) -> None:
        super().__init__(files_engine(root, fs))
        self.root = root
        self.damaged = {fault.stream for fault in self.inner.check() if ".jsonl:" in fault.where}
        """Streams that had unreadable bytes when the store was opened."""

    def segments(self, stream: str) -> Iterator[str]:
        folder = segments.folder_of(self.root, stream)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if segments.belongs(stream, name):
                yield os.path.join(folder, name)

    def read(
        self, stream: str, cursor: Cursor = None, *, newest_first: bool = False, brief: bool = False
    ) -> Tail:
        tail = self.inner.read(stream)
        lines = self.shown(stream, list(tail.lines), tail.head)
        return tail._replace(lines=lines[::-1] if newest_first else lines, version=len(lines))

    def shown(self, stream: str, lines: list[bytes], head: str) -> list[bytes]:
        """The lines as read, with the bug if it is in reading."""
        return lines


class HalfCommits(_Recovering):
    """Turns the readable events of a torn line into a commit."""

    def shown(self, stream: str, lines: list[bytes], head: str) -> list[bytes]:
        for path in self.segments(stream):
            with open(path, "rb") as file:
                torn = file.read().rpartition(b"\n")[2]
            events = list(_events_in(torn.decode(errors="replace")))
            op = torn.partition(b'"op":"')[2].partition(b'"')[0].decode()
            if events and op:
                draft = Draft(tuple(events), "harness", "tool", op)
                lines.append(encode(draft, ids.next_id(head, 0, segments.JOINED), "", GENESIS)[0][:-1])
        return lines


def _events_in(torn: str) -> Iterator[Event]:
    rest = torn.partition('"events":[')[2]
    while rest.startswith("{"):
        try:
            event, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            return
        yield Event(event["type"], event["data"], event["v"])
        rest = rest[end:].removeprefix(",")


class PlayedTwice(_Recovering):
    """Replays the last commit after a crash without checking whether it was applied."""

    def shown(self, stream: str, lines: list[bytes], head: str) -> list[bytes]:
        if stream in self.damaged and lines:
            commit = decode(lines[-1])
            draft = Draft(commit.events, commit.by, commit.origin, commit.op)
            lines.append(encode(draft, ids.next_id(head, 0, segments.JOINED), commit.at, commit.sum)[0][:-1])
        return lines


class CutTooLate(_Recovering):
    """Truncates a torn tail on close, and with it everything appended since."""

    def __init__(self, root: str, fs: FileSystem) -> None:
        super().__init__(root, fs)
        self.whole = {path: _whole_length(path) for stream in self.damaged for path in self.segments(stream)}

    def close(self) -> None:
        super().close()
        for path, length in self.whole.items():
            os.truncate(path, length)


def _whole_length(path: str) -> int:
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    length = 0
    for line in lines:
        if not line.endswith(b"\n") or not segments.is_whole(line_of(line[:-1])):
            break
        length += len(line)
    return length


class Silent(_Recovering):
    """Reports no faults."""

    def check(self, *, fix: bool = False) -> list[Fault]:
        return []


class Vague(_Recovering):
    """Reports the file of a fault but not the line."""

    def check(self, *, fix: bool = False) -> list[Fault]:
        faults = super().check(fix=fix)
        return [fault._replace(where=fault.where.partition(":")[0]) for fault in faults]


class Renamer(_Recovering):
    """Changes the author of every commit, with matching checksums."""

    def shown(self, stream: str, lines: list[bytes], head: str) -> list[bytes]:
        previous = GENESIS
        for index, line in enumerate(lines):
            commit = decode(line)
            draft = Draft(commit.events, "somebody else", commit.origin, commit.op)
            new, changed = encode(draft, commit.id, commit.at, previous)
            lines[index], previous = new[:-1], changed.sum
        return lines
