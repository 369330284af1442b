"""What was put where, so that it can be taken out to the byte: one small file in the user's state folder.

It holds our own pieces of text and no word of anybody's settings.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from holdfast.edge.install.files import read, write
from holdfast.typed import Any

Entry = dict[str, Any]
"""``hosts``, ``made`` (the file is ours), ``folders`` (that were made for it), ``after`` (hash of the file as it was
left), ``pieces``, ``keys``."""


class Ledger:
    """The entries of all files, by path."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        base = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
        self.path = os.path.join(base, "holdfast", "installed.json")
        try:
            found: Any = json.loads(read(self.path) or b"{}")
        except ValueError:
            found = {}
        found = found if isinstance(found, dict) else {}
        self._entries: dict[str, Entry] = {}
        for path, entry in dict(found.get("files") or {}).items():
            if isinstance(entry, dict) and isinstance(entry.get("hosts"), list):
                self._entries[path] = {**_BLANK, **entry}
        self._folders: list[str] = list(found.get("folders") or ())

    def get(self, path: str) -> Entry | None:
        """What is known of a file; None if nothing is."""
        return self._entries.get(path)

    def put(self, path: str, entry: Entry | None) -> None:
        """Remember a file, or forget it; durable when ``save`` returns."""
        if entry is None:
            self._entries.pop(path, None)
        else:
            self._entries[path] = entry

    def save(self) -> None:
        """Write it, or remove it when nothing is left."""
        if self._entries:
            new = missing(os.path.dirname(self.path))
            for folder in new:
                os.mkdir(folder, 0o700)
            self._folders += new
            known = {"folders": self._folders, "files": self._entries}
            write(self.path, (json.dumps(known, indent=1, ensure_ascii=False) + "\n").encode())
        elif os.path.exists(self.path):
            os.unlink(self.path)
            for folder in reversed(self._folders):
                try:
                    os.rmdir(folder)
                except OSError:
                    break  # something else lives there


_BLANK: Entry = {"hosts": [], "made": False, "folders": [], "after": "", "pieces": [], "keys": []}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def missing(folder: str) -> list[str]:
    """The folder and its parents that are not there yet, outermost first."""
    found: list[str] = []
    while folder and not os.path.isdir(folder):
        found.insert(0, folder)
        folder = os.path.dirname(folder)
    return found
