"""The pointer of a worktree: the session that was started or switched to last in it, and who chose it."""

from __future__ import annotations

from functools import lru_cache

from holdfast.core import ids
from holdfast.store.protocol import Store
from holdfast.typed import TYPE_CHECKING, Record
from holdfast.workspace.clock import wall_clock

if TYPE_CHECKING:
    from holdfast.workspace.session import Session

_NOTE = "local/current"


class Pointer(Record):
    """What a pointer says."""

    session: str | None
    """``user/id``; None if there is none."""
    chosen: int = 0
    """When it was chosen outside of every conversation; 0 if a conversation chose it."""


def read(store: Store) -> Pointer:
    """The pointer as it is stored."""
    return _parsed(store.get(_NOTE))


@lru_cache(maxsize=8)  # a server asks before every call
def _parsed(note: bytes | None) -> Pointer:
    name, _, chosen = (note or b"").decode("utf-8", "replace").strip().partition("\n")
    if not ids.is_session_id(name.rpartition("/")[2]):
        return Pointer(None)
    at = chosen.removeprefix("chosen ")
    return Pointer(name, int(at) if at.isascii() and at.isdigit() and len(at) < 16 else 0)


def write(store: Store, session: Session, *, chosen: bool) -> None:
    """Have the pointer lead to a session. A choice outside of every conversation is marked, so that one may follow."""
    mark = f"chosen {wall_clock()}\n" if chosen else ""
    store.put(_NOTE, f"{session.user}/{session.id}\n{mark}".encode())


def remove(store: Store) -> None:
    """Have the pointer lead nowhere."""
    store.put(_NOTE, None)
