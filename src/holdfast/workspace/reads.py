"""How often records are read: counted only if ``config.toml`` asks for it, and stored only in this place.

``[memory] count_reads = true`` counts each time a brief, a search or ``show`` gives a record to somebody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from holdfast.errors import HoldfastError
from holdfast.fs import durable, posix
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace import settings
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.local_lock import LocalLock

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

NOTE = "local/reads/counts"
_SETTING = b"count_reads"


def is_counting(workspace: Workspace) -> bool:
    """Whether reads are counted."""
    try:
        # Most files do not name it: then nothing has to be parsed.
        data = durable.read_whole(posix, os.path.join(workspace.where, settings.NAME))
    except OSError:
        return False
    if _SETTING not in data:
        return False
    memory = settings.read(workspace.where).get("memory")
    return isinstance(memory, dict) and memory.get("count_reads") is True


def count(workspace: Workspace, records: Iterable[tuple[str, str]]) -> None:
    """Count one read of each record: its stream and its id."""
    found = list(records)
    if not found or not is_counting(workspace):
        return
    try:
        with LocalLock(workspace.where, "reads"):
            counted = counts(workspace) or {"since": wall_clock(), "reads": {}}
            reads = counted["reads"]
            for stream, short_id in found:
                key = f"{stream} {short_id}"
                reads[key] = reads.get(key, 0) + 1
            workspace.store.put(NOTE, json.dumps(counted).encode())
    except HoldfastError:
        pass  # only a count: no reason to fail


def counts(workspace: Workspace) -> dict[str, Any] | None:
    """``since`` when reads are counted (milliseconds), and the ``reads`` of each record; None if there is no count."""
    try:
        found = json.loads(workspace.store.get(NOTE) or b"null")
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("reads"), dict) else None
