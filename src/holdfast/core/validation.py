"""Validation of commits. A right checksum only says that a line is as somebody wrote it.

Anybody who can write to a repository can write lines with right checksums and any content. A malformed commit stays in
the log, is left out of the state and is reported by ``doctor``; all other commits count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from holdfast.core import codec, ids
from holdfast.core.codec import Commit
from holdfast.errors import Damaged

LONGEST = 200
"""The longest actor and operation id, in characters."""
_BACKSLASH = ord("\\")
"""As an integer: searching bytes for one is ten times as fast."""
_TIMESTAMP_LENGTH = len("2026-01-21T14:30:00.123Z")


def commit_in(line: bytes) -> Commit:
    """Decode a line whose checksum has been verified; raises ``Damaged`` if the commit is malformed."""
    commit = codec.decode(line)
    if what := _fault_of(commit) or _fault_in(line, commit):
        raise Damaged(f"Malformed commit: {what}.")
    return commit


def checked(commit: Commit) -> Commit:
    """Return a decoded commit if its fields are valid; otherwise raise ``Damaged``."""
    if what := _fault_of(commit):
        raise Damaged(f"Malformed commit: {what}.")
    return commit


def commits_in(lines: Iterable[bytes]) -> Iterator[Commit]:
    """Decode lines whose checksums have been verified, without malformed commits."""
    for line in lines:
        try:
            commit = commit_in(line)
        except Damaged:
            continue
        yield commit


def _fault_of(commit: Commit) -> str | None:
    """What is wrong with the fields of a decoded commit, or None. The data of its events is left to their folds."""
    _, at, by, origin, op, events, _ = commit
    if not isinstance(by, str) or not 0 < len(by) <= LONGEST:
        return "'by' is not an actor name"
    if not isinstance(at, str) or len(at) != _TIMESTAMP_LENGTH:
        return "'at' is not a timestamp"
    if origin not in codec.ORIGINS:
        return "the origin is unknown"
    if op is not None and (not isinstance(op, str) or not 0 < len(op) <= LONGEST):
        return "'op' is not an operation id"
    if not events:
        return "it has no events"
    for kind, data, v in events:
        if not isinstance(kind, str) or not kind or type(v) is not int or v < 1:
            return "an event has no type or no version"
        value: object = data
        if not isinstance(value, dict):
            return f"the data of {kind[:80]} is not an object"
    return None


def _fault_in(line: bytes, commit: Commit) -> str | None:
    """What is wrong with a line whose commit has valid fields, or None."""
    if commit.id != codec.id_of(line) or commit.sum != codec.sum_of(line):
        return "it has two ids or two checksums"
    if commit.id.startswith(ids.LAST):
        return "it has the largest possible id, so no commit can follow it"
    if _BACKSLASH in line and b"\\u" in line and not _is_text(commit):
        return "a text contains an unpaired surrogate"
    if codec.may_be_deep(line) and any(codec.is_deep(event.data) for event in commit.events):
        return f"its data is nested deeper than {codec.MAX_DEPTH} levels"
    return None


def _is_text(commit: Commit) -> bool:
    try:
        json.dumps(commit, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
