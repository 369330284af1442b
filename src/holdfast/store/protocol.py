"""The one protocol of all engines: eight methods.

A store keeps streams of commits, each commit as its line (see ``core.codec``). It knows nothing of concepts,
rules and views: the caller folds. ``holdfast.testing.conformance`` checks every promise that is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core.codec import Commit, Draft
from holdfast.typed import Any, Protocol, Record

Cursor = Any
"""How far a reader has come: opaque, JSON-able, given back by ``read`` and ``append``."""


class Capabilities(Record):
    """What an engine promises; the conformance suite checks what is claimed and what is denied."""

    name: str
    survives_exit: bool
    """An acknowledged commit is there after kill -9."""
    survives_power_cut: bool
    """An acknowledged commit is there after a power cut."""
    shared: bool
    """Several processes can use one store at once."""
    url: str


LONG_TAIL = 100
"""A tail of so many lines, or of the whole stream, is durable when ``read`` gives it: a snapshot may hold it."""


class Tail(Record):
    """What a stream holds beyond a cursor."""

    lines: Iterable[bytes]
    """The commits' lines without line feed, in canonical order, sums checked. A list if a cursor was given
    and still fits; otherwise possibly an iterator that reads as it goes."""
    cursor: Cursor
    version: int
    """How many commits the stream has at this cursor."""
    head: str
    """The latest id in the stream at this cursor; ``ids.ZERO`` if it is empty."""
    restarted: bool
    """The cursor did not fit: none given, history changed under it, or commits arrived (by a merge) that belong
    before it. The lines are the whole stream; otherwise every line is later than all before the cursor."""
    faults: tuple[Fault, ...]
    """Lines that could not be read. They are never part of ``lines``."""


class Fault(Record):
    """Something in a store that is not as it should be."""

    stream: str
    where: str
    """File (relative to the workspace) and line, or table and row."""
    what: str
    harmless: bool = False
    """True for what needs no action: a torn tail that was cut and kept, a stale cache."""
    action: str = ""
    """What was done about it, or what can be done."""


class AppendContext(Record):
    """What a plan is given while it holds the stream's lock: nobody else can append until it returns."""

    tail: Tail
    writer: str
    numbers: dict[str, int]
    """The highest short number that this writer ever used in this stream, by prefix; may know of branches
    that are not checked out. Engines that cannot be branched give an empty one."""


class PreparedCommit(Record):
    """What a plan decided to write."""

    draft: Draft
    numbers: dict[str, int]
    content: bytes | None = None
    """``content_of(draft)``, where it was made before the stream was held."""


class PrebuiltCommit(Record):
    """A plan for a commit that no rule has to judge: its content is known before the lock is taken.

    An engine that knows that nothing is new since the cursor may leave out the call of ``on_tail``.
    """

    prepared: PreparedCommit
    on_tail: Callable[[AppendContext], object]
    """Sees what is new. Raises to write nothing."""

    def __call__(self, context: AppendContext) -> PreparedCommit:
        self.on_tail(context)
        return self.prepared


Plan = Callable[[AppendContext], PreparedCommit] | PrebuiltCommit
"""Decides what to write, given everything that is new. Raises to write nothing. May be called again."""


class Appended(Record):
    commit: Commit
    cursor: Cursor
    """Covers the tail that the plan saw and the new commit. Meaningless if ``repeated``."""
    version: int
    repeated: bool
    """The operation id was there already: ``commit`` is the first one and nothing was written."""


class Store(Protocol):
    capabilities: Capabilities

    def append(
        self,
        stream: str,
        plan: Plan,
        cursor: Cursor = None,
        expect: int | None = None,
        op: str | None = None,
    ) -> Appended:
        """Add one commit; when this returns, the commit is durable as far as the capabilities promise.

        In this order, with nobody else appending: a known ``op`` returns its commit; another version than
        ``expect`` raises ``Conflict``; ``plan`` is called with what is beyond ``cursor``; its draft gets an id
        later than every id in the stream, and is written. After ``UnknownOutcome`` the commit is there whole
        or not at all, and later calls work as usual.
        """

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        """What is beyond the cursor. With ``newest_first`` the whole stream, backwards, as an iterator.

        A stream that nobody wrote to is empty, not an error.
        """

    def streams(self, prefix: str = "") -> list[str]:
        """The names of all streams that begin with ``prefix``, sorted."""

    def put(self, name: str, data: bytes | None) -> None:
        """Keep a note beside the streams (pointer, snapshot, view), or remove it. Atomic, not durable.

        Names: ``local/…`` for this place alone, ``<stream>/<file>`` for a view of a stream.
        """

    def get(self, name: str) -> bytes | None:
        """The note, or None. Notes can vanish or be garbage after a power cut: the reader checks them."""

    def forget(self, stream: str) -> None:
        """Remove a stream with its notes. Forgetting what is not there is no error."""

    def check(self, *, fix: bool = False) -> list[Fault]:
        """Everything that is wrong; with ``fix``, mend what can be mended without losing anything."""

    def close(self) -> None:
        """Give all handles back. Closing twice is no error."""
