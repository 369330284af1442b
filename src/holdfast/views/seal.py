"""Seals: how a view shows that nobody has edited it.

A view carries the hash of its own text without the seal. A view whose seal fits may be made anew at any time;
one whose seal does not fit was edited by a person, cut by a crash, or merged by git, and is told apart here.
"""

from __future__ import annotations

from holdfast.core import ids
from holdfast.core.hashing import blake2b
from holdfast.typed import Any

MARK = "sealed: "
_LENGTH = 16
_HASH_AT = len(MARK) + ids.ID_LENGTH + len("+00000000 ")
ADDED = _HASH_AT - len(MARK) + _LENGTH
"""Characters by which a seal makes a view longer."""


def sealed(text: str, state: dict[str, Any] | None) -> str:
    """The text with its seal filled in: the first empty ``sealed:`` field gets the hash of the whole, and the
    set of commits that the view shows. The field must come before all stored text."""
    marked = text.replace(MARK, f"{MARK}{_commits(state)} ", 1)
    at = marked.index(MARK) + _HASH_AT
    return marked[:at] + _hash(marked) + marked[at:]


def _commits(state: dict[str, Any] | None) -> str:
    """Which commits are in the state. The latest one is not enough: a merge brings earlier ones."""
    if state is None:
        return f"{ids.ZERO}+{0:08x}"
    return f"{state['head'] or ids.ZERO}+{state['mix']:08x}"


def is_current(found: bytes | None, state: dict[str, Any]) -> bool:
    """Whether a view shows this state and nobody has edited it: it need not be made anew."""
    if found is None or found.find(f"{MARK}{_commits(state)} ".encode()) != found.find(MARK.encode()):
        return False
    return condition(found) == "intact"


def condition(found: bytes) -> str:
    """``intact``, ``broken`` (empty, garbage or conflict markers: nothing to keep) or ``edited``."""
    try:
        text = found.decode()
    except UnicodeDecodeError:
        return "broken"
    if not text.strip() or "\0" in text:
        return "broken"
    if marker_line(found):
        return "broken"
    at = text.find(MARK)
    if at < 0:
        return "edited"
    start = at + _HASH_AT
    found_hash = text[start : start + _LENGTH]
    return "intact" if _hash(text[:start] + text[start + _LENGTH :]) == found_hash else "edited"


def marker_line(found: bytes) -> int:
    """The line, from 1, in which a conflict begins that a merge left in a file; 0 if there is none."""
    lines = found.splitlines()
    if not any(line.startswith(b">>>>>>> ") for line in lines):
        return 0
    return next((number for number, line in enumerate(lines, 1) if line.startswith(b"<<<<<<< ")), 0)


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_LENGTH // 2).hexdigest()
