"""Choosing an engine from a path or URL.

| where | engine |
| --- | --- |
| a folder, or ``file:///absolute/path``, ``file:/absolute/path``, ``file:relative/path`` | files |
| ``sqlite:///relative/path``, ``sqlite:////absolute/path`` | SQLite; slashes as in SQLAlchemy |
| ``postgresql://user@host/database?schema=name`` | PostgreSQL; as libpq takes it, ``postgres:`` too |
| ``memory:`` | memory; every call creates a new, empty store |

Engines are imported when chosen. No message repeats a URL, since a URL may contain a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from holdfast.core import ids
from holdfast.errors import Usage
from holdfast.git.refs import UNSEARCHED, Repository
from holdfast.store.protocol import Store

Clock = Callable[[], int]

_SCHEME = r"(?s)([A-Za-z][A-Za-z0-9+.-]{0,30}):(.*)"


def open_store(where: str, *, clock: Clock, repository: Repository | None = UNSEARCHED) -> Store:
    """The store at ``where``; created if missing. ``repository`` is the one around it, if it is a folder."""
    match = re.fullmatch(_SCHEME, where)
    if match is None:
        return _files(where, clock, repository)
    scheme, rest = match.groups()
    opener = _ENGINES.get(scheme.lower())
    if opener is None:
        known = ", ".join(sorted(_ENGINES))
        raise Usage(
            f"There is no engine for URLs that begin with {scheme.lower()!r}. There are: {known}.",
            hint="A folder whose name has a colon is given as ./name.",
        )
    return opener(rest, clock)


def _memory(rest: str, clock: Clock) -> Store:
    from holdfast.store.memory import MemoryStore

    if rest.strip("/"):
        raise Usage("A memory store has no name: the URL is just memory:")
    bits = int.from_bytes(os.urandom(8), "big")
    return MemoryStore(clock=clock, writer=ids.random_text(bits, ids.WRITER_LENGTH))


def _sqlite(rest: str, clock: Clock) -> Store:
    if not rest.startswith("///") or rest == "///":
        raise Usage(
            "A SQLite URL names a file and no host.",
            hint="sqlite:///relative/path.db has three slashes, sqlite:////absolute/path.db four.",
        )
    path = rest[3:]
    if path == ":memory:":
        raise Usage("SQLite is used for files only.", hint="For a store in memory, the URL is memory:")
    if "?" in path or "\0" in path:
        raise Usage("A SQLite URL takes no options, and its path has no '?' in it.")
    from holdfast.store.sqlite.engine import SqliteStore

    return SqliteStore(path, clock=clock)


def _postgres(rest: str, clock: Clock) -> Store:
    from holdfast.store.postgres.address import parsed
    from holdfast.store.postgres.engine import PostgresStore

    return PostgresStore(parsed(rest), clock=clock)


def is_url(where: str) -> bool:
    """Whether ``where`` is a URL, and not a path."""
    return re.match(_SCHEME, where) is not None


def file_path(where: str) -> str:
    """``where`` itself, or the path in a ``file:`` URL: both mean the same everywhere."""
    scheme, colon, rest = where.partition(":")
    if not colon or scheme.lower() != "file":
        return where
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise Usage("A file URL names a folder on this machine, and no other host.")
        rest = slash + path
    if not rest:
        raise Usage("A file URL names a folder.")
    path = _unquoted(rest)
    if "\0" in path:
        raise Usage("The path of a file URL has no zero byte in it.")
    return f"./{path}" if is_url(path) else path


def _unquoted(text: str) -> str:
    """The text with its percent escapes decoded, without the import time of ``urllib``."""
    if "%" not in text:
        return text
    first, *others = os.fsencode(text).split(b"%")
    found = [first]
    for part in others:
        try:
            found.append(bytes([int(part[:2], 16)]) + part[2:])
        except ValueError:
            found.append(b"%" + part)
    return os.fsdecode(b"".join(found))


def _file_url(rest: str, clock: Clock) -> Store:
    return _files(file_path(f"file:{rest}"), clock)


def _files(folder: str, clock: Clock, repository: Repository | None = UNSEARCHED) -> Store:
    if not folder or "\0" in folder:
        raise Usage("The folder of the workspace has no name.")
    from holdfast.fs import posix
    from holdfast.recovery.files_store import FilesStore

    return FilesStore(folder, clock=clock, fs=posix, repository=repository)


_ENGINES: dict[str, Callable[[str, Clock], Store]] = {
    "memory": _memory,
    "postgres": _postgres,
    "postgresql": _postgres,
    "sqlite": _sqlite,
    "file": _file_url,
}
