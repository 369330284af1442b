"""A session: one piece of work, with a goal."""

from __future__ import annotations

from typing import Any

from holdfast.core import contested, ids
from holdfast.core.commit import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Refused

EVENTS = {"session.started": 1, "goal.set": 1}
STEPS: dict[Any, Any] = {}


def blank() -> dict[str, Any]:
    return {"session": None, "user": None}


def _started(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["session"] = data["session"]
    state["user"] = data["user"]
    state["starter"] = commit.id[-ids.WRITER_LENGTH :]
    contested.put(state["registers"], "goal", excerpt(data["goal"]), [], commit)


def _goal_set(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "goal", excerpt(data["goal"]), data["saw"], commit)


FOLDS = {"session.started": _started, "goal.set": _goal_set}
HEADLINES = {
    "session.started": lambda data: f"Started: {one_line(data['goal'])}",
    "goal.set": lambda data: f"Goal set: {one_line(data['goal'])}",
}


def start(state: dict[str, Any], session: str, user: str, goal: str) -> list[Event]:
    """Begin a session."""
    if state["session"] is not None:
        raise Refused(f"Session {state['session']} has been started before.")
    return [Event("session.started", {"session": session, "user": user, "goal": checked_text(goal, "goal")})]


def set_goal(state: dict[str, Any], goal: str) -> list[Event]:
    """Change what the session is for."""
    saw = contested.seen(state["registers"], "goal")
    return [Event("goal.set", {"goal": checked_text(goal, "goal"), "saw": saw})]
