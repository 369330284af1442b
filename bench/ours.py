"""holdfast itself: the public call that a program makes, and the store underneath it."""

from __future__ import annotations

import os
import sys

from bench.contender import Contender, Racer, missing

FILES = "holdfast files"
FILES_STORE = "holdfast files, store"
SQLITE = "holdfast sqlite"
SQLITE_STORE = "holdfast sqlite, store"
EVENT = "x.bench"
OTHER_WRITER = "0bench00"


def holdfast_missing() -> str | None:
    if reason := missing(("holdfast",)):
        return reason
    import holdfast

    return None if hasattr(holdfast, "open") else "not installed (holdfast.open)"


CONTENDERS: tuple[Contender, ...] = ()
RACERS: tuple[Racer, ...] = ()


def script_path() -> str:
    """The command as it was installed beside this interpreter."""
    return os.path.join(os.path.dirname(sys.executable), "holdfast")


def script_missing() -> str | None:
    return None if os.access(script_path(), os.X_OK) else "not installed (holdfast command)"


def script_workspace(folder: str) -> str:
    return folder
