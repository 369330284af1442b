"""A read-only connection to the index of a workspace, for programs that speak SQL."""

from __future__ import annotations

import os
import sqlite3

from holdfast.workspace.workspace import open_workspace


def connect(where: str | os.PathLike[str] | None = None) -> sqlite3.Connection:
    """A read-only SQLite connection to the index of the workspace at ``where``, caught up: tables of sessions, commits,
    decisions and so on, which docs/reference/index.md describes. The caller closes it."""
    with open_workspace(where) as workspace:
        return workspace.index.connect()
