"""Small tools for programs that keep their own state in files, and must not lose it.

    from holdfast import kit

    settings = kit.StateFile("state.json", version="2.0.0", defaults={"count": 0})

    @settings.migration("1.0.0", "2.0.0")
    def _(state):
        state["count"] = state.pop("counter", 0)
        return state

    with settings.update() as state:  # locked, migrated, saved when the block ends
        state["count"] += 1

Everything here is plain files that any tool can read. For history, search and several machines there are sessions:
``holdfast.open()``. See docs/howto/kit.md.
"""

from __future__ import annotations

from holdfast.checkpointing import checkpoint
from holdfast.kit.atomic import atomic_write, atomic_write_json
from holdfast.kit.batch_state import (
    BatchState,
    create_batch_state,
    get_next_pending_feature,
    load_batch_state,
    mark_completed,
    mark_failed,
    retry_failed,
    save_batch_state,
)
from holdfast.kit.lock import file_lock
from holdfast.kit.state_file import Loaded, StateFile
from holdfast.kit.tracker import AgentTracker
from holdfast.kit.user_state import UserState

__all__ = [
    "AgentTracker",
    "BatchState",
    "Loaded",
    "StateFile",
    "UserState",
    "atomic_write",
    "atomic_write_json",
    "checkpoint",
    "create_batch_state",
    "file_lock",
    "get_next_pending_feature",
    "load_batch_state",
    "mark_completed",
    "mark_failed",
    "retry_failed",
    "save_batch_state",
]
