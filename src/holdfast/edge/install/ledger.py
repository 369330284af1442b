"""The ledger: what was inserted where, so that it can be removed byte for byte. One file in the user's state folder.

It contains our own pieces of text and nothing of anybody's settings.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from holdfast.edge.install.files import read, write
from holdfast.typed import Any

Entry = dict[str, Any]
"""``hosts``, ``made`` (we created the file), ``folders`` (created for it), ``after`` (hash of the file as we left it),
``pieces``, ``keys``."""


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
        """The entry of a file; None if there is none."""
        return self._entries.get(path)

    def put(self, path: str, entry: Entry | None) -> None:
        """Set or delete the entry of a file; durable when ``save`` returns."""
        if entry is None:
            self._entries.pop(path, None)
        else:
            self._entries[path] = entry

    def save(self) -> None:
        """Write the ledger, or remove it when it is empty."""
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
                    break  # the folder is not empty


_BLANK: Entry = {"hosts": [], "made": False, "folders": [], "after": "", "pieces": [], "keys": []}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def missing(folder: str) -> list[str]:
    """The folder and its parents that do not exist yet, outermost first."""
    found: list[str] = []
    while folder and not os.path.isdir(folder):
        found.insert(0, folder)
        folder = os.path.dirname(folder)
    return found
