"""The one protocol of all engines: eight methods.

A store keeps streams of commits, each commit as its line (see ``core.codec``). It knows nothing of concepts,
rules and views: the caller folds. ``holdfast.testing.conformance`` checks every promise that is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core.codec import Commit, Draft
from holdfast.typed import TYPE_CHECKING, Any, Protocol, Record

if TYPE_CHECKING:
    from holdfast.errors import Hint

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
    extensions: frozenset[str] = frozenset()
    """The optional protocols that the engine has too; see ``supports``."""


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

    kind: str
    """One of the constants in ``store.faults``, which has the sentences too."""
    stream: str
    where: str
    """File (relative to the workspace) and line, or table and row."""
    data: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """What the kind's sentence needs: see the kind."""
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

    def as_json(self, render: Callable[[Hint], str] = str) -> dict[str, Any]:
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

    An engine that knows that nothing is new since the cursor may leave out the call of ``on_tail``. So may one that
    knows enough of what is new to write after it; the cursor that comes back is then None.
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
    """Covers the tail that the plan saw and the new commit. Meaningless if ``repeated``. None if a prebuilt commit was
    written without reading what is new: the caller's own cursor still stands before all of it."""
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
        """Everything that is wrong; with ``fix``, repair what can be repaired without losing anything."""

    def close(self) -> None:
        """Give all handles back. Closing twice is no error."""


# -- what only some engines can do ------------------------------------------------------------------------

ARCHIVE, ATTACHMENTS, GIT, LISTING = "archive", "attachments", "git", "listing"


class Archive(Protocol):
    """An engine that can put sessions away, apart from the others."""

    def archive(self, stream: str) -> None:
        """Put a session away. Repeating it after a crash completes it."""

    def archived(self) -> list[str]:
        """The streams that were put away, oldest first."""

    def is_archived(self, stream: str) -> bool:
        """Whether some of a stream was put away."""

    def has_archive(self) -> bool:
        """Whether anything was put away, without looking at what."""

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
    """An engine that finds the newest sessions without looking at all of them."""

    def newest_sessions(self, user: str | None, limit: int) -> tuple[list[str], int]:
        """The newest sessions, and how many there are."""


class GitBacked(Attachments, Protocol):
    """An engine whose files people keep in git."""

    in_git: bool

    def git_heads(self, stream: str) -> tuple[str, str]:
        """Branch and commit when this writer last wrote to a stream, and now; empty where that is not known."""

    def tracked_caches(self) -> list[Fault]:
        """Files of this place alone that git tracks all the same."""

    def sessions_in(self, root: str) -> list[str]:
        """The sessions in the workspace of another worktree."""

    def pinned_sessions(self, known: set[str]) -> list[str]:
        """Sessions of which commits are only pinned, or of which nothing is ``known`` but that."""

    def has_elsewhere(self, stream: str, commit_id: str) -> bool:
        """Whether git or a pin has a commit that the stream lacks: of another branch, stashed, reset."""

    def is_stream(self, name: str) -> bool:
        """Whether this is a stream with segments of its own: not one that is wholly in the archive."""

    def is_archived(self, stream: str) -> bool:
        """Whether some of a stream lies in the archive."""

    def stream_at(self, folder: str) -> str:
        """The stream whose files or segments are in a folder (relative to the workspace); empty if there is none."""

    def drop_file(self, path: str) -> None:
        """Remove a file of the workspace that can be made again."""

    def settle_conflict(self, path: str) -> bool:
        """Join all sides of a segment that a merge left in conflict; False if it is another stream's."""

    def is_archive_marker(self, path: str) -> bool:
        """Whether archiving wrote a file: the stub in a session's old folders, or the file that names an archive."""

    def settle_marker(self, path: str) -> None:
        """Remove such a file, which a merge left in conflict, from where it does not belong. The file that names an
        archive is written again by ``check``."""

    def commit_ids(self, data: bytes) -> set[str]:
        """The ids of the commits in the bytes of a segment."""

    def put_back(self, path: str) -> list[str]:
        """Move a file that a merge put into the folder of another session to where it was added."""

    def mirror(self, stream: str) -> None:
        """Copy what this writer appended to a stream to where neither git nor an editor reaches it."""

    def salvage(self) -> list[Fault]:
        """Bring back what git removed from the working tree before a git commit had it."""


def supports(store: Store, extension: str) -> bool:
    """Whether an engine has one of the optional protocols."""
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


def git_backed(store: Store) -> GitBacked | None:
    found: Any = store
    return found if supports(store, GIT) else None
