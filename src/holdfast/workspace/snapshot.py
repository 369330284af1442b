"""The state of one stream, kept up to date: a snapshot, plus what was committed since.

The snapshot is a cache. It is taken only of commits that are durable, it carries a checksum, and whatever is
wrong with it costs no more than folding the stream again. It has two lines: what is asked most (``shown``: what
`status` shows), and the whole state, which is parsed only when it is needed.
"""

from __future__ import annotations

import json
import zlib

from holdfast.core import fold, ids
from holdfast.core.codec import Commit, id_of
from holdfast.errors import HoldfastError
from holdfast.store.protocol import LONG_TAIL, Cursor, Fault, Store, Tail
from holdfast.typed import Any
from holdfast.version import __version__
from holdfast.workspace.thread_lock import ThreadLock

EVERY = LONG_TAIL
"""Commits between two snapshots: what an opening has to fold at most, whatever the length of the history."""
_RELEASE = f"{__version__}.{fold.RELEASE}.4"
"""Of what is in a snapshot, and how: another one is not used."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class WorkingSet:
    """The folded state of one stream and the cursor up to which it is complete.

    Threads share it: whatever changes it, or reads its state, holds its lock. The lock comes before the store's own
    locks: a thread that holds those never waits for another thread's working set.
    """

    def __init__(self, store: Store, stream: str, *, from_log: bool = False) -> None:
        self.version = 0
        self.head = ids.ZERO
        self.faults: tuple[Fault, ...] = ()
        self.cursor: Cursor = None
        self.verified = ids.ZERO
        """An earlier head that the stream is known to have: that of the snapshot, or of the last publishing."""
        self._store = store
        self._stream = stream
        self.lock = ThreadLock(self._start_over)
        """Held by whoever changes the working set or reads its state."""
        self._state: dict[str, Any] | None = None
        self._top: dict[str, Any] = {}
        """The first line of the snapshot, as long as nothing has changed since."""
        self._body = b""
        """The second one, as long as nobody has asked for the state."""
        self._pending: list[bytes | Commit] = []
        self._saved = 0
        self._durable = False
        if not from_log:
            self._load()

    @property
    def kind(self) -> str:
        """The kind of stream: session, project or user."""
        return "session" if self._stream.startswith("sessions/") else self._stream.split("/")[0].rstrip("s")

    @property
    def note(self) -> str:
        """Where the snapshot is saved."""
        return f"local/snapshots/{self._stream.replace('/', '+')}"

    @property
    def state(self) -> dict[str, Any]:
        """The state up to the cursor. Not a copy: not to be changed by the caller, and read under the lock."""
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
                    self._start_over()  # some of them are in it, and nobody knows which
                    raise
                self._pending = []
                self._top = {}
            return self._state

    def _skip_to_snapshot(self) -> None:
        """Take the state from a newer snapshot: while several processes write, one of them has folded most of it."""
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
        """Know nothing: the next reading is of the whole stream."""
        self.version = self._saved = 0
        self.head = self.verified = ids.ZERO
        self.cursor, self.faults = None, ()
        self._state, self._top, self._body, self._pending = None, {}, b"", []

    @property
    def shown(self) -> dict[str, Any]:
        """What is shown of a session's state in ``state.json`` and by `status`."""
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
        """Whether the session is archived, as far as has been folded: what is pending is mostly the own last commit."""
        return bool((self._state or self._top).get("archived"))

    def refresh(self) -> None:
        """Take in what has been committed by anybody."""
        with self.lock:
            before, cursor = self.version, self.cursor
            restarted = self.take(self._store.read(self._stream, cursor))
            if self.version - (self._saved if restarted else before) >= EVERY:
                self.save()  # a tail as long as that is durable: the next opening need not read it again
            elif self._top and not self._pending and cursor is self._top["cursor"]:
                self._save_cursor()

    def refresh_only(self) -> None:
        """``refresh`` without saving a snapshot."""
        with self.lock:
            self.take(self._store.read(self._stream, self.cursor))

    def take(self, tail: Tail) -> bool:
        """Take in a tail; True if it was the whole stream."""
        if tail.cursor is self.cursor:
            return False  # nothing new
        if tail.restarted:
            state = fold.fold(fold.blank(self.kind), tail.lines)
            self._state, self._top, self._body, self._pending, self._saved = state, {}, b"", [], 0
            self.verified = ids.ZERO
        elif tail.lines:
            self._pending += tail.lines
            self._durable = False
        self.version, self.head = tail.version, tail.head
        self.cursor, self.faults = tail.cursor, tail.faults
        return tail.restarted

    def took(self, commit: Commit, cursor: Cursor, version: int) -> None:
        """Take in the commit that was just appended after everything taken in so far. Without a cursor there are unread
        commits before it: they are read when somebody asks for the state, or all at once for a snapshot."""
        if cursor is None:
            if version % EVERY == 0:
                self.refresh()
            return
        self._pending += [commit]  # from here on nothing is called: an interrupt sees all of it or nothing
        self._durable = True
        self.version, self.head, self.cursor = version, commit.id, cursor
        if version % EVERY == 0:  # of all who write, only the one whose commit this is keeps a snapshot
            self.save()

    def settle(self) -> None:
        """Keep a snapshot at the end of a command, so that the next one has nothing to fold.

        Only after an own commit: it is acknowledged, and one sync covers all before it (I6).
        """
        with self.lock:
            if self._durable and self.version > self._saved:
                self.save()

    def save(self) -> None:
        """Keep a snapshot."""
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
        """Save the cursor of a snapshot again if the store had to verify what it covers: once is enough."""
        cursor = json.loads(_encode(self.cursor))
        if cursor != self._top["cursor"]:
            self._top["cursor"] = cursor
            self._put(self._top, self._body or _encode(self._state).encode())

    def _put(self, top: dict[str, Any], state: bytes) -> None:
        # Compressed, the snapshot of a small session takes one block of the disk and not two.
        body = zlib.compress(b"\n".join([_encode(top).encode(), state]), 1)
        try:
            self._store.put(self.note, b"%08x %s" % (zlib.crc32(body), body))
        except HoldfastError:
            pass  # only a cache, and often of a commit that is acknowledged: no reason to fail

    def rebuild(self) -> None:
        """Forget the snapshot and fold the whole log, then save a snapshot of that."""
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
        note = self._store.get(self.note)
        if note is None:
            return None
        body = note[9:]
        try:
            if int(note[:8], 16) != zlib.crc32(body):
                return None
            line, _, state = zlib.decompress(body).partition(b"\n")
            top = json.loads(line)
            return (top, state) if top["release"] == _RELEASE and top["version"] > 0 else None
        except (ValueError, KeyError, zlib.error):
            return None
