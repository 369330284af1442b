"""A bounded collection in the state: the open entries, the last few closed ones, and counts for the rest.

``{"open": {id: entry}, "closed": [entry], "opened": n, "done": n}``. Tasks, loops, risks, blockers and others have
this shape.
"""

from __future__ import annotations

from holdfast.core import short_ids
from holdfast.core.codec import Commit
from holdfast.errors import NotFound, Refused
from holdfast.typed import Any

MAX_OPEN = 1000
CLOSED = 10

Collection = dict[str, Any]


def blank() -> Collection:
    return {"open": {}, "closed": [], "opened": 0, "done": 0}


def add(state: dict[str, Any], name: str, entry: dict[str, Any], commit: Commit) -> None:
    """Fold: add an entry, with the actor, time, origin and id of its commit."""
    collection = state[name]
    short_ids.note(state, entry["id"])
    collection["opened"] += 1
    collection["open"][entry["id"]] = {
        **entry,
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "commit": commit.id,
    }


def change(state: dict[str, Any], name: str, short_id: str, **fields: Any) -> dict[str, Any] | None:
    """Fold: update fields of an open entry; None if another clone closed it."""
    entry: dict[str, Any] | None = state[name]["open"].get(short_id)
    if entry is not None:
        entry.update(fields)
    return entry


def close(
    state: dict[str, Any], name: str, short_id: str, commit: Commit, **fields: Any
) -> dict[str, Any] | None:
    """Fold: close an entry. If two clones closed it, the second outcome is kept as a rival of the first."""
    collection = state[name]
    entry: dict[str, Any] | None = collection["open"].pop(short_id, None)
    closing = {**fields, "closed_at": commit.at, "closed_by": commit.by}
    if entry is not None:
        entry.update(closing, rivals=[])
        collection["done"] += 1
        collection["closed"].append(entry)
        del collection["closed"][:-CLOSED]
        return entry
    for closed in collection["closed"]:
        if closed["id"] == short_id:
            closed["rivals"] = [*closed["rivals"], closing][-CLOSED:]
    return None


def check_room(state: dict[str, Any], name: str, what: str) -> None:
    """Rule: refuse to open more entries than the state may hold."""
    if len(state[name]["open"]) >= MAX_OPEN:
        raise Refused(
            f"{MAX_OPEN:,} {what} are open; nothing was written.", hint=f"Close some of the {what} first."
        )


def find(state: dict[str, Any], name: str, text: str, what: str) -> dict[str, Any]:
    """Rule: the open entry that ``text`` refers to; the error says if it is closed already."""
    collection = state[name]
    text = short_ids.whole(state, text)
    try:
        entry: dict[str, Any] = collection["open"][
            short_ids.resolve(text, collection["open"], f"open {what}")
        ]
        return entry
    except NotFound:
        for closed in collection["closed"]:
            if short_ids.same(closed["id"], text):
                raise Refused(
                    f"{closed['id']} is closed already, at {closed['closed_at']} by {closed['closed_by']}. "
                    "Nothing was written."
                ) from None
        raise


def known(state: dict[str, Any], name: str, text: str, prefix: str, what: str) -> str:
    """Rule: the full id of an entry, open or closed, even if the state keeps nothing of it but its number."""
    if name not in state:
        raise Refused(f"There are no {name} in this stream; nothing was written.")
    collection = state[name]
    ids = [*collection["open"], *(closed["id"] for closed in collection["closed"])]
    try:
        return short_ids.resolve(text, ids, what)
    except NotFound:
        given = short_ids.given(state, text, prefix)
        if given is None:
            raise
        return given
