"""The goal of a session that nobody has set: guessed from requests, and refined as the work shows what it is."""

from __future__ import annotations

from holdfast.core import requests
from holdfast.typed import Any
from holdfast.views import parts

PLACEHOLDER = "Work in "
"""How the goal of a session begins that started before anything was asked."""
_REQUESTS = 6
_FILES = 20


def placeholder(folder: str) -> str:
    """The goal of a session in which nothing was asked yet."""
    return f"{PLACEHOLDER}{folder}"


def work_of(state: dict[str, Any]) -> str:
    """The words of a session's work: goal, focus, tasks, open questions, the last requests, the files."""
    asked = [message["text"] for message in state["messages"]["recent"] if message["role"] == "user"]
    titled = [entry["title"] for name in ("tasks", "loops") for entry in parts.opened(state, name)]
    decided = [
        entry["text"] for name in (parts.opened, parts.closed) for entry in name(state, "decisions")[-5:]
    ]
    paths = [entry["path"] for entry in parts.opened(state, "references")[-_FILES:]]
    words = [
        parts.value(state, "goal"),
        parts.value(state, "focus"),
        *titled,
        *decided,
        *asked[-_REQUESTS:],
        *paths,
    ]
    return "\n".join(word[:600] for word in words)


def better_goal(state: dict[str, Any], prompt: str) -> str:
    """The goal that a request states better than the guessed one; empty if it does not, or if the goal was set."""
    if not parts.is_goal_guessed(state):
        return ""
    goal = parts.value(state, "goal")
    is_placeholder = goal.startswith(PLACEHOLDER)
    if not requests.is_better_goal(prompt, goal, work_of(state), placeholder=is_placeholder):
        return ""
    found = requests.goal_of(prompt)
    return found if found != goal else ""
