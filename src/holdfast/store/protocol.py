"""The one protocol of all engines: eight methods.

A store keeps streams of commits, each commit as its line (see ``core.codec``). It knows nothing of concepts,
rules and views: the caller folds. ``holdfast.testing.conformance`` checks every promise made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from holdfast.core.codec import Commit, Draft
from holdfast.typed import TYPE_CHECKING, Any, Protocol, Record

if TYPE_CHECKING:
    from holdfast.errors import Hint

Cursor = Any
"""A read position: opaque and JSON-able; ``read`` and ``append`` return it."""


class Capabilities(Record):
    """What an engine promises; the conformance suite checks what is claimed and what is denied."""

    name: str
    survives_exit: bool
    """An acknowledged commit survives kill -9."""
    survives_power_cut: bool
    """An acknowledged commit survives a power cut."""
    shared: bool
    """Several processes can use one store at once."""
    url: str
    extensions: frozenset[str] = frozenset()
    """The optional protocols that the engine also implements; see ``supports``."""
    limits: tuple[str, ...] = ()
    """What the server behind the engine does not keep as it is set up, in sentences."""


LONG_TAIL = 100
"""A tail of so many lines, or of the whole stream, is durable when ``read`` returns it: a snapshot may hold it."""


class Tail(Record):
    """The commits of a stream after a cursor."""

    lines: Iterable[bytes]
    """The commits' lines without line feed, in canonical order, with checksums verified. A list if a cursor was
    given and is still valid; otherwise possibly a lazy iterator."""
    cursor: Cursor
    version: int
    """How many commits the stream has at this cursor."""
    head: str
    """The latest id in the stream at this cursor; ``ids.ZERO`` if it is empty."""
    restarted: bool
    """The cursor was invalid: none given, history changed under it, or commits arrived (by a merge) that belong
    before it. The lines are the whole stream; otherwise every line is later than all before the cursor."""
    faults: tuple[Fault, ...]
    """Lines that could not be read. They are never part of ``lines``."""


class Fault(Record):
    """Something in a store that is not as it should be."""

    kind: str
    """One of the constants in ``store.faults``, which has the sentences too."""
    stream: str
    where: str
    """File (relative to the workspace) and line, or table and row."""
    data: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Values for the kind's sentence; see the kind."""
    done: str = ""
    """What was done about it: one of the outcomes in ``store.faults``; empty if nothing was."""
    harmless: bool = False
    """True for what needs no action: a torn tail that was cut and kept, a stale cache."""

    @property
    def what(self) -> str:
        """What is wrong, for people."""
        from holdfast.store import faults

        return faults.what(self.kind, self.data)

    @property
    def action(self) -> Hint:
        """What was done about it, or what can be done, for people."""
        from holdfast.store import faults

        return faults.action(self.kind, self.data, self.done)

    def as_json(self, render: Callable[[Hint], str] = str) -> dict[str, object]:
        """The fault as ``--json`` prints it."""
        return {
            "kind": self.kind,
            "stream": self.stream,
            "where": self.where,
            "what": self.what,
            "harmless": self.harmless,
            "done": self.done,
            "action": render(self.action),
            "data": self.data,
        }


class AppendContext(Record):
    """Input to a plan while the stream's lock is held: no other append can happen until the plan returns."""

    tail: Tail
    writer: str
    numbers: dict[str, int]
    """The highest short number that this writer ever used in this stream, by prefix; may include branches that are
    not checked out. Empty for engines that cannot be branched."""


class PreparedCommit(Record):
    """What a plan decided to write."""

    draft: Draft
    numbers: dict[str, int]
    content: bytes | None = None
    """``content_of(draft)``, if it was computed before the lock was taken."""


class PrebuiltCommit(Record):
    """A plan for a commit that no rule has to check: its content is known before the lock is taken.

    An engine that knows that nothing is new since the cursor may skip the call of ``on_tail``. So may one that knows
    enough of what is new to write after it; the returned cursor is then None.
    """

    prepared: PreparedCommit
    on_tail: Callable[[AppendContext], object]
    """Receives what is new. Raises to write nothing."""

    def __call__(self, context: AppendContext) -> PreparedCommit:
        self.on_tail(context)
        return self.prepared


Plan = Callable[[AppendContext], PreparedCommit] | PrebuiltCommit
"""Decides what to write, given everything that is new. Raises to write nothing. May be called more than once."""


class Appended(Record):
    commit: Commit
    cursor: Cursor
    """Covers the tail that the plan saw and the new commit. Meaningless if ``repeated``. None if a prebuilt commit was
    written without reading what is new: the caller's own cursor is still before all of it."""
    version: int
    repeated: bool
    """The operation id was already present: ``commit`` is the first one and nothing was written."""


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

        In this order, with all other appends excluded: a known ``op`` returns its commit; a version other than
        ``expect`` raises ``Conflict``; ``plan`` is called with what is after ``cursor``; its draft gets an id later
        than every id in the stream, and is written. After ``UnknownOutcome`` the commit is either complete or
        absent, and later calls work as usual.
        """

    def read(self, stream: str, cursor: Cursor = None, *, newest_first: bool = False) -> Tail:
        """The commits after the cursor. With ``newest_first`` the whole stream, backwards, as an iterator; a cursor
        then only tells what was verified before.

        A stream without commits is empty, not an error.
        """

    def streams(self, prefix: str = "") -> list[str]:
        """The names of all streams that begin with ``prefix``, sorted."""

    def put(self, name: str, data: bytes | None) -> None:
        """Store a file next to the streams (pointer, snapshot, view), or remove it. Atomic, not durable.

        Names: ``local/…`` for this workspace only, ``<stream>/<file>`` for a view of a stream.
        """

    def get(self, name: str) -> bytes | None:
        """The file, or None. It can be missing or garbage after a power cut: the reader validates it."""

    def forget(self, stream: str, expect: int | None = None) -> None:
        """Remove a stream with its notes. Forgetting what is not there is no error.

        Another version than ``expect`` raises ``Conflict``, and nothing is removed: nobody can append in between.
        """

    def check(self, *, fix: bool = False) -> list[Fault]:
        """Everything that is wrong; with ``fix``, repair what can be repaired without losing anything."""

    def close(self) -> None:
        """Release all handles. Closing twice is no error."""


# -- what only some engines can do ------------------------------------------------------------------------

ARCHIVE, ATTACHMENTS, CHANGES, GIT, LISTING = "archive", "attachments", "changes", "git", "listing"


class Archive(Protocol):
    """An engine that can archive sessions."""

    def archive(self, stream: str) -> None:
        """Archive a session. Repeating it after a crash completes it."""

    def archived(self) -> list[str]:
        """The archived streams, oldest first."""

    def is_archived(self, stream: str) -> bool:
        """Whether any part of a stream is archived."""

    def has_archive(self) -> bool:
        """Whether anything is archived, without reading the archive."""

    def size_of(self, stream: str) -> int:
        """Bytes on the disk, over all files of a stream."""


class Attachments(Protocol):
    """An engine whose workspace is a folder, in which a session can have files."""

    root: str

    def folder_of(self, stream: str) -> str:
        """Where the files of a stream are."""

    def pin(self, stream: str, path: str) -> None:
        """Keep a file of a session out of git's reach until git has it."""


class Listing(Protocol):
    """An engine that finds the newest sessions without reading all of them."""

    def newest_sessions(self, user: str | None, limit: int) -> tuple[list[str], int]:
        """The newest sessions, and how many there are."""


class Changes(Protocol):
    """An engine that can tell which streams have changed without reading them."""

    @property
    def index_path(self) -> str:
        """Where the index of the workspace is."""

    def changes(self, known: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The streams, live and archived, whose stamp is another than the known one, with their new stamps, and the
        known streams that are gone. An empty stamp is never right: such a stream is changed the next time too."""


class GitBacked(Attachments, Protocol):
    """An engine whose files people keep in git."""

    in_git: bool

    def git_heads(self, stream: str) -> tuple[str, str]:
        """Branch and commit at this writer's last append to a stream, and now; empty if unknown."""

    def sessions_in(self, root: str) -> list[str]:
        """The sessions in the workspace of another worktree."""

    def pinned_sessions(self, known: set[str]) -> list[str]:
        """Sessions that have commits only in pins, or of which nothing but that is ``known``."""

    def has_elsewhere(self, stream: str, commit_id: str) -> bool:
        """Whether git or a pin has a commit that the stream lacks: on another branch, stashed, reset."""

    def is_stream(self, name: str) -> bool:
        """Whether this stream has live segments, rather than being entirely archived."""

    def is_archived(self, stream: str) -> bool:
        """Whether any part of a stream is archived."""

    def stream_at(self, folder: str) -> str:
        """The stream whose files or segments are in a folder (relative to the workspace); empty if none."""

    def drop_file(self, path: str) -> None:
        """Remove a file of the workspace that can be regenerated."""

    def settle_conflict(self, path: str) -> bool:
        """Join all sides of a segment that a merge left in conflict; False if it belongs to another stream."""

    def is_archive_marker(self, path: str) -> bool:
        """Whether archiving wrote this file: the stub in a session's old folders, or the file that names an archive."""

    def settle_marker(self, path: str) -> None:
        """Remove such a file, left in conflict by a merge, from where it does not belong. ``check`` rewrites the file
        that names an archive."""

    def commit_ids(self, data: bytes) -> set[str]:
        """The ids of the commits in the bytes of a segment."""

    def put_back(self, path: str) -> list[str]:
        """Move a file that a merge put into another session's folder back to where it was added."""

    def settle_text(self, path: str) -> bool:
        """Settle the text of a long message that a merge left in conflict; False if it is no such text."""

    def restore_segment(self, stream: str, where: str) -> Fault | None:
        """Add what any version of a segment in git has to it; None if that is nothing."""

    def mirror(self, stream: str) -> None:
        """Copy what this writer appended to a stream to where neither git nor an editor reaches it."""

    def salvage(self) -> list[Fault]:
        """Restore what git removed from the working tree before a git commit had it."""


def supports(store: Store, extension: str) -> bool:
    """Whether an engine implements one of the optional protocols."""
    return extension in store.capabilities.extensions


def archive_of(store: Store) -> Archive | None:
    found: Any = store
    return found if supports(store, ARCHIVE) else None


def attachments_of(store: Store) -> Attachments | None:
    found: Any = store
    return found if supports(store, ATTACHMENTS) else None


def listing_of(store: Store) -> Listing | None:
    found: Any = store
    return found if supports(store, LISTING) else None


def changes_of(store: Store) -> Changes | None:
    found: Any = store
    return found if supports(store, CHANGES) else None


def git_backed(store: Store) -> GitBacked | None:
    found: Any = store
    return found if supports(store, GIT) else None
