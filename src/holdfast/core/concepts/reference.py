"""References: files that a session refers to, by relative path, with size and hash. Never a copy."""

from __future__ import annotations

from holdfast.core.codec import Commit, Event
from holdfast.core.paths import checked_path
from holdfast.core.text import one_line
from holdfast.errors import Hint, NotFound, Refused, Use
from holdfast.typed import Any

EVENTS = {"reference.added": 1, "reference.dropped": 1}
STEPS: dict[Any, Any] = {}
KINDS = ("context", "artifact")
MOST = 500


def blank() -> dict[str, Any]:
    return {"references": {"open": {}, "count": 0}}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    references = state["references"]
    references["count"] += data["path"] not in references["open"]
    references["open"][data["path"]] = {
        "path": data["path"],
        "kind": data["kind"],
        "size": data["size"],
        "hash": data["hash"],
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "commit": commit.id,
    }


def _dropped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = state["references"]["open"].get(data["path"])
    # A reference that another clone added concurrently was not seen by the drop: it stays.
    if entry is not None and entry["commit"] in data["saw"]:
        del state["references"]["open"][data["path"]]


FOLDS = {"reference.added": _added, "reference.dropped": _dropped}
HEADLINES = {
    "reference.added": lambda data: f"Referred to {data['kind']} file {one_line(data['path'])}",
    "reference.dropped": lambda data: f"Dropped the reference to {one_line(data['path'])}",
}


def add(state: dict[str, Any], path: str, size: int, digest: str, kind: str = "context") -> list[Event]:
    """Add a reference to a file as it is now; the same path again updates its size and hash."""
    plain = checked_path(path)
    if kind not in KINDS:
        raise Refused(f"The kind must be {' or '.join(KINDS)}, not {str(kind)[:40]!r}; nothing was written.")
    known = state["references"]["open"]
    if plain not in known and len(known) >= MOST:
        raise Refused(
            f"The session refers to {MOST:,} files; nothing was written.",
            hint=Hint("Drop references that no longer matter: ", Use("ref.drop"), "."),
        )
    return [Event("reference.added", {"path": plain, "kind": kind, "size": size, "hash": digest})]


def drop(state: dict[str, Any], path: str) -> list[Event]:
    """Drop a reference; the file itself is not touched."""
    entry = state["references"]["open"].get(checked_path(path))
    if entry is None:
        raise NotFound(
            f"The session does not refer to {path[:120]}.",
            hint=Hint(Use("ref.list"), " shows what it refers to."),
        )
    return [Event("reference.dropped", {"path": entry["path"], "saw": [entry["commit"]]})]
