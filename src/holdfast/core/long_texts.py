"""Lines without their long texts, for engines that store those as files of their own.

A text is long if its UTF-8 has more than 4,096 bytes. In the stored line ``""`` stands in its place, and the key
``blobs`` names where each text belongs, its hash and its size (docs/format.md). The sum stays that of the full line.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.core import codec
from holdfast.core.codec import BY_AT, TAIL_LENGTH, Detached, Draft
from holdfast.core.hashing import blake2b
from holdfast.typed import Any, Record

LIMIT = 4096
"""Bytes of a text that stays in its line."""
HASH_LENGTH = 64
FOLDER = "blobs"
"""Where the texts of a stream are, in the folder of its segments."""
_BLOBS = b',"blobs":'
_escaped = json.encoder.encode_basestring


class Reference(Record):
    """Where a text belongs, and which one."""

    at: int
    """The byte of the stored line before which the text is inserted, escaped as in JSON."""
    hash: str
    size: int
    """Bytes of its UTF-8."""


def hash_of(text: bytes) -> str:
    """The name of a text."""
    return blake2b(text, digest_size=HASH_LENGTH // 2).hexdigest()


def is_hash(name: str) -> bool:
    return len(name) == HASH_LENGTH and not name.strip("0123456789abcdef")


def is_path(path: str) -> bool:
    """Whether a path (relative to the workspace) is that of a stored text."""
    *folders, folder, name = ["", "", *path.split("/")]
    return folders[2:3] == ["events"] and folder == FOLDER and is_hash(name)


def detach(draft: Draft, whole: bytes) -> tuple[Detached, dict[str, bytes]] | None:
    """The content of a draft without its long texts, and these by their hashes; None if it has none."""
    texts: list[str] = []
    mark = blake2b(whole, digest_size=16).hexdigest()  # cannot be in the content whose hash it is

    def marked(value: Any) -> Any:
        if isinstance(value, str):
            if not _is_long(value):
                return value
            texts.append(value)
            return mark
        if isinstance(value, dict):
            return {key: marked(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [marked(inner) for inner in value]
        return value

    events = tuple([event._replace(data=marked(event.data)) for event in draft.events])
    if not texts:
        return None
    pieces = codec.content_of(draft._replace(events=events)).split(mark.encode())
    named, references, at = {}, [], BY_AT
    for piece, text in zip(pieces, texts, strict=False):
        at += len(piece)
        data = text.encode()
        name = hash_of(data)
        named[name] = data
        references.append(f'[{at},"{name}",{len(data)}]')
    content = Detached(b"".join(pieces) + f',"blobs":[{",".join(references)}]'.encode())
    content.whole = whole
    return content, named


def _is_long(text: str) -> bool:
    return len(text) > LIMIT // 4 and (len(text) > LIMIT or len(text.encode()) > LIMIT)


def references_in(line: bytes) -> list[Reference]:
    """The references of a stored line whose sum has been checked; none if what is there is malformed."""
    end = -TAIL_LENGTH - codec.DETACHED_TAIL
    start = line.rfind(_BLOBS, 0, end)
    try:
        found = [Reference(*entry) for entry in json.loads(line[start + len(_BLOBS) : end])]
        places = [0, *[at for at, _, _ in found], start]
        sizes = [size for _, _, size in found]
        sound = sorted(places) == places and min(sizes) > LIMIT and sum(sizes) <= codec.MAX_LINE
        return found if sound and all(is_hash(name) for _, name, _ in found) else []
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []


def attach(line: bytes, text_of: Callable[[Reference], str]) -> tuple[bytes, bool]:
    """The full line of a stored one, and whether it is the one that was written."""
    start = line.rfind(_BLOBS, 0, -TAIL_LENGTH - codec.DETACHED_TAIL)
    parts, last = [], 0
    for reference in references_in(line):
        parts += [line[last : reference.at], _escaped(text_of(reference))[1:-1].encode()]
        last = reference.at
    body = b"".join([*parts, line[last:start]])
    return body + line[-TAIL_LENGTH:], codec.digest_matches(line, body)
