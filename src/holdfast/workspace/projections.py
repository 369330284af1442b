"""Projections: what a program makes of the events of a stream, kept up to date.

A kept projection is a cache like a snapshot: a state, and the cursor up to which it is complete. It holds only commits
that are durable. If it does not fit, because history came in between, because the projection or an upcaster has another
version, or because the file is gone or damaged, everything is folded again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from holdfast.core import concepts, fold, upcast
from holdfast.core.codec import Commit
from holdfast.core.ids import checked_name
from holdfast.core.stream import flat, kind_of
from holdfast.core.validation import checked, commit_in
from holdfast.errors import Damaged, HoldfastError, Newer, Usage
from holdfast.store.protocol import LONG_TAIL, Cursor, Tail
from holdfast.version import __version__
from holdfast.workspace import cache_file
from holdfast.workspace.model_builders import timestamp
from holdfast.workspace.models import Event, Json

if TYPE_CHECKING:
    from holdfast.workspace.handle import Handle

T = TypeVar("T")
_RELEASE = f"{__version__}.{fold.RELEASE}.1"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class Projection(Generic[T]):
    """A state that a program folds from events: pass it to ``project`` of a session, project or person.

    ``step`` returns the state after one event; it depends on nothing but its arguments. The state is JSON, or ``dump``
    turns it into JSON and ``load`` back. Give it another ``version`` whenever the same events lead to another state.
    """

    name: str
    step: Callable[[T, Event], T]
    initial: T
    version: int = 1
    dump: Callable[[T], Json] | None = None
    load: Callable[[Json], T] | None = None

    def __post_init__(self) -> None:
        checked_name(self.name, "projection")
        if type(self.version) is not int or self.version < 1:
            raise Usage(f"The version of projection {self.name} must be a whole number from 1 on.")
        if (self.dump is None) != (self.load is None):
            raise Usage(f"Projection {self.name} needs both dump and load, or neither.")
        self.encoded(self.initial)

    def encoded(self, state: T) -> bytes:
        """A state as it is stored; raises ``Usage`` if it would not come back the same."""
        value: object = self.dump(state) if self.dump is not None else state
        try:
            data = _encode(value)
            if json.loads(data) == value:
                return data.encode()
        except (TypeError, ValueError, RecursionError):
            pass
        raise Usage(
            f"A state of projection {self.name} is not plain JSON: {repr(value)[:200]}",
            hint="Use dicts with texts as keys, lists, texts, numbers, booleans and None, or give dump and load.",
        )

    def decoded(self, data: bytes) -> T:
        """The state in what ``encoded`` returned. Never the same object twice: a caller may change it."""
        value = json.loads(data)
        return self.load(value) if self.load is not None else cast(T, value)


@dataclass(frozen=True, slots=True)
class Kept:
    """A projection of one stream, up to a cursor."""

    top: dict[str, Any]
    """What the state depends on besides the commits."""
    cursor: Cursor
    state: bytes
    saved: tuple[Cursor, int] | None
    """Up to where it is on disk, and how many commits that are; None if nowhere."""


def project(
    handle: Handle,
    projection: Projection[T] | Callable[[T, Event], T],
    initial: T | None,
    at: int | str | None,
) -> T:
    """The state of a projection, now or at a version or timestamp."""
    if isinstance(projection, Projection):
        if initial is not None:
            raise Usage(f"Projection {projection.name} has its own initial state.")
        if at is None:
            return _kept(handle, projection)
        start = projection.decoded(projection.encoded(projection.initial))
        return _folded(handle, projection.step, start, handle.commits_until(at), _must_return(projection))
    if not callable(projection):
        raise Usage("A projection is a holdfast.Projection, or a function and its first value.")
    lines = handle.commits_until(at) if at is not None else handle.stored_commits()
    return _folded(handle, projection, cast(T, initial), lines, initial is not None)


def _kept(handle: Handle, projection: Projection[T]) -> T:
    note = f"local/projections.{projection.name}/{flat(handle.stream)}"
    top = {
        "release": _RELEASE,
        "version": projection.version,
        "initial": projection.encoded(projection.initial).decode(),
        "upcasters": dict(sorted(handle.workspace.upcasters.versions.items())),
    }
    store = handle.workspace.store
    kept = handle.kept_projections.get(projection.name)
    if kept is None or kept.top != top:
        kept = _stored(store.get(note), top)
    tail = store.read(handle.stream, kept.cursor if kept is not None else None)
    if kept is not None and tail.cursor is kept.cursor:
        return projection.decoded(kept.state)
    fresh = kept is None or tail.restarted
    before = projection.encoded(projection.initial) if kept is None or fresh else kept.state
    state = _folded(handle, projection.step, projection.decoded(before), tail.lines, _must_return(projection))
    saved = kept.saved if kept is not None and not fresh else None
    kept = Kept(top, tail.cursor, projection.encoded(state), saved)
    if saved is None or handle.knows_durable(tail.version, tail.head) or _is_durable(handle, saved, tail):
        kept = replace(kept, saved=(tail.cursor, tail.version))
        about = {**top, "cursor": tail.cursor, "commits": tail.version}
        try:
            store.put(note, cache_file.pack(about, kept.state))
        except HoldfastError:
            pass  # only a cache: the next process folds again
    handle.kept_projections[projection.name] = kept
    return projection.decoded(kept.state)


def _is_durable(handle: Handle, saved: tuple[Cursor, int], tail: Tail) -> bool:
    """Whether so much is new since the last save that reading all of it makes it durable (I6)."""
    cursor, version = saved
    if tail.version - version < LONG_TAIL:
        return False
    again = handle.workspace.store.read(handle.stream, cursor)
    return again.version == tail.version and again.head == tail.head


def _must_return(projection: Projection[T]) -> bool:
    """Whether None as a state means that the step forgot to return one."""
    return projection.initial is not None


def _stored(data: bytes | None, top: dict[str, Any]) -> Kept | None:
    """The projection in a file; None if it cannot be used."""
    found = cache_file.unpack(data)
    if found is None:
        return None
    stored, state = found
    cursor, commits = stored.pop("cursor", None), stored.pop("commits", 0)
    return Kept(top, cursor, state, (cursor, commits)) if stored == top else None


def _folded(
    handle: Handle,
    step: Callable[[T, Event], T],
    state: T,
    lines: Iterable[bytes | Commit],
    must_return: bool,
) -> T:
    for event in _events(handle, lines):
        try:
            state = step(state, event)
        except Exception as error:
            error.add_note(
                f"raised by a projection at {event.type} in commit {event.commit} of {handle.stream}"
            )
            raise
        if state is None and must_return:
            raise Usage(
                f"A step of a projection returned None at {event.type} in commit {event.commit}.",
                hint="It must return the state after the event, also if nothing changes.",
            )
    return state


def _events(handle: Handle, lines: Iterable[bytes | Commit]) -> Iterator[Event]:
    """Every event of valid commits, in the version that this release or the program knows."""
    kind, upcasters = kind_of(handle.stream), handle.workspace.upcasters
    for line in lines:
        try:
            commit = commit_in(line) if isinstance(line, bytes) else checked(line)
        except Damaged:
            continue
        at = timestamp(commit.at)
        for event in commit.events:
            _, data, version = event
            if event.type.startswith("x."):
                try:
                    _, data, version = upcasters.to_current(event)
                except Exception as error:
                    error.add_note(f"in commit {commit.id} of {handle.stream}")
                    raise
            elif (meaning := concepts.meaning(kind, event.type)) is not None:
                try:
                    data, version = upcast.to_current(event, meaning), meaning.version or event.v
                except Newer:
                    raise
                except fold.FOLD_ERRORS:
                    continue  # malformed, and left out of the state too
            yield Event(
                type=event.type,
                data=data,
                version=version,
                at=at,
                by=commit.by,
                origin=commit.origin,
                commit=commit.id,
            )
