"""Forks: a SQLite connection must not cross one. Each store closes its own before, and both sides reconnect after."""

from __future__ import annotations

import os
import weakref

from holdfast.store.sqlite import database
from holdfast.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.sqlite.engine import SqliteStore

_open_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_resting: list[list[SqliteStore]] = []


def watch(store: SqliteStore) -> None:
    """Close a store's connection at every fork, for as long as the store is used."""
    _open_stores.add(store)


def _before_fork() -> None:
    stores = sorted(_open_stores, key=id)
    for store in stores:
        store.before_fork()
    database.LOOKING.acquire()  # if another thread held it, the child could never release it
    _resting.append(stores)


def _after_fork() -> None:
    database.LOOKING.release()
    for store in _resting.pop():
        store.after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
