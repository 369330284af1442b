"""Checkpoints: progress so far, and how to resume from there. The last one counts."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import contested
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, checked_texts, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"checkpoint.saved": 1}
STEPS: dict[Any, Any] = {}
SHOWN = 20
"""How many pending steps and tools the state keeps; the log has all."""


def blank() -> dict[str, Any]:
    return {"checkpoint": None}


def _saved(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "checkpoint", excerpt(data["message"]), data["saw"], commit)
    state["checkpoint"] = {
        "message": excerpt(data["message"]),
        "last_completed": excerpt(data["last_completed"]) if data.get("last_completed") else None,
        "pending": [excerpt(step, 200) for step in data.get("pending", ())][:SHOWN],
        "can_resume": data["can_resume"],
        "instruction": excerpt(data["instruction"]) if data.get("instruction") else None,
        "tools": data.get("tools", [])[:SHOWN],
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "commit": commit.id,
    }
    state["recovery"]["last_agent"] = commit.by
    state["recovery"]["last_action"] = excerpt(data["message"])


FOLDS = {"checkpoint.saved": _saved}
HEADLINES = {"checkpoint.saved": lambda data: f"Checkpoint: {one_line(data['message'])}"}


def save(
    state: dict[str, Any],
    message: str,
    *,
    last_completed: str | None = None,
    pending: Iterable[str] = (),
    can_resume: bool = True,
    instruction: str | None = None,
    tools: Iterable[str] = (),
) -> list[Event]:
    """Save a checkpoint."""
    data: dict[str, Any] = {
        "message": checked_text(message, "message"),
        "can_resume": bool(can_resume),
        "saw": contested.seen(state["registers"], "checkpoint"),
    }
    if last_completed is not None:
        data["last_completed"] = checked_text(last_completed, "last completed step")
    if steps := checked_texts(list(pending), "pending step"):
        data["pending"] = steps
    if instruction is not None:
        data["instruction"] = checked_text(instruction, "resume instruction")
    if names := checked_texts(list(tools), "tool", cap=NAME_CAP):
        data["tools"] = names
    return [Event("checkpoint.saved", data)]
