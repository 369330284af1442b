"""From commits to state.

State is a plain JSON object: the fold of a stream's commits in canonical order. It holds what is open, the last
few things that were closed, and counts for the rest, so its size does not grow with history. Each concept owns
its part of the state and brings the functions that fold its events (see ``core.concepts``).
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from holdfast.core import commit as codec
from holdfast.core import concepts, upcast
from holdfast.core.commit import Commit
from holdfast.typed import Any

RELEASE = 4
"""Raised whenever the same commits fold to another state: snapshots of other releases are not used."""

RECENT = 10
MAX_UNKNOWN = 50

State = dict[str, Any]


def blank(kind: str) -> State:
    """The state of a stream that nobody has written to."""
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


def fold(state: State, lines: Iterable[bytes | Commit]) -> State:
    """Fold commits, given as lines or decoded, into ``state``, which is changed and returned."""
    kind = state["kind"]
    for item in lines:
        commit = codec.decode(item) if isinstance(item, bytes) else item
        state["commits"] += 1
        state["created"] = state["created"] or commit.at
        state["updated"] = commit.at
        state["by"] = commit.by
        state["head"] = commit.id
        state["mix"] = (state["mix"] + crc32(commit.id.encode())) & 0xFFFFFFFF
        for event in commit.events:
            meaning = concepts.meaning(kind, event.type)
            if meaning is None:
                _count_unknown(state, event.type)
                continue
            data = upcast.to_current(event, meaning)
            meaning.fold(state, data, commit)
            if meaning.watch is not None:
                meaning.watch(state, data, commit)
            if meaning.headline is not None:
                state["recent"].append(
                    {
                        "at": commit.at,
                        "by": commit.by,
                        "origin": commit.origin,
                        "text": meaning.headline(data),
                    }
                )
        del state["recent"][:-RECENT]
    return state


def _count_unknown(state: State, event_type: str) -> None:
    """Events of a later release or of another kind of stream: kept in the log, counted here."""
    unknown = state["unknown"]
    name = event_type if event_type in unknown or len(unknown) < MAX_UNKNOWN else "others"
    unknown[name] = unknown.get(name, 0) + 1
