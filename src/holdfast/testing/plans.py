"""The simplest use of a store: append commits with one text each, and read the texts back."""

from __future__ import annotations

import time

from holdfast.core.codec import Draft, Event, decode
from holdfast.store.protocol import AppendContext, Plan, PreparedCommit, Tail


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def saying(text: str, *, op: str | None = None) -> Plan:
    """A plan that appends one commit with this text."""
    draft = Draft((Event("note.added", {"text": text}),), "ann", "agent", op)

    def plan(context: AppendContext) -> PreparedCommit:
        return PreparedCommit(draft, {})

    return plan


def texts(tail: Tail) -> list[str]:
    """The texts of a tail whose commits were made by ``saying``."""
    return [decode(line).events[0].data["text"] for line in tail.lines]
