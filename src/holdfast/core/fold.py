"""Fold commits into state.

State is a plain JSON object: the fold of a stream's commits in canonical order. It holds what is open, the last
few closed entries, and counts for the rest, so its size does not grow with history. Each concept owns its part of
the state and the functions that fold its events (see ``core.concepts``).
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from holdfast.core import codec, concepts, upcast, validation
from holdfast.core.codec import Commit, Event
from holdfast.errors import Damaged, HoldfastError, Newer
from holdfast.typed import Any, Protocol

RELEASE = 10
"""Increased whenever the same commits fold to a different state: snapshots of other releases are ignored."""

RECENT = 10
MAX_UNKNOWN = 50
MALFORMED = "malformed"
"""The key under which malformed commits and events are counted among the unknown ones."""
FOLD_ERRORS = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, HoldfastError)
"""What a fold raises if the data of an event does not have the shape that its type requires."""

State = dict[str, Any]

DATED = frozenset(
    [
        "message.added",
        "error.met",
        "context.compacted",
        "session.stopped",
        "task.added",
        "reference.added",
        "capture.proposed",
    ]
)
"""Events that may have a time of their own, ``at``: imported ones, which happened before they were recorded."""


class Watcher(Protocol):
    """Is told what a fold does."""

    def decoded(self, commit: Commit) -> None:
        """A valid commit is about to be folded."""

    def folded(self, state: State, event: Event, data: dict[str, Any], commit: Commit) -> None:
        """An event was folded; ``data`` is that of its current version."""


def blank(kind: str) -> State:
    """The state of an empty stream."""
    state: State = {
        "kind": kind,
        "starter": "",
        "commits": 0,
        "created": None,
        "updated": None,
        "by": None,
        "head": None,
        "mix": 0,
        "numbers": {},
        "registers": {},
        "unknown": {},
        "recent": [],
    }
    state.update(concepts.blank(kind))
    return state


def fold(state: State, lines: Iterable[bytes | Commit], watcher: Watcher | None = None) -> State:
    """Fold commits, given as lines or decoded, into ``state``, in place, and return it.

    Malformed commits and events are counted and skipped: one bad commit must not make the others unreadable.
    """
    for item in lines:
        commit_id = codec.id_of(item) if isinstance(item, bytes) else item.id
        state["commits"] += 1
        state["head"] = commit_id
        state["mix"] = (state["mix"] + crc32(commit_id.encode())) & 0xFFFFFFFF
        try:
            commit = validation.commit_in(item) if isinstance(item, bytes) else validation.checked(item)
        except Damaged:
            _count_unknown(state, MALFORMED)
            continue
        if watcher is not None:
            watcher.decoded(commit)
        _, at, by, _, _, events, _ = commit
        state["created"] = state["created"] or at
        state["updated"] = at
        state["by"] = by
        for event in events:
            try:
                _fold_event(state, event, commit, watcher)
            except Newer:
                raise
            except FOLD_ERRORS:
                _count_unknown(state, MALFORMED)
        del state["recent"][:-RECENT]
    return state


def _fold_event(state: State, event: Event, commit: Commit, watcher: Watcher | None) -> None:
    meaning = concepts.meaning(state["kind"], event.type)
    if meaning is None:
        _count_unknown(state, event.type)
        return
    step, headline, _, _, watch = meaning
    data = upcast.to_current(event, meaning)
    text = headline(data) if headline is not None else None
    if "at" in data and event.type in DATED:
        commit = commit._replace(at=data["at"])
    step(state, data, commit)
    if watch is not None:
        watch(state, data, commit)
    if watcher is not None:
        watcher.folded(state, event, data, commit)
    if text is not None:
        state["recent"].append({"at": commit.at, "by": commit.by, "origin": commit.origin, "text": text})


def _count_unknown(state: State, event_type: str) -> None:
    """Count an event of a later release or of another kind of stream; the log keeps it."""
    unknown = state["unknown"]
    name = event_type if event_type in unknown or len(unknown) < MAX_UNKNOWN else "others"
    unknown[name] = unknown.get(name, 0) + 1
