"""The bytes of a cache: a line about it and a body, compressed, with a checksum."""

from __future__ import annotations

import json
import zlib

from holdfast.typed import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def pack(top: dict[str, Any], body: bytes) -> bytes:
    """A cache as it is stored."""
    # Compressed, the snapshot of a small session takes one block of the disk and not two.
    packed = zlib.compress(b"\n".join([_encode(top).encode(), body]), 1)
    return b"%08x %s" % (zlib.crc32(packed), packed)


def unpack(data: bytes | None) -> tuple[dict[str, Any], bytes] | None:
    """The line and the body of a stored cache; None if there is none, or anything is wrong with it."""
    if data is None:
        return None
    packed = data[9:]
    try:
        if int(data[:8], 16) != zlib.crc32(packed):
            return None
        line, _, body = zlib.decompress(packed).partition(b"\n")
        top = json.loads(line)
    except (ValueError, zlib.error):
        return None
    return (top, body) if isinstance(top, dict) and "release" in top and "version" in top else None
