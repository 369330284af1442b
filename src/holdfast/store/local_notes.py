"""Notes of this machine, for engines whose data is on a server.

``local/…`` belongs to one place: the current session, what a conversation received, which orders its user accepted.
On a server it would be everybody's. So these notes are files below ``$XDG_STATE_HOME/holdfast/<store>`` (else
``~/.local/state``), and the index is there too. Caches of a stream (``local/<kind>/<stream>``) are on the server, where
whoever opens the stream next has use for them and ``forget`` removes them for all.
"""

from __future__ import annotations

import os
from threading import get_ident

from holdfast.core.stream import is_stream_name
from holdfast.errors import Hint
from holdfast.fs import durable, posix
from holdfast.store.oserror import translate_oserror

_PRIVATE = 0o600
_HINT = Hint("Make the folder writable, or set XDG_STATE_HOME to one that is.")


def belongs_here(name: str) -> bool:
    """Whether a note belongs to this machine, and not to the store."""
    return name.startswith("local/") and not is_stream_name(name.rpartition("/")[2].replace("+", "/"))


class LocalNotes:
    """The notes of one store on this machine."""

    __slots__ = ("folder",)

    def __init__(self, store: str) -> None:
        state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
        self.folder = os.path.join(state, "holdfast", store)

    def put(self, name: str, data: bytes | None) -> None:
        path = os.path.join(self.folder, *name.split("/"))
        tag = f"{os.getpid()}-{get_ident()}"
        try:
            if data is None:
                try:
                    posix.unlink(path)
                except (FileNotFoundError, NotADirectoryError):
                    pass
                return
            try:
                durable.replace(posix, path, data, tag=tag, durable=False, mode=_PRIVATE)
            except FileNotFoundError:
                durable.make_folders(posix, os.path.dirname(path))
                durable.replace(posix, path, data, tag=tag, durable=False, mode=_PRIVATE)
        except OSError as error:
            translated = translate_oserror(error, name)
            translated.hint = _HINT
            raise translated from error

    def get(self, name: str) -> bytes | None:
        try:
            return durable.read_whole(posix, os.path.join(self.folder, *name.split("/")))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise translate_oserror(error, name) from error

    def index_path(self) -> str:
        """Where the index is; its folder is made, if it can be."""
        try:
            durable.make_folders(posix, self.folder)
        except OSError:
            return ""  # an index in memory: slower, but it answers
        return os.path.join(self.folder, "index")
