"""Seals: how a view shows that it was not edited.

A view carries the hash of its own text without the seal, and names the commits that it shows. A view with a valid
seal may be regenerated at any time; one with an invalid seal was edited by a person, truncated by a crash, or merged by
git: this module decides which.
"""

from __future__ import annotations

from holdfast.core import ids
from holdfast.core.hashing import blake2b
from holdfast.typed import Any

MARK = "sealed: "
_LENGTH = 16
_HASH_AT = len(MARK) + ids.ID_LENGTH + len("+00000000 ")
ADDED = _HASH_AT - len(MARK) + _LENGTH
"""Characters that a seal adds to a view."""
_NESTED = ("   ", "  }", "  ]")
"""Lines of JSON that hold no key of the outermost object."""
_SHAPE = str.maketrans(dict.fromkeys("0123456789abcdefghijklmnopqrstuvwxyz", "x"))
"""Makes ids, hashes and timestamps of two versions look the same."""


def sealed(text: str, state: dict[str, Any] | None) -> str:
    """The text with its seal filled in: the first empty ``sealed:`` field gets the hash of the whole, and the
    set of commits that the view shows. The field must come before all stored text."""
    marked = text.replace(MARK, f"{MARK}{_commits(state)} ", 1)
    at = marked.index(MARK) + _HASH_AT
    return marked[:at] + _hash(marked) + marked[at:]


def _commits(state: dict[str, Any] | None) -> str:
    """Which commits are in the state. The latest one is not enough: a merge adds earlier ones."""
    if state is None:
        return f"{ids.ZERO}+{0:08x}"
    return f"{state['head'] or ids.ZERO}+{state['mix']:08x}"


def is_current(found: bytes | None, state: dict[str, Any]) -> bool:
    """Whether a view shows this state and was not edited: it need not be regenerated."""
    if found is None or found.find(f"{MARK}{_commits(state)} ".encode()) != found.find(MARK.encode()):
        return False
    return condition(found) == "intact"


def condition(found: bytes) -> str:
    """The condition of a view.

    ``intact``; ``broken`` (empty, garbage or conflict markers: nothing to keep); ``merged`` (git joined the lines of
    two versions, as its union driver does: seals and timestamps of both are there); or ``edited``. Line endings do not
    count.
    """
    try:
        text = plain(found)
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
    if _hash(text[:start] + text[start + _LENGTH :]) == text[start : start + _LENGTH]:
        return "intact"
    return "merged" if _is_merged(text) else "edited"


def plain(found: bytes) -> str:
    """The text of a view with its original line endings: git may have converted them."""
    return found.decode().replace("\r\n", "\n")


def _is_merged(text: str) -> bool:
    """Whether a field occurs twice that a view has once: before its title, or as a key of its JSON; a second seal can
    be anywhere."""
    fields: set[str] = set()
    titled = False
    for line in text.split("\n"):
        titled = titled or line.startswith("# ")
        name, colon, _ = line.partition(": ")
        if not colon or line.startswith(_NESTED) or (titled and not line.startswith(MARK)):
            continue
        if name in fields:
            return True
        fields.add(name)
    return False


def _head(text: str) -> str:
    at = text.find(MARK) + len(MARK)
    return text[at : at + ids.ID_LENGTH]


def head(found: bytes) -> str:
    """The latest commit that a view shows, by its seal; empty if it has no complete seal, or shows none."""
    text = plain(found)
    at = text.find(MARK)
    named = _head(text) if at >= 0 and len(text) >= at + _HASH_AT + _LENGTH else ""
    return named if ids.is_commit_id(named) and named != ids.ZERO else ""


def is_truncated(found: bytes, whole: str) -> bool:
    """Whether a view is a prefix of ``whole``, as after a power cut; ``whole`` shows the commits that the seal names.
    Without a complete seal it can be of any version: then it looks like the prefix of any other one."""
    text = plain(found)
    if whole.startswith(text):
        return len(text) < len(whole)
    end = whole.index(MARK) + _HASH_AT + _LENGTH
    return len(text) < end and whole[:end].translate(_SHAPE).startswith(text.translate(_SHAPE))


def marker_line(found: bytes) -> int:
    """The line, from 1, of the first conflict marker that a merge left in a file; 0 if there is none."""
    lines = found.splitlines()
    if not any(line.startswith(b">>>>>>> ") for line in lines):
        return 0
    return next((number for number, line in enumerate(lines, 1) if line.startswith(b"<<<<<<< ")), 0)


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_LENGTH // 2).hexdigest()
