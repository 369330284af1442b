"""Validation of commits. A right checksum only says that a line is as somebody wrote it.

Anybody who can write to a repository can write lines with right checksums and any content. A malformed commit stays in
the log, is left out of the state and is reported by ``doctor``; all other commits count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

from holdfast.core import codec, event_fields, ids, timestamps
from holdfast.core.codec import Commit
from holdfast.errors import Damaged

LONGEST = 200
"""The longest actor and operation id, in characters."""
_BACKSLASH = ord("\\")
"""As an integer: searching bytes for one is ten times as fast."""
_MINUTE = "2026-01-21T14:30:"
_TIMESTAMP = "2026-01-21T14:30:00.123Z"
_TYPE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789._-"
_LONGEST_TYPE = 80
_HIGHEST_VERSION = 9999
_CONTROLS = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)))
"""By code point, as in the views: what is malformed must not depend on the release of Python."""


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


def is_one_line(text: str) -> bool:
    """Whether a name has no control character and no line break."""
    return (text.isascii() and text.isprintable()) or _CONTROLS.isdisjoint(text)


def without_controls(name: str) -> str:
    """A name with spaces in place of control characters."""
    return "".join(" " if character in _CONTROLS else character for character in name)


@lru_cache(maxsize=256)  # a program uses few types, again and again
def _is_type(kind: str) -> bool:
    return 0 < len(kind) <= _LONGEST_TYPE and kind[0] not in "._-" and ids.only(kind, _TYPE_CHARACTERS)


def _is_timestamp(at: str) -> bool:
    return (
        len(at) == len(_TIMESTAMP)
        and at.isascii()
        and _is_minute(at[: len(_MINUTE)])
        and f"{at[17:19]}{at[20:23]}".isdigit()
        and at[17] < "6"
        and at[19] == "."
        and at[23] == "Z"
    )


@lru_cache(maxsize=256)  # many commits share a minute
def _is_minute(text: str) -> bool:
    year, month, day, hour, minute = text[:4], text[5:7], text[8:10], text[11:13], text[14:16]
    return (
        f"{year}-{month}-{day}T{hour}:{minute}:" == text
        and f"{year}{month}{day}{hour}{minute}".isdigit()
        and timestamps.is_day(int(year), int(month), int(day))
        and hour < "24"
        and minute < "60"
    )


def _fault_of(commit: Commit) -> str | None:
    """What is wrong with the fields of a decoded commit and of its events, or None."""
    _, at, by, origin, op, events, _ = commit
    if not isinstance(by, str) or not 0 < len(by) <= LONGEST or not is_one_line(by):
        return "'by' is not an actor name"
    if not isinstance(at, str) or not _is_timestamp(at):
        return "'at' is not a timestamp"
    if not isinstance(origin, str) or origin not in codec.ORIGINS:
        return "the origin is unknown"
    if op is not None and (not isinstance(op, str) or not 0 < len(op) <= LONGEST or not is_one_line(op)):
        return "'op' is not an operation id"
    if not events:
        return "it has no events"
    for kind, data, v in events:
        if not isinstance(kind, str) or not _is_type(kind):
            return "an event has no valid type"
        if type(v) is not int or not 1 <= v <= _HIGHEST_VERSION:
            return "an event has no valid version"
        value: object = data
        if not isinstance(value, dict):
            return f"the data of {kind} is not an object"
        if v == 1 and (field := event_fields.wrong(kind, data)):
            return f"{field!r} of {kind} is not valid"
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
