"""Short ids: ``D-12``, ``LOOP-007``, ``T-3.k7f3q2xw``.

They never collide and never change. The writer that started a session uses plain numbers; the numbers of every other
writer carry its tag. The streams of the project and of users have no owner, so there every number carries one.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import Damaged, Hint, NotFound, Refused, Use
from holdfast.typed import Any

_WIDTH = {"LOOP": 3}
MOST_SKIPPED = 1_000_000
"""How far ahead of the highest known number a new one may be: a forged id must not use up the numbers."""


class Mint:
    """Allocates the short ids of one writer in one stream."""

    def __init__(self, state: dict[str, Any], writer: str, remembered: dict[str, int]) -> None:
        self.given: dict[str, int] = {}
        self._tag = "" if state["starter"] == writer else f".{writer}"
        self._used = state["numbers"].get(self._tag, {})
        self._remembered = remembered

    def __call__(self, prefix: str) -> str:
        highest = max(self._used.get(prefix, 0), self._remembered.get(prefix, 0), self.given.get(prefix, 0))
        self.given[prefix] = highest + 1
        return f"{prefix}-{highest + 1:0{_WIDTH.get(prefix, 1)}d}{self._tag}"


def note(state: dict[str, Any], short_id: str) -> None:
    """Fold: mark a number as used."""
    prefix, _, rest = short_id.partition("-")
    digits, dot, tag = rest.partition(".")
    if digits.isdecimal():
        used = state["numbers"].setdefault(dot + tag, {})
        highest = used.get(prefix, 0)
        if int(digits) > highest + MOST_SKIPPED:
            raise Damaged(f"The number of {prefix} is too far ahead.")
        used[prefix] = max(highest, int(digits))


def resolve(text: str, known: Iterable[str], what: str) -> str:
    """The one id among ``known`` that ``text`` refers to: case, leading zeros and the end of the tag may differ."""
    known = list(known)
    if text in known:
        return text
    wanted = _plain(text)
    matches = [short_id for short_id in known if _plain(short_id) == wanted.removesuffix(".")]
    if not matches:
        matches = [short_id for short_id in known if "." in wanted and _plain(short_id).startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Refused(
            f"{text.rstrip('.')} can mean {', '.join(sorted(matches))}.", hint="Give the id in full."
        )
    raise NotFound(
        f"There is no {what} {text[:80].rstrip('.')}.", hint=Hint(Use("status"), " shows what is open.")
    )


def whole(state: dict[str, Any], text: str) -> str:
    """Prepare ``text`` for ``resolve``: where every number carries a tag, a person may omit it.

    A session without its first commit (a branch that has only a later part) has no starter either, but plain numbers.
    """
    return text if state["starter"] or "." in text else f"{text}."


def given(state: dict[str, Any], text: str, prefix: str) -> str | None:
    """The id with this prefix that ``text`` refers to, if the stream ever allocated it."""
    before, _, rest = text.strip().partition("-")
    digits, dot, tag = rest.partition(".")
    if before.upper() != prefix or not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        return None
    number, mark = int(digits), dot + tag.lower()
    if not 0 < number <= state["numbers"].get(mark, {}).get(prefix, 0):
        return None
    return f"{prefix}-{number:0{_WIDTH.get(prefix, 1)}d}{mark}"


def same(short_id: str, text: str) -> bool:
    """Whether ``text`` is ``short_id`` as a person may type it."""
    known, wanted = _plain(short_id), _plain(text)
    return known == wanted.removesuffix(".") or (wanted.endswith(".") and known.startswith(wanted))


def _plain(short_id: str) -> str:
    prefix, _, rest = short_id.lower().partition("-")
    digits, dot, tag = rest.partition(".")
    return f"{prefix}-{digits.lstrip('0') or digits}{dot}{tag}"
