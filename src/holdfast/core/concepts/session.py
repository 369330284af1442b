"""A session: one piece of work, with a goal, a focus, a status, and what a successor needs after a break.

A pause is an event in the log; the file ``.continue-here.md`` that shows it is a view.
"""

from __future__ import annotations

from holdfast.core import contested, ids
from holdfast.core.codec import Commit, Event
from holdfast.core.concepts import discussion
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Hint, Refused, Use
from holdfast.typed import Any

EVENTS = {
    "session.started": 1,
    "goal.set": 1,
    "focus.set": 1,
    "status.set": 1,
    "session.paused": 1,
    "session.continued": 1,
    "session.completed": 1,
    "session.abandoned": 1,
    "session.stopped": 1,
    "session.archived": 1,
    "session.restored": 1,
}
STEPS: dict[Any, Any] = {}
MARKS = ("working", "blocked", "awaiting-input")
"""The statuses that ``mark`` sets."""
BY_COMMAND = {
    "discussion": "discuss",
    "paused": "pause",
    "complete": "complete",
    "abandoned": "sessions.close_abandoned",
}
"""The statuses that a command of their own sets."""
CLOSED = ("complete", "abandoned")
"""The statuses of a session that is not continued by itself."""


def blank() -> dict[str, Any]:
    return {
        "session": None,
        "user": None,
        "previous": None,
        "recovery": {"last_agent": None, "last_action": None, "interrupted_at": None, "notes": None},
        "paused": None,
        "completed": None,
        "archived": None,
    }


def _started(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    if state["session"] is None:
        state["session"] = data["session"]
        state["user"] = data["user"]
        state["previous"] = data.get("previous")
        state["starter"] = commit.id[-ids.WRITER_LENGTH :]
    contested.put(state["registers"], "goal", excerpt(data["goal"]), [], commit)
    contested.put(state["registers"], "status", "working", [], commit)


def _goal_set(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "goal", excerpt(data["goal"]), data["saw"], commit)


def _focus_set(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    contested.put(state["registers"], "focus", excerpt(data["focus"]), data["saw"], commit)


def _status_set(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    _status(state, data["status"], data["saw"], commit)


def _paused(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    registers = state["registers"]
    before = contested.value(registers, "status", "working")
    if before != "paused":
        state["paused"] = {"status": before, "at": commit.at, "by": commit.by}
    contested.put(registers, "status", "paused", data["saw"], commit)
    if data.get("notes") is not None:
        contested.put(registers, "recovery_notes", excerpt(data["notes"]), data.get("saw_notes", []), commit)
    last = state["recent"][-1]["text"] if state["recent"] else None
    state["recovery"] = {
        "last_agent": commit.by,
        "last_action": excerpt(data["action"]) if data.get("action") else last,
        "interrupted_at": commit.at,
        "notes": contested.value(registers, "recovery_notes"),
    }


def _continued(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    _status(state, data["status"], data["saw"], commit)
    state["recovery"]["interrupted_at"] = None
    state["recovery"]["last_agent"] = commit.by


def _completed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    _status(state, "complete", data["saw"], commit)
    outcome = excerpt(data["outcome"]) if data.get("outcome") else None
    state["completed"] = {"outcome": outcome, "at": commit.at, "by": commit.by}


def _abandoned(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    _status(state, "abandoned", data["saw"], commit)


def _stopped(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["recovery"]["last_agent"] = commit.by
    state["recovery"]["last_action"] = excerpt(data["action"])


def _archived(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["archived"] = {"at": commit.at, "by": commit.by}


def _restored(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    state["archived"] = None


def _status(state: dict[str, Any], status: str, saw: list[str], commit: Commit) -> None:
    contested.put(state["registers"], "status", status, saw, commit)
    if status != "paused":
        state["paused"] = None
    if status != "complete":
        state["completed"] = None


FOLDS = {
    "session.started": _started,
    "goal.set": _goal_set,
    "focus.set": _focus_set,
    "status.set": _status_set,
    "session.paused": _paused,
    "session.continued": _continued,
    "session.completed": _completed,
    "session.abandoned": _abandoned,
    "session.stopped": _stopped,
    "session.archived": _archived,
    "session.restored": _restored,
}
HEADLINES = {
    "session.started": lambda data: f"Started: {one_line(data['goal'])}",
    "goal.set": lambda data: f"Goal set: {one_line(data['goal'])}",
    "focus.set": lambda data: f"Focus: {one_line(data['focus'])}",
    "status.set": lambda data: f"Status: {data['status']}",
    "session.paused": lambda data: f"Paused{': ' + one_line(data['notes']) if data.get('notes') else ''}",
    "session.continued": lambda data: "Continued",
    "session.completed": lambda data: (
        f"Completed{': ' + one_line(data['outcome']) if data.get('outcome') else ''}"
    ),
    "session.abandoned": lambda data: f"Closed as abandoned, unused since {data['since'][:10]}",
    "session.stopped": lambda data: f"Stopped: {one_line(data['action'])}",
    "session.archived": lambda data: "Archived",
    "session.restored": lambda data: "Restored from the archive",
}


def status_of(state: dict[str, Any]) -> str:
    """The current status."""
    status: str = contested.value(state["registers"], "status", "working")
    return status


def is_unfinished(state: dict[str, Any]) -> bool:
    """Whether there is a session, and nobody has closed it."""
    return bool(state["session"]) and status_of(state) not in CLOSED


def start(
    state: dict[str, Any], session: str, user: str, goal: str, previous: str | None = None
) -> list[Event]:
    """Start a session; ``previous`` is the session that it follows, ``user/id``."""
    if state["session"] is not None:
        raise Refused(f"Session {state['session']} is started already; nothing was written.")
    data = {"session": session, "user": user, "goal": checked_text(goal, "goal")}
    return [Event("session.started", data | ({"previous": previous} if previous else {}))]


def set_goal(state: dict[str, Any], goal: str) -> list[Event]:
    """Change the goal of the session."""
    saw = contested.seen(state["registers"], "goal")
    return [Event("goal.set", {"goal": checked_text(goal, "goal"), "saw": saw})]


def set_focus(state: dict[str, Any], focus: str) -> list[Event]:
    """Set what is being worked on now."""
    saw = contested.seen(state["registers"], "focus")
    return [Event("focus.set", {"focus": checked_text(focus, "focus"), "saw": saw})]


def mark(state: dict[str, Any], status: str) -> list[Event]:
    """Set the status."""
    if status in BY_COMMAND:
        raise Refused(
            f"The status {status} is set by its own command; nothing was written.",
            hint=Hint("Use ", Use(BY_COMMAND[status]), f". To be marked: {', '.join(MARKS)}."),
        )
    if status not in MARKS:
        raise Refused(
            f"{str(status)[:40]!r} is not a status; nothing was written.", hint=f"One of: {', '.join(MARKS)}."
        )
    now = status_of(state)
    if now == "paused" or now in CLOSED:
        raise Refused(
            f"The session is {now}; nothing was written.", hint=Hint(Use("continue"), " resumes it.")
        )
    return [Event("status.set", {"status": status, "saw": contested.seen(state["registers"], "status")})]


def pause(state: dict[str, Any], notes: str | None = None, action: str | None = None) -> list[Event]:
    """Pause the session, with what a successor needs to know."""
    if status_of(state) in CLOSED:
        raise Refused(
            f"The session is {status_of(state)}; nothing was written.",
            hint=Hint(Use("continue"), " resumes it."),
        )
    registers = state["registers"]
    data: dict[str, Any] = {"saw": contested.seen(registers, "status")}
    if notes is not None:
        data["notes"] = checked_text(notes, "notes")
        data["saw_notes"] = contested.seen(registers, "recovery_notes")
    if action is not None:
        data["action"] = checked_text(action, "last action")
    return [Event("session.paused", data)]


def go_on(state: dict[str, Any]) -> list[Event]:
    """Resume the session: into the discussion if it was paused in one, else back from an open discussion."""
    if state["discussion"] is not None and status_of(state) != "paused":
        return discussion.close_discussion(state)
    in_discussion = state["discussion"] is not None and (state["paused"] or {}).get("status") == "discussion"
    status = "discussion" if in_discussion else "working"
    return [
        Event("session.continued", {"status": status, "saw": contested.seen(state["registers"], "status")})
    ]


def complete(state: dict[str, Any], outcome: str | None = None) -> list[Event]:
    """Complete the session."""
    if status_of(state) == "complete":
        raise Refused(
            "The session is complete already; nothing was written.",
            hint=Hint(Use("continue"), " resumes it."),
        )
    if state["discussion"] is not None:
        raise Refused(
            f"A discussion is open: {one_line(state['discussion']['topic'], 80)}. Nothing was written.",
            hint=Hint(Use("return"), " ends it; then complete the session."),
        )
    data: dict[str, Any] = {"saw": contested.seen(state["registers"], "status")}
    if outcome is not None:
        data["outcome"] = checked_text(outcome, "outcome")
    return [Event("session.completed", data)]


def abandon(state: dict[str, Any]) -> list[Event]:
    """Close a session that nobody ended. What is open in it stays open and listed."""
    if state["session"] is None or status_of(state) in CLOSED:
        raise Refused("The session is not open; nothing was written.")
    saw = contested.seen(state["registers"], "status")
    return [Event("session.abandoned", {"saw": saw, "since": state["updated"]})]


def stop(action: str) -> list[Event]:
    """Record that an agent ended its turn, and its last message. Nothing else changes."""
    return [Event("session.stopped", {"action": checked_text(action, "last action")})]


def archive(state: dict[str, Any]) -> list[Event]:
    """Archive a session, read-only. Refused while decisions are unsettled, because an archive would hide them."""
    if state["session"] is None:
        raise Refused("There is no such session; nothing was written.")
    waiting = list(state["decisions"]["open"])
    if waiting:
        raise Refused(
            f"{len(waiting):,} unsettled decision{'s' if len(waiting) != 1 else ''} ({', '.join(waiting[:5])}); "
            "nothing was archived.",
            hint=Hint("Settle them first: ", Use("settle"), "."),
        )
    return [Event("session.archived", {})]


def restore(state: dict[str, Any]) -> list[Event]:
    """Restore a session from the archive."""
    if not state["archived"]:
        raise Refused("The session is not archived; nothing was written.")
    return [Event("session.restored", {})]
