"""Building an index from nothing: in a file of its own, which takes the place of the index when it is complete.

Nobody else sees that file, and whatever goes wrong, it is deleted. So it is written without a journal, each page once.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from time import monotonic, sleep

from holdfast.fs import posix
from holdfast.index import database
from holdfast.index.database import BUSY_SECONDS, NEW, node_of

_LOOK_AGAIN = 0.05
"""Seconds between two looks whether another process is ready."""


def build(path: str, fill: Callable[[sqlite3.Connection], object]) -> None:
    """Rebuild the index at ``path`` with ``fill``, unless another process is doing so: wait a few seconds for that
    one. The caller sees by the file whether it is another one now."""
    before = node_of(path)
    fd = posix.open(f"{path}{NEW}-lock", os.O_RDWR | os.O_CREAT)
    try:
        if _is_free(fd) and node_of(path) == before:
            _build(path, fill)
    finally:
        posix.close(fd)


def _is_free(fd: int) -> bool:
    end = monotonic() + BUSY_SECONDS
    while not posix.try_lock(fd):
        if monotonic() > end:
            return False
        sleep(_LOOK_AGAIN)
    return True


def _build(path: str, fill: Callable[[sqlite3.Connection], object]) -> None:
    new = path + NEW
    database.delete_files(new)  # of a process that was killed
    try:
        db = database.create_without_journal(new)
        try:
            fill(db)
            db.execute("PRAGMA journal_mode=WAL")  # while nobody else can have it open
        finally:
            db.close()
        _sync(new)
        database.locked(path, _put_in_place)
    except OSError as error:
        raise sqlite3.OperationalError(f"the new file cannot be written ({error.strerror})") from error
    finally:
        database.delete_files(new)


def _sync(path: str) -> None:
    """A power cut must not leave a file that is in place and not whole: SQLite might not notice."""
    fd = posix.open(path, os.O_RDWR)
    try:
        posix.sync(fd)
    finally:
        posix.close(fd)


def _put_in_place(path: str) -> None:
    if posix.exists(path + NEW):  # else somebody has deleted the index: it may hold what must not be kept
        database.delete_files(path)
        posix.rename(path + NEW, path)
