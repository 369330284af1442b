"""The state of one stream, kept up to date: a snapshot, plus what was committed since.

The snapshot is a cache. It is taken only of commits that are durable, it carries a checksum, and whatever is
wrong with it costs no more than folding the stream again.
"""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

from holdfast import __version__
from holdfast.core import fold, ids
from holdfast.core.commit import Commit
from holdfast.store.protocol import Appended, Cursor, Fault, Store, Tail

EVERY = 100
"""Commits between two snapshots: what an opening has to fold at most, whatever the length of the history."""
_RELEASE = f"{__version__}.{fold.RELEASE}"


class WorkingSet:
    """The folded state of one stream and the cursor up to which it is complete."""

    def __init__(self, store: Store, stream: str) -> None:
        self.version = 0
        self.head = ids.ZERO
        self.faults: tuple[Fault, ...] = ()
        self.cursor: Cursor = None
        self._store = store
        self._stream = stream
        self._note = f"local/snapshots/{stream.replace('/', '+')}"
        self._kind = "session" if stream.startswith("sessions/") else stream.split("/")[0].rstrip("s")
        self._state: dict[str, Any] | None = None
        self._pending: list[bytes | Commit] = []
        self._saved = 0
        self._durable = False
        self._load()

    @property
    def state(self) -> dict[str, Any]:
        """The state up to the cursor. Not a copy: not to be changed by the caller."""
        if self._state is None:
            self._state = fold.blank(self._kind)
        if self._pending:
            fold.fold(self._state, self._pending)
            self._pending = []
        return self._state

    def refresh(self) -> None:
        """Take in what has been committed by anybody."""
        restarted = self.take(self._store.read(self._stream, self.cursor))
        if restarted and self.version - self._saved >= EVERY:
            self.save()

    def take(self, tail: Tail) -> bool:
        """Take in a tail; True if it was the whole stream."""
        if tail.restarted:
            self._state = fold.blank(self._kind)
            self._pending = []
            self._saved = 0
            fold.fold(self._state, tail.lines)
        elif tail.lines:
            self._pending += tail.lines
            self._durable = False
        self.version, self.head = tail.version, tail.head
        self.cursor, self.faults = tail.cursor, tail.faults
        return tail.restarted

    def took(self, appended: Appended) -> None:
        """Take in the commit that was just appended behind everything taken in so far."""
        self._pending.append(appended.commit)
        self._durable = True
        self.version, self.head, self.cursor = appended.version, appended.commit.id, appended.cursor
        if self.version // EVERY > self._saved // EVERY:
            self.save()

    def settle(self) -> None:
        """Keep a snapshot at the end of a command, so that the next one has nothing to fold.

        Only behind an own commit: it is acknowledged, and one sync covers all before it (I6).
        """
        if self._durable and self.version > self._saved:
            self.save()

    def save(self) -> None:
        """Keep a snapshot."""
        body = json.dumps(
            {"release": _RELEASE, "version": self.version, "cursor": self.cursor, "state": self.state},
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
        self._saved = self.version
        self._store.put(self._note, b"%08x %s" % (crc32(body), body))

    def _load(self) -> None:
        note = self._store.get(self._note)
        if note is None:
            return
        body = note[9:]
        try:
            if int(note[:8], 16) != crc32(body):
                return
            snapshot = json.loads(body)
            if snapshot["release"] != _RELEASE:
                return
        except (ValueError, KeyError):
            return
        self._state = snapshot["state"]
        self.cursor = snapshot["cursor"]
        self.version = self._saved = snapshot["version"]
        self.head = snapshot["state"]["head"] or ids.ZERO
