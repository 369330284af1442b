"""Commit ids, and every name that may become a path.

A commit id is a hybrid logical clock and a writer: ``<ms:12 hex><counter:4 hex>-<writer>``. Ids sort as text
into the canonical order, and a writer that has read a commit always writes a later id, also when its wall
clock is behind.
"""

from __future__ import annotations

from holdfast.errors import Damaged, Hint, InvalidName, Use

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: ids get read aloud
WRITER_LENGTH = 8
ID_LENGTH = 16 + 1 + WRITER_LENGTH
ZERO = "0" * 16 + "-" + "0" * WRITER_LENGTH
LAST = "f" * 16
"""The clock behind which there is no later id. No honest clock comes near; anybody can write it into a segment."""

_LATEST = int(LAST, 16)
_COUNTER = 16
"""Bits of the clock below the milliseconds."""
_HEX = b"0123456789abcdef"
_WRITER_LETTERS = ALPHABET.encode()
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_NAME_LENGTH = 64
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))]
)


def next_id(last: str | bytes, now_ms: int, writer: str) -> str:
    """The first id of ``writer`` that is later than ``last`` and not before the wall clock."""
    global _newest
    known, clock = _newest
    clock = clock + 1 if last is known else int(last[:16], 16) + 1
    wall = now_ms << _COUNTER
    if clock <= wall <= _LATEST:
        clock = wall
    elif clock > _LATEST:
        raise Damaged(
            f"A commit here has the last id that there can be ({LAST}), so none can follow; nothing was written.",
            hint=Hint(Use("doctor"), " names its file and line. Continue in a new session."),
        )
    commit_id = f"{clock.to_bytes(8, 'big').hex()}-{writer}"  # a format specification takes twice as long
    _newest = (commit_id, clock)
    return commit_id


_newest: tuple[str | bytes, int] = (ZERO, 0)
"""The id that was made last, and its clock: mostly the next one follows it."""


def milliseconds(commit_id: str) -> int:
    """The wall-clock part of an id."""
    return int(commit_id[:12], 16)


def only(text: str, letters: str) -> bool:
    """Whether every character of ``text`` is one of ``letters``. No pattern: patterns take long to compile."""
    return not text.strip(letters)


def is_commit_id(text: str) -> bool:
    return text.isascii() and is_encoded_id(text.encode())


def is_encoded_id(data: bytes) -> bool:
    """The same of an id as it stands in a line; asked of every line that is read."""
    clock, _, writer = data.partition(b"-")
    return (
        len(data) == ID_LENGTH
        and len(writer) == WRITER_LENGTH
        and not clock.strip(_HEX)
        and not writer.strip(_WRITER_LETTERS)
    )


def is_writer(text: str) -> bool:
    return len(text) == WRITER_LENGTH and only(text, ALPHABET)


def random_text(bits: int, length: int) -> str:
    """``length`` letters out of random ``bits``."""
    letters = []
    for _ in range(length):
        bits, index = divmod(bits, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)


def checked_name(text: str, what: str = "name") -> str:
    """``text`` itself, if it may become the name of a file or folder; every such name passes here."""
    if (
        not 0 < len(text) <= _NAME_LENGTH
        or not only(text[0], _LETTERS)
        or not only(text, _LETTERS + "._-")
        or text.endswith(".")
        or text.split(".")[0] in _DEVICES
    ):
        raise InvalidName(f"{text[:80]!r} is not a valid {what}.")
    return text


def safe_name(text: str) -> str:
    """The nearest valid name to a free text such as a person's name; ``user`` if nothing is left."""
    spaced = "".join(letter if only(letter, _LETTERS) else " " for letter in text.lower())
    lowered = "-".join(spaced.split())[:_NAME_LENGTH].strip("-")
    try:
        return checked_name(lowered)
    except InvalidName:
        return checked_name(f"user-{lowered}"[:64].strip("-"))


def is_session_id(text: str) -> bool:
    year, month, day, letters = text[:4], text[5:7], text[8:10], text[11:]
    return (
        len(text) == 19
        and text[4] == text[7] == text[10] == "-"
        and only(year + month + day, "0123456789")
        and only(letters, _LETTERS)
    )


def checked_session_id(text: str) -> str:
    if not is_session_id(text):
        raise InvalidName(
            f"{text[:80]!r} is not a session id.", hint="Session ids look like 2026-01-21-a1b2c3d4."
        )
    return text
