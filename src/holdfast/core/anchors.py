"""Anchors: the place that a decision, a fact or an error is about, so that a reader sees whether it is still the same.

As text: ``src/db.py``, ``src/db.py:40-60``, ``commit:1a2b3c4``, ``branch:main``, ``package:sqlalchemy@2.0.1``, or a
URL. A place in a file is kept with the hash of its lines, never with their text. A URL is text and is never fetched.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.hashing import blake2b
from holdfast.core.ids import only
from holdfast.core.paths import PATH_CAP
from holdfast.core.text import NAME_CAP, checked_text
from holdfast.errors import Refused
from holdfast.typed import Any

Anchor = dict[str, Any]
MOST = 8
"""Anchors of one record."""
FRESH, MOVED, CHANGED, GONE, UNKNOWN = "fresh", "moved", "changed", "gone", "unknown"
"""The place is as it was; the same lines are elsewhere in the file; it differs; it is not there; nobody can tell."""
KINDS = ("path", "commit", "branch", "package", "url")
_KEYS = {
    "path": {"path", "lines", "hash", "first"},
    "commit": {"commit"},
    "branch": {"branch", "commit"},
    "package": {"package", "version"},
    "url": {"url"},
}
_HEX = "0123456789abcdef"
_LAST_LINE = 10_000_000


def parse(text: object) -> Anchor:
    """The anchor that a text names, without what only the world knows: hashes, and the commit of a branch."""
    given = checked_text(text, "anchor", cap=4 * PATH_CAP)
    if given.startswith(("http://", "https://")):
        return {"url": given}
    kind, _, rest = given.partition(":")
    if kind == "commit":
        return {"commit": _commit(rest)}
    if kind == "branch":
        return {"branch": checked_text(rest, "branch", cap=NAME_CAP)}
    if kind == "package":
        name, _, version = rest.rpartition("@") if "@" in rest[1:] else (rest, "", "")
        return {"package": checked_text(name, "package", cap=NAME_CAP), "version": version}
    path, _, place = given.rpartition(":")
    span = _span(place) if path else None
    if span is None:
        return {"path": given}
    return {"path": path, "lines": span}


def _span(text: str) -> list[int] | None:
    """The lines in ``40`` or ``40-60``; None if it is no such thing."""
    first, dash, last = text.partition("-")
    if not _is_number(first) or (dash and not _is_number(last)):
        return None
    span = [int(first), int(last or first)]
    if not 0 < span[0] <= span[1] <= _LAST_LINE:
        raise Refused(f"{text} are not lines of a file; nothing was written.", hint="Write FILE:40-60.")
    return span


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 9


def _commit(text: str) -> str:
    if not 7 <= len(text) <= 64 or not only(text, _HEX):
        raise Refused("A commit must be 7 to 64 hex digits; nothing was written.")
    return text


def label(anchor: Anchor) -> str:
    """The anchor as the text that names it."""
    if "path" in anchor:
        span = anchor.get("lines")
        return f"{anchor['path']}:{place(span)}" if span else str(anchor["path"])
    if "package" in anchor:
        return f"package:{anchor['package']}@{anchor['version']}"
    if "branch" in anchor:
        return f"branch:{anchor['branch']}"
    return f"commit:{anchor['commit'][:12]}" if "commit" in anchor else str(anchor.get("url", ""))


def place(span: Sequence[int]) -> str:
    """``40``, or ``40-60``."""
    return str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}"


def stored(data: dict[str, Any]) -> list[Anchor]:
    """Fold: the anchors of an event. A log can come from anywhere: what is none is left out."""
    found = data.get("anchors")
    return [anchor for anchor in found if _is_one(anchor)][:MOST] if isinstance(found, list) else []


def _is_one(anchor: object) -> bool:
    if not isinstance(anchor, dict):
        return False
    kind = next((kind for kind in KINDS if kind in anchor), None)
    if kind is None or not set(anchor) <= _KEYS["branch" if "branch" in anchor else kind]:
        return False
    if kind == "package" and "version" not in anchor:
        return False
    span = anchor.get("lines")
    if span is not None and not (
        isinstance(span, list)
        and len(span) == 2
        and all(type(line) is int for line in span)
        and 0 < span[0] <= span[1]
    ):
        return False
    return all(isinstance(value, str) for key, value in anchor.items() if key != "lines")


def put(data: dict[str, Any], anchors: list[Anchor]) -> None:
    """Rule: add anchors to an event's data."""
    if len(anchors) > MOST:
        raise Refused(f"There are {len(anchors)} anchors; the limit is {MOST}. Nothing was written.")
    if anchors:
        data["anchors"] = anchors


# -- the text of a file -----------------------------------------------------------------------------------


def lines_of(text: str) -> list[str]:
    """The lines of a file, whatever their endings."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def on_text(anchor: Anchor, text: str) -> Anchor:
    """The anchor with the hash of its lines in a file."""
    lines = lines_of(text)
    first, last = anchor.get("lines") or (1, len(lines))
    if last > len(lines):
        raise Refused(
            f"{anchor['path']} has {len(lines):,} lines, not {last:,}; nothing was written.",
            hint="Name lines that are there.",
        )
    chosen = lines[first - 1 : last]
    return {**anchor, "hash": _hash("\n".join(chosen)), "first": _hash(chosen[0])}


def in_text(anchor: Anchor, text: str) -> tuple[str, list[int] | None]:
    """What became of the lines of an anchor in the present text of its file, and where they are now."""
    lines = lines_of(text)
    span = anchor.get("lines")
    if span is None:
        return (FRESH if _hash("\n".join(lines)) == anchor.get("hash") else CHANGED), None
    count = span[1] - span[0] + 1
    if _fits(lines, span[0] - 1, count, anchor):
        return FRESH, span
    starts = [at for at in range(len(lines) - count + 1) if _fits(lines, at, count, anchor)]
    if not starts:
        return CHANGED, None
    nearest = min(starts, key=lambda at: abs(at - span[0] + 1))
    return MOVED, [nearest + 1, nearest + count]


def _fits(lines: list[str], at: int, count: int, anchor: Anchor) -> bool:
    # The first line decides most places, at the cost of one short hash.
    return (
        at + count <= len(lines)
        and _hash(lines[at]) == anchor.get("first")
        and _hash("\n".join(lines[at : at + count])) == anchor.get("hash")
    )


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
