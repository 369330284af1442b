"""Facts about the project, each with an optional check from a closed set.

A check says what must be true of the world for the fact to hold. It is data and is never executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.core import anchors, collection
from holdfast.core.codec import Commit, Event
from holdfast.core.paths import IN_SESSION, checked_path
from holdfast.core.text import NAME_CAP, checked_text, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any

EVENTS = {"fact.added": 1, "fact.dropped": 1}
STEPS: dict[Any, Any] = {}
MOST = 500

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_HASH = re.compile(r"[0-9a-f]{64}")
_NOT_IN_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|^[-/]|[/.]$")


def blank() -> dict[str, Any]:
    return {"facts": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {"id": data["id"], "text": excerpt(data["text"]), "check": data.get("check")}
    entry["anchors"] = anchors.stored(data)
    collection.add(state, "facts", entry, commit)


def _dropped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    reason = excerpt(data["reason"]) if data.get("reason") else None
    collection.close(state, "facts", data["id"], commit, outcome="dropped", reason=reason)


FOLDS = {"fact.added": _added, "fact.dropped": _dropped}
HEADLINES = {
    "fact.added": lambda data: f"Fact {data['id']}: {one_line(data['text'])}",
    "fact.dropped": lambda data: (
        f"Dropped {data['id']}{': ' + one_line(data['reason']) if data.get('reason') else ''}"
    ),
}


def _project_path(value: object) -> str:
    path = checked_path(value)
    if path.startswith(IN_SESSION):
        raise Refused("The path of a fact must be relative to the project's folder; nothing was written.")
    return path


def _branch(value: object) -> str:
    name = checked_text(value, "branch", cap=NAME_CAP)
    if _NOT_IN_BRANCH.search(name):
        raise Refused(f"{name[:80]!r} is not the name of a branch; nothing was written.")
    return name


def _commit(value: object) -> str:
    name = checked_text(value, "commit", cap=NAME_CAP)
    if not _COMMIT.fullmatch(name):
        raise Refused("A commit must be 7 to 64 hex digits; nothing was written.")
    return name


def _file_hash(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or set(value) != {"path", "hash"}:
        raise Refused('The check file-hash needs {"path": …, "hash": …}; nothing was written.')
    if not isinstance(value["hash"], str) or not _HASH.fullmatch(value["hash"]):
        raise Refused(
            "The hash of a file must be its SHA-256 as 64 lower-case hex digits; nothing was written."
        )
    return {"path": _project_path(value["path"]), "hash": value["hash"]}


CHECKS: dict[str, Callable[[object], Any]] = {
    "branch-exists": _branch,
    "commit-exists": _commit,
    "file-exists": _project_path,
    "file-hash": _file_hash,
    "file-missing": _project_path,
}
"""Each kind of check and its validator."""


def checked_check(check: object) -> dict[str, Any]:
    """``check`` in normal form, if it is one of the closed set: an object with one kind and its value."""
    if not isinstance(check, dict) or len(check) != 1 or next(iter(check)) not in CHECKS:
        raise Refused(f"A check must be an object with one of {', '.join(CHECKS)}; nothing was written.")
    kind, value = next(iter(check.items()))
    return {kind: CHECKS[kind](value)}


def add(
    state: dict[str, Any],
    mint: Callable[[str], str],
    text: str,
    check: dict[str, Any] | None = None,
    at: list[anchors.Anchor] | None = None,
) -> list[Event]:
    """Add a fact; ``at`` the places that it is about."""
    if len(state["facts"]["open"]) >= MOST:
        raise Refused(
            f"There are {MOST} facts already; nothing was written.",
            hint=Hint("Drop some that no longer matter: ", Use("fact.drop"), "."),
        )
    data: dict[str, Any] = {"id": mint("F"), "text": checked_text(text, "fact")}
    if check is not None:
        data["check"] = checked_check(check)
    anchors.put(data, at or [])
    return [Event("fact.added", data)]


def drop(state: dict[str, Any], short_id: str, reason: str | None = None) -> list[Event]:
    """Drop a fact."""
    data = {"id": collection.find(state, "facts", short_id, "fact")["id"]}
    if reason is not None:
        data["reason"] = checked_text(reason, "reason")
    return [Event("fact.dropped", data)]
