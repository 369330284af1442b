"""Stores that are broken on purpose. A check that passes one of them is blind."""

from __future__ import annotations

import random

from holdfast.core.commit import Commit, encode
from holdfast.store.protocol import Appended, Cursor, Fault, Plan, Store, Tail


class _Around:
    """A store around a store."""

    def __init__(self, inner: Store, seed: int = 0) -> None:
        self.inner = inner
        self.capabilities = inner.capabilities
        self.rng = random.Random(seed)

    def append(
        self,
        stream: str,
        plan: Plan,
        *,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
        unread: bool = False,
    ) -> Appended:
        return self.inner.append(stream, plan, cursor=cursor, expect=expect, op=op, unread=unread)

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        return self.inner.read(stream, cursor, newest_first=newest_first)

    def streams(self, prefix: str = "") -> list[str]:
        return self.inner.streams(prefix)

    def put(self, name: str, data: bytes | None) -> None:
        self.inner.put(name, data)

    def get(self, name: str) -> bytes | None:
        return self.inner.get(name)

    def forget(self, stream: str) -> None:
        self.inner.forget(stream)

    def check(self, *, fix: bool = False) -> list[Fault]:
        return self.inner.check(fix=fix)

    def close(self) -> None:
        self.inner.close()


class NoVersionCheck(_Around):
    """Accepts every expected version, as a last-writer-wins store does."""

    def append(
        self,
        stream: str,
        plan: Plan,
        *,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
        unread: bool = False,
    ) -> Appended:
        return self.inner.append(stream, plan, cursor=cursor, op=op, unread=unread)


class StaleRead(_Around):
    """Often answers a read from the start with what it answered some time ago, as a lagging replica does."""

    def __init__(self, inner: Store, seed: int = 0) -> None:
        super().__init__(inner, seed)
        self._old: dict[str, Tail] = {}

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        old = self._old.get(stream)
        if old is not None and self.rng.random() < 0.5:
            return old
        tail = self.inner.read(stream)
        self._old[stream] = tail._replace(lines=list(tail.lines))
        return self._old[stream]


class LostWrite(_Around):
    """Acknowledges some appends without writing them, as a cache that is never flushed does."""

    def append(
        self,
        stream: str,
        plan: Plan,
        *,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
        unread: bool = False,
    ) -> Appended:
        if self.rng.random() >= 0.1:
            return self.inner.append(stream, plan, cursor=cursor, expect=expect, op=op, unread=unread)
        made: list[Commit] = []
        tail = self.inner.read(stream)

        class Enough(Exception):
            """Stops the append at the moment when everything is known and nothing is written."""

        def pretend(ground: object) -> object:
            made.append(encode(plan(ground).draft, tail.head, "", tail.head)[1])  # type: ignore[arg-type]
            raise Enough

        try:
            self.inner.append(stream, pretend, cursor=cursor, expect=expect, op=op, unread=unread)  # type: ignore[arg-type]
        except Enough:
            return Appended(made[0], cursor, tail.version + 1, False)
        raise AssertionError("the plan was not called")
