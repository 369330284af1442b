"""Forks: a connection to a server must not be used on both sides of one. The parent keeps it, the child opens one."""

from __future__ import annotations

import os
import weakref

from holdfast.typed import Protocol


class Forkable(Protocol):
    """A store with a connection."""

    def before_fork(self) -> None:
        """Block all other threads."""

    def after_fork(self, *, child: bool) -> None:
        """Let them continue; the child forgets the connection."""


_stores: weakref.WeakSet[Forkable] = weakref.WeakSet()
_forking: list[list[Forkable]] = []


def watch(store: Forkable) -> None:
    """Take care of a store at every fork, for as long as it is used."""
    _stores.add(store)


def _before() -> None:
    stores = sorted(_stores, key=id)
    for store in stores:
        store.before_fork()
    _forking.append(stores)


def _after(*, child: bool) -> None:
    for store in _forking.pop():
        store.after_fork(child=child)


os.register_at_fork(
    before=_before, after_in_parent=lambda: _after(child=False), after_in_child=lambda: _after(child=True)
)
