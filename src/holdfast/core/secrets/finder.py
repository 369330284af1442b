"""Find and redact secrets in text.

An append-only history in git keeps a leaked token for ever, so all input is scanned. ``kinds`` has the rules. The
scan catches accidents; it cannot stop somebody who hides a token on purpose.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

from holdfast.core.secrets.kind import Kind, compiled
from holdfast.core.secrets.kinds import kinds
from holdfast.typed import Any, Record

MIN_KEY = 16

Path = tuple[str | int, ...]

_PLACEHOLDER_START = "[secret:"
_PLACEHOLDER = r"\[secret:[a-z0-9-]{1,40}:[0-9a-f]{8}\]"
_ESCAPES = r"(?:\\[nrtbfv0]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,8}m)\Z"
_ESCAPE_LENGTH = 11
_MARKS = ("://", "_", "-", ":", ".", "/", "=", "$")


class Secret(Record):
    """The position and kind of a secret; never its value."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """The secrets in ``text``, in order, without overlaps. Placeholders of ``redact`` do not count."""
    if len(text) < 8:
        return []
    if _PLACEHOLDER_START in text:
        text = compiled(_PLACEHOLDER).sub(lambda found: "\n" * len(found[0]), text)
    folded = _folded(text)
    hits: list[Secret] = []
    for mark, exact, folding in _needles():
        if mark in text:
            for needle, kind in [pair for pair in exact if pair[0] in text]:
                _search(text, text, kind, needle, hits)
            for needle, kind in [pair for pair in folding if pair[0] in folded]:
                _search(text, folded, kind, needle, hits)
    return _resolved(hits) if len(hits) > 1 else hits


def redact(text: str, key: bytes) -> str:
    """``text`` with a placeholder for each secret: the same secret and key give the same placeholder."""
    if len(key) < MIN_KEY:
        raise ValueError(
            f"the key has {len(key)} bytes; {MIN_KEY} are needed, or placeholders can be guessed"
        )
    # A secret can hide the end of another one, so scan again until nothing is found.
    while secrets := find(text):
        pieces, at = [], 0
        for secret in secrets:
            pieces += [text[at : secret.start], _placeholder(text, secret, key)]
            at = secret.end
        text = "".join([*pieces, text[at:]])
    return text


def find_in(value: Any) -> list[tuple[Path, Secret]]:
    """The secrets in the strings and keys of a JSON value.

    A path to an object means that one of its keys holds the secret. Paths contain no secrets: such a key is named by
    kind only.
    """
    found: list[tuple[Path, Secret]] = []
    stack: list[tuple[Path, str, Any]] = [((), "", value)]
    while stack:
        path, name, item = stack.pop()
        if isinstance(item, str):
            found += [(path, secret) for secret in _find_named(name, item)]
        elif isinstance(item, dict):
            children: list[tuple[Path, str, Any]] = []
            for key, child in item.items():
                in_key = find(key) if isinstance(key, str) else []
                found += [(path, secret) for secret in in_key]
                step = f"{_PLACEHOLDER_START}{in_key[0].kind}]" if in_key else key
                children.append(((*path, step), "" if in_key else str(key), child))
            stack += reversed(children)
        elif isinstance(item, list | tuple):
            stack += reversed([((*path, index), name, child) for index, child in enumerate(item)])
    return found


def redact_in(value: Any, key: bytes) -> Any:
    """A copy of a JSON value with placeholders for the secrets in its strings and keys."""
    top: list[Any] = [None]
    stack: list[tuple[Any, Any, str, Any]] = [(top, 0, "", value)]
    while stack:
        holder, slot, name, item = stack.pop()
        if isinstance(item, str):
            holder[slot] = _redact_named(name, item, key)
        elif isinstance(item, dict):
            copy: dict[Any, Any] = {}
            holder[slot] = copy
            for old, child in item.items():
                new = redact(old, key) if isinstance(old, str) else old
                while new in copy:
                    new += "~"
                copy[new] = None
                stack.append((copy, new, "" if new != old else str(old), child))
        elif isinstance(item, list | tuple):
            holder[slot] = items = [None] * len(item)
            stack += [(items, index, name, child) for index, child in enumerate(item)]
        else:
            holder[slot] = item
    return top[0]


@cache
def _needles() -> list[tuple[str, list[tuple[str, Kind]], list[tuple[str, Kind]]]]:
    """All needles, grouped by a punctuation mark they contain: text without the mark skips the whole group."""
    marks: dict[str, tuple[list[tuple[str, Kind]], list[tuple[str, Kind]]]] = {}
    for kind in kinds():
        for needle in kind.needles:
            mark = next((mark for mark in _MARKS if mark in needle), "")
            marks.setdefault(mark, ([], []))[kind.fold].append((needle, kind))
    return [(mark, *both) for mark, both in marks.items()]


@cache
def _ranks() -> dict[str, int]:
    return {kind.name: rank for rank, kind in reversed(list(enumerate(kinds())))}


def _search(text: str, haystack: str, kind: Kind, needle: str, hits: list[Secret]) -> None:
    match, group, left = None, 0, kind.left
    shifts = (-len(needle),) if kind.after else kind.before
    at = haystack.find(needle)
    while at >= 0:
        resume = at + len(needle)
        for shift in shifts:
            start = at - shift
            if start < 0 or (left and start and text[start - 1] in left and not _after_escape(text, start)):
                continue
            if match is None:
                pattern = compiled(kind.pattern, kind.fold)
                match, group = pattern.match, pattern.groups
            found = match(text, start)
            if found:
                if kind.check(found[group]):
                    hits.append(Secret(kind.name, *found.span(group)))
                # Also past a rejected match: scanning inside it again would be quadratic.
                resume = max(resume, found.end(group))
                break
        at = haystack.find(needle, resume)


def _after_escape(text: str, start: int) -> bool:
    """Whether the character before ``start`` ends an escape, as in ``\\nTOKEN`` of JSON text or ``%3DTOKEN``."""
    window = text[max(0, start - _ESCAPE_LENGTH) : start]
    return ("\\" in window or "%" in window or "\x1b" in window) and compiled(_ESCAPES).search(
        window
    ) is not None


def _folded(text: str) -> str:
    """``text`` in lower case with all offsets unchanged: plain ``lower`` turns one character into two."""
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()


def _resolved(hits: list[Secret]) -> list[Secret]:
    """Merge overlapping hits, named by the longest: dropping the shorter one could leave a part of it."""
    ranks = _ranks()
    hits.sort(key=lambda hit: (hit.start, ranks[hit.kind]))
    merged: list[Secret] = []
    longest = 0
    for hit in hits:
        length = hit.end - hit.start
        if merged and hit.start < merged[-1].end:
            last = merged[-1]
            kind = hit.kind if length > longest else last.kind
            merged[-1] = Secret(kind, last.start, max(last.end, hit.end))
            longest = max(longest, length)
        else:
            merged.append(hit)
            longest = length
    return merged


def _placeholder(text: str, secret: Secret, key: bytes) -> str:
    value = text[secret.start : secret.end].encode("utf-8", "surrogatepass")
    if len(key) > blake2b.MAX_KEY_SIZE:
        key = blake2b(key).digest()
    tag = blake2b(value, key=key, digest_size=4, person=b"holdfast-secret").hexdigest()
    return f"{_PLACEHOLDER_START}{secret.kind}:{tag}]"


def _prefix(name: str) -> str:
    return f'{name}="' if len(name) <= 256 else ""


def _find_named(name: str, text: str) -> list[Secret]:
    """The secrets in ``text`` as the value of ``name``: a password is recognised by its name."""
    prefix = _prefix(name)
    shift = len(prefix)
    return [
        Secret(secret.kind, max(0, secret.start - shift), secret.end - shift)
        for secret in find(prefix + text)
        if secret.end > shift
    ]


def _redact_named(name: str, text: str, key: bytes) -> str:
    prefix = _prefix(name)
    return redact(prefix + text, key)[len(prefix) :]
