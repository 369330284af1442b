"""Which engine a place names."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.errors import Usage
from holdfast.store.protocol import Store


def open_store(where: str, *, clock: Callable[[], int]) -> Store:
    """The store at a folder, ``sqlite:///path`` or ``memory:``."""
    from holdfast.store.files import FilesStore

    if where.startswith("memory:"):
        from holdfast.store.memory import MemoryStore

        return MemoryStore(clock=clock)
    if ":" in where.split("/")[0]:
        raise Usage(f"{where.partition(':')[0]} is not an engine.")
    return FilesStore(where, clock=clock)
