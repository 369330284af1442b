"""Does a commit make sense? Its sum only says that the line is as somebody wrote it.

Whoever can write to a repository can write lines with right sums and any content. Such a commit stays in the log, is
left out of the state, and is named by doctor; all others count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from holdfast.core import codec, ids
from holdfast.core.codec import Commit
from holdfast.errors import Damaged

LONGEST = 200
"""Characters of an actor and of an operation id."""
_BACKSLASH = ord("\\")
"""As a number, which is found in a line ten times as fast as a text."""
_MOMENT = len("2026-01-21T14:30:00.123Z")


def commit_in(line: bytes) -> Commit:
    """The commit in a line whose sum has been checked; raises ``Damaged`` if it makes no sense."""
    commit = codec.decode(line)
    if what := _fault_of(commit) or _fault_in(line, commit):
        raise Damaged(f"A commit makes no sense: {what}.")
    return commit


def checked(commit: Commit) -> Commit:
    """A decoded commit, if its parts make sense; otherwise raises ``Damaged``."""
    if what := _fault_of(commit):
        raise Damaged(f"A commit makes no sense: {what}.")
    return commit


def commits_in(lines: Iterable[bytes]) -> Iterator[Commit]:
    """The commits in lines whose sums have been checked, without those that make no sense."""
    for line in lines:
        try:
            commit = commit_in(line)
        except Damaged:
            continue
        yield commit


def _fault_of(commit: Commit) -> str | None:
    """What is wrong with the parts of a decoded commit, or None. The data of its events is left to their folds."""
    _, at, by, origin, op, events, _ = commit
    if not isinstance(by, str) or not 0 < len(by) <= LONGEST:
        return "by is not the name of an actor"
    if not isinstance(at, str) or len(at) != _MOMENT:
        return "at is not a moment"
    if origin not in codec.ORIGINS:
        return "its origin is none that there is"
    if op is not None and (not isinstance(op, str) or not 0 < len(op) <= LONGEST):
        return "op is not an operation id"
    if not events:
        return "it has no events"
    for kind, data, v in events:
        if not isinstance(kind, str) or not kind or type(v) is not int or v < 1:
            return "an event has no type, or no version"
        value: object = data
        if not isinstance(value, dict):
            return f"the data of {kind[:80]} is not an object"
    return None


def _fault_in(line: bytes, commit: Commit) -> str | None:
    """What is wrong with a line whose commit has sensible parts, or None."""
    if commit.id != codec.id_of(line) or commit.sum != codec.sum_of(line):
        return "it has two ids, or two sums"
    if commit.id.startswith(ids.LAST):
        return "it has the last id that there can be, and no commit can follow it"
    if _BACKSLASH in line and b"\\u" in line and not _is_text(commit):
        return "a text holds half of a surrogate pair"
    if codec.may_be_deep(line) and any(codec.is_deep(event.data) for event in commit.events):
        return f"its data is nested deeper than {codec.MAX_DEPTH} levels"
    return None


def _is_text(commit: Commit) -> bool:
    try:
        json.dumps(commit, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
