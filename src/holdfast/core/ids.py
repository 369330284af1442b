"""Commit ids, and validation of every name that becomes a path.

A commit id is a hybrid logical clock and a writer: ``<ms:12 hex><counter:4 hex>-<writer>``. Ids sort as text
into the canonical order, and a writer that has read a commit always writes a later id, even if its wall clock
is slow.
"""

from __future__ import annotations

from holdfast.errors import Damaged, Hint, InvalidName, Use

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: ids get read aloud
WRITER_LENGTH = 8
ID_LENGTH = 16 + 1 + WRITER_LENGTH
ZERO = "0" * 16 + "-" + "0" * WRITER_LENGTH
LAST = "f" * 16
"""The largest clock value: no later id exists. No real clock reaches it, but a forged segment may contain it."""

_LATEST = int(LAST, 16)
_COUNTER = 16
"""Bits of the counter, below the milliseconds."""
_HEX = b"0123456789abcdef"
_WRITER_CHARACTERS = ALPHABET.encode()
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_NAME_LENGTH = 64
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))]
)


def next_id(last: str | bytes, now_ms: int, writer: str) -> str:
    """The smallest id of ``writer`` that is later than ``last`` and not before the wall clock."""
    global _newest
    known, clock = _newest
    clock = clock + 1 if last is known else int(last[:16], 16) + 1
    wall = now_ms << _COUNTER
    if clock <= wall <= _LATEST:
        clock = wall
    elif clock > _LATEST:
        raise Damaged(
            f"A commit has the largest possible id ({LAST}), so none can follow; nothing was written.",
            hint=Hint(Use("doctor"), " names its file and line. Continue in a new session."),
        )
    commit_id = f"{clock.to_bytes(8, 'big').hex()}-{writer}"  # twice as fast as a format specification
    _newest = (commit_id, clock)
    return commit_id


_newest: tuple[str | bytes, int] = (ZERO, 0)
"""The last id made, and its clock: usually the next id follows it."""


def milliseconds(commit_id: str) -> int:
    """The wall-clock part of an id."""
    return int(commit_id[:12], 16)


MOST_YEARS = 100
"""How far in the future an id may be. Clocks differ by less, and as time passes, ids have room to go on."""
SURELY_PAST = "0200"
"""Ids below, up to the year 2039, need no look at the clock."""
TOO_LATE = f"its id is more than {MOST_YEARS} years in the future"


def is_too_late(commit_id: str, now_ms: float) -> bool:
    """Whether an id is so far in the future that no clock can be the reason. Every writer goes on after the latest id
    that it has read: after the last possible one nobody could write any more."""
    return commit_id >= SURELY_PAST and milliseconds(commit_id) > now_ms + MOST_YEARS * 365 * 86_400_000


def only(text: str, characters: str) -> bool:
    """Whether ``text`` consists of ``characters`` only. No regular expression, because compiling one is slow."""
    return not text.strip(characters)


def is_commit_id(text: str) -> bool:
    return text.isascii() and is_encoded_id(text.encode())


def is_encoded_id(data: bytes) -> bool:
    """The same for an id as bytes of a line; called for every line that is read."""
    clock, _, writer = data.partition(b"-")
    return (
        len(data) == ID_LENGTH
        and len(writer) == WRITER_LENGTH
        and not clock.strip(_HEX)
        and not writer.strip(_WRITER_CHARACTERS)
    )


def is_writer(text: str) -> bool:
    return len(text) == WRITER_LENGTH and only(text, ALPHABET)


def random_text(bits: int, length: int) -> str:
    """``length`` characters of the id alphabet, from random ``bits``."""
    characters = []
    for _ in range(length):
        bits, index = divmod(bits, len(ALPHABET))
        characters.append(ALPHABET[index])
    return "".join(characters)


def checked_name(text: str, what: str = "name") -> str:
    """``text`` itself, if it is safe as the name of a file or folder. All such names are validated here."""
    if (
        not 0 < len(text) <= _NAME_LENGTH
        or not only(text[0], _NAME_CHARACTERS)
        or not only(text, _NAME_CHARACTERS + "._-")
        or text.endswith(".")
        or text.split(".")[0] in _DEVICES
    ):
        raise InvalidName(f"{text[:80]!r} is not a valid {what}.")
    return text


def safe_name(text: str) -> str:
    """A valid name derived from free text such as a person's name; ``user`` if nothing is left."""
    spaced = "".join(c if only(c, _NAME_CHARACTERS) else " " for c in text.lower())
    lowered = "-".join(spaced.split())[:_NAME_LENGTH].strip("-")
    try:
        return checked_name(lowered)
    except InvalidName:
        return checked_name(f"user-{lowered}"[:64].strip("-"))


def is_session_id(text: str) -> bool:
    year, month, day, suffix = text[:4], text[5:7], text[8:10], text[11:]
    return (
        len(text) == 19
        and text[4] == text[7] == text[10] == "-"
        and only(year + month + day, "0123456789")
        and only(suffix, _NAME_CHARACTERS)
    )


def checked_session_id(text: str) -> str:
    if not is_session_id(text):
        raise InvalidName(
            f"{text[:80]!r} is not a session id.", hint="Session ids look like 2026-01-21-a1b2c3d4."
        )
    return text
