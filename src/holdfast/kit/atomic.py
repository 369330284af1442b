"""Replacing a file as a whole, durably."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.errors import Usage
from holdfast.fs import durable, posix

if TYPE_CHECKING:
    from holdfast.workspace.models import Json

MOST_BYTES = 64 * 1024 * 1024
"""The largest file that is read: a larger one is no state, and would not fit into memory several times."""


def atomic_write(path: str | os.PathLike[str], data: bytes | str, *, mode: int | None = None) -> None:
    """Replace the file at ``path``, or create it, so that a reader or a crash sees the old bytes or the new ones.

    When this returns, the new bytes survive a power cut. Permissions and, where permitted, the owner of the replaced
    file are kept; ``mode`` sets other permissions. A symbolic link stays one: the file that it points to is replaced.
    Text is written as UTF-8. Missing folders are not created.
    """
    replace(target_of(path), encoded(data), f"{os.getpid()}-{threading.get_ident()}", mode)


def atomic_write_json(path: str | os.PathLike[str], value: Json, *, mode: int | None = None) -> None:
    """Replace the file at ``path`` with ``value`` as indented JSON. See ``atomic_write``."""
    atomic_write(path, as_json(value), mode=mode)


def target_of(path: str | os.PathLike[str]) -> str:
    """The absolute path of the file itself, behind any symbolic links."""
    name = os.fspath(path)
    if not name or "\0" in name:
        raise Usage("A path is needed.")
    return os.path.realpath(name)


def encoded(data: bytes | str) -> bytes:
    return data.encode("utf-8") if isinstance(data, str) else bytes(data)


def as_json(value: Json | Mapping[str, object]) -> bytes:
    """Indented JSON with a final line feed. What JSON cannot hold (NaN, sets, other objects) is an error."""
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    except (TypeError, ValueError) as problem:  # a lone surrogate is a ValueError, too
        raise Usage(f"The state cannot be stored as JSON: {problem}.", hint="Nothing was written.") from None


def replace(path: str, data: bytes, tag: str, mode: int | None) -> None:
    durable.replace(posix, path, data, tag=tag, durable=True, mode=mode)
