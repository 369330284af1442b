"""The state of one stream, kept up to date: a snapshot, plus the commits since.

The snapshot is a cache. It contains only durable commits, it has a checksum, and if anything is wrong with it, the
stream is folded again. It has two lines: the most requested part (``shown``: what `status` shows), and the whole
state, which is parsed only on demand.
"""

from __future__ import annotations

import json

from holdfast.core import fold, ids
from holdfast.core.codec import Commit, id_of
from holdfast.core.stream import kind_of
from holdfast.errors import HoldfastError
from holdfast.store.protocol import LONG_TAIL, Cursor, Fault, Store, Tail
from holdfast.typed import Any
from holdfast.version import __version__
from holdfast.workspace import cache_file
from holdfast.workspace.thread_lock import ThreadLock

EVERY = LONG_TAIL
"""Commits between two snapshots: the most that opening a stream has to fold, however long the history. While several
processes write at the same time, one of them saves a snapshot about once a second."""
_RELEASE = f"{__version__}.{fold.RELEASE}.4"
"""The version of a snapshot's content and format: another one is not used."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class WorkingSet:
    """The folded state of one stream and the cursor up to which it is complete.

    Threads share it: whatever changes it, or reads its state, holds its lock. The lock is acquired before the store's
    locks: a thread that holds those never waits for another thread's working set.
    """

    def __init__(self, store: Store, stream: str, *, from_log: bool = False) -> None:
        self.version = 0
        self.head = ids.ZERO
        self.faults: tuple[Fault, ...] = ()
        self.cursor: Cursor = None
        self.verified = ids.ZERO
        """An earlier head that the stream is known to have: the snapshot's, or the last published one."""
        self._store = store
        self._stream = stream
        self.lock = ThreadLock(self._start_over)
        """Held to change the working set or to read its state."""
        self._state: dict[str, Any] | None = None
        self._top: dict[str, Any] = {}
        """The first line of the snapshot, until something changes."""
        self._body = b""
        """The second line, until the state is requested."""
        self._pending: list[bytes | Commit] = []
        self._saved = 0
        self._acknowledged = 0
        """The version of the last own commit: it is durable, with everything before it; 0 if there is none."""
        if not from_log:
            self._load()

    @property
    def kind(self) -> str:
        """The kind of stream: session, project or user."""
        return kind_of(self._stream)

    @property
    def note(self) -> str:
        """Where the snapshot is saved."""
        return f"local/snapshots/{self._stream.replace('/', '+')}"

    @property
    def state(self) -> dict[str, Any]:
        """The state up to the cursor. Not a copy: the caller must not change it, and must read it under the lock."""
        with self.lock:
            if self._state is None:
                self._state = json.loads(self._body) if self._body else fold.blank(self.kind)
                self._body = b""
            if len(self._pending) > EVERY:
                self._skip_to_snapshot()
            if self._pending:
                try:
                    fold.fold(self._state, self._pending)
                except BaseException:
                    self._start_over()  # some of them were applied, and it is unknown which
                    raise
                self._pending = []
                self._top = {}
            return self._state

    def _skip_to_snapshot(self) -> None:
        """Load a newer snapshot: while several processes write, one of them has folded most of it."""
        loaded = self._stored()
        if loaded is None:
            return
        top, state = loaded
        covered = top["version"] - (self.version - len(self._pending))
        if not 0 < covered <= len(self._pending):
            return
        last = self._pending[covered - 1]
        if top["head"] != (last.id if isinstance(last, Commit) else id_of(last)):
            return
        self._state = json.loads(state)
        self._pending = self._pending[covered:]
        self._top, self._saved = {}, top["version"]

    def _start_over(self) -> None:
        """Reset: the next read is of the whole stream."""
        self.version = self._saved = self._acknowledged = 0
        self.head = self.verified = ids.ZERO
        self.cursor, self.faults = None, ()
        self._state, self._top, self._body, self._pending = None, {}, b"", []

    @property
    def shown(self) -> dict[str, Any]:
        """The part of a session's state that ``state.json`` and `status` show."""
        with self.lock:
            if self._pending or not self._top:
                from holdfast.views.state_json import contract

                return contract(self.state)
            shown: dict[str, Any] = self._top["shown"]
            return shown

    @property
    def commits(self) -> dict[str, Any]:
        """Which commits are in the state, as a seal has it: ``head`` and ``mix``."""
        with self.lock:
            return self.state if self._pending or not self._top else self._top

    def is_archived(self) -> bool:
        """Whether the session is archived, as far as it is folded: pending commits are usually our own last one."""
        return bool((self._state or self._top).get("archived"))

    def is_durable(self, version: int, head: str) -> bool:
        """Whether these are the first ``version`` commits that this handle knows, and all of them are durable."""
        with self.lock:
            return version == self.version <= max(self._acknowledged, self._saved) and head == self.head

    def refresh(self) -> None:
        """Fold all new commits."""
        with self.lock:
            before, cursor = self.version, self.cursor
            restarted = self.take(self._store.read(self._stream, cursor))
            if self.version - (self._saved if restarted else before) >= EVERY:
                self.save()  # a tail that long is durable: the next opening need not read it again
            elif self._top and not self._pending and cursor is self._top["cursor"]:
                self._save_cursor()

    def refresh_only(self) -> None:
        """``refresh`` without saving a snapshot."""
        with self.lock:
            self.take(self._store.read(self._stream, self.cursor))

    def take(self, tail: Tail) -> bool:
        """Fold a tail; True if it was the whole stream."""
        if tail.cursor is self.cursor:
            return False  # nothing new
        if tail.restarted:
            state = fold.fold(fold.blank(self.kind), tail.lines)
            self._state, self._top, self._body, self._pending, self._saved = state, {}, b"", [], 0
            self._acknowledged = tail.version if self._acknowledged else 0  # a whole stream is durable
            self.verified = ids.ZERO
        elif tail.lines:
            self._pending += tail.lines
        self.version, self.head = tail.version, tail.head
        self.cursor, self.faults = tail.cursor, tail.faults
        return tail.restarted

    def took(self, commit: Commit, cursor: Cursor, version: int) -> None:
        """Add the commit that was just appended after everything folded so far. Without a cursor there are unread
        commits before it: they are read when the state is requested, or when this process writes the views."""
        if cursor is None:
            return
        self._pending += [commit]  # no calls after this: an interrupt sees all of it or nothing
        self._acknowledged = version
        self.version, self.head, self.cursor = version, commit.id, cursor
        if version % EVERY == 0:  # of all writers, only this commit's saves a snapshot
            self.save()

    def settle(self) -> None:
        """Save a snapshot at the end of a command, so that the next one has nothing to fold.

        Only after an own commit: it is acknowledged, and one sync covers all before it (I6).
        """
        with self.lock:
            if self._acknowledged == self.version > self._saved:
                self.save()

    def save(self) -> None:
        """Save a snapshot."""
        state = self.state
        top = {
            "release": _RELEASE,
            "version": self.version,
            "cursor": self.cursor,
            "head": state["head"],
            "mix": state["mix"],
            "archived": state.get("archived"),
            "shown": self.shown if self.kind == "session" else {},
        }
        self._saved = self.version
        self._put(top, _encode(state).encode())

    def _save_cursor(self) -> None:
        """Save a snapshot's cursor again if the store had to verify what it covers: once is enough."""
        cursor = json.loads(_encode(self.cursor))
        if cursor != self._top["cursor"]:
            self._top["cursor"] = cursor
            self._put(self._top, self._body or _encode(self._state).encode())

    def _put(self, top: dict[str, Any], state: bytes) -> None:
        try:
            self._store.put(self.note, cache_file.pack(top, state))
        except HoldfastError:
            pass  # only a cache, often of an acknowledged commit: no reason to fail

    def rebuild(self) -> None:
        """Drop the snapshot and fold the whole log, then save a new one."""
        with self.lock:
            self._start_over()
            self._store.put(self.note, None)
            self.refresh()
            self.save()

    def _load(self) -> None:
        loaded = self._stored()
        if loaded is None:
            return
        top, state = loaded
        self._pending = []
        self._state, self._top, self._body = None, top, state
        self.cursor = top["cursor"]
        self.version = self._saved = top["version"]
        self.head = self.verified = top["head"] or ids.ZERO

    def _stored(self) -> tuple[dict[str, Any], bytes] | None:
        """The two lines of the stored snapshot; None if there is none that can be used."""
        found = cache_file.unpack(self._store.get(self.note))
        return found if found and found[0]["release"] == _RELEASE and found[0]["version"] > 0 else None
