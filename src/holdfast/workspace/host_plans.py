"""Plans, goals and commits that a host shows us: its task lists become tasks, its plans plans, its commits are linked.

A host reports the same list again and again: each rule writes only what is new, and changes only what hooks wrote.
Tasks that a person or an agent added are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts, contested, similar
from holdfast.core.codec import Event
from holdfast.core.text import both_ends, one_line
from holdfast.typed import TYPE_CHECKING, Any, Record
from holdfast.workspace.capture import NoNews, written

if TYPE_CHECKING:
    from holdfast.workspace.session import Session

MOST = 40
"""Open tasks that one conversation of a host can have here."""
TITLE_LENGTH = 200
PLAN_LENGTH = 8_000
DONE, WORKING, PENDING, GONE = "done", "working", "pending", "gone"
STATUSES = {
    "completed": DONE,
    "complete": DONE,
    "done": DONE,
    "in_progress": WORKING,
    "inprogress": WORKING,
    "working": WORKING,
    "cancelled": GONE,
    "canceled": GONE,
    "deleted": GONE,
}
"""What hosts call the status of a task; anything else is pending."""


class HostTask(Record):
    """One entry of a host's task list."""

    id: str
    """The host's own id; empty if it knows its tasks by their text."""
    title: str
    """Empty if the host did not say it again."""
    status: str = PENDING


def tasks(session: Session, listed: Iterable[HostTask], owner: str, *, whole: bool) -> bool:
    """Take over a host's task list, or with ``whole`` false the change of some of its entries."""
    wanted = {f"{owner}{task.id or similar.key(task.title)}"[:180]: task for task in list(listed)[: 2 * MOST]}

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        entries = state["tasks"]["open"].values()
        mine = {entry["host_id"]: entry for entry in entries if entry.get("host_id", "").startswith(owner)}
        closed = {entry.get("host_id") for entry in state["tasks"]["closed"]}
        titles = {similar.key(entry["title"]) for entry in entries}
        events: list[Event] = []
        working = ""
        room = MOST - len(mine)
        for key, task in wanted.items():
            entry = mine.get(key)
            if entry is not None:
                events += _changed(entry, task)
                working = working or (entry["id"] if task.status == WORKING else "")
            elif task.status in (PENDING, WORKING) and task.title and key not in closed and room > 0:
                if similar.key(task.title) in titles:
                    continue
                room -= 1
                added = concepts.task.add(state, mint, one_line(task.title, TITLE_LENGTH), host_id=key)
                events += added
                working = working or (added[0].data["id"] if task.status == WORKING else "")
        if whole:
            left = [entry for key, entry in mine.items() if key not in wanted]
            events += [_skipped(entry, "no longer in the host's list") for entry in left]
        events += _started(state, working)
        if not events:
            raise NoNews
        return events

    return written(session, rule, None)


def _changed(entry: dict[str, Any], task: HostTask) -> list[Event]:
    if task.status == DONE:
        return [Event("task.completed", {"id": entry["id"]})]
    return [_skipped(entry, "dropped in the host")] if task.status == GONE else []


def _skipped(entry: dict[str, Any], reason: str) -> Event:
    return Event("task.skipped", {"id": entry["id"], "reason": reason})


def _started(state: dict[str, Any], task: str) -> list[Event]:
    """Turn to a task, unless somebody works on one of their own."""
    current = concepts.task.current(state)
    if not task or (current is not None and (current["id"] == task or not current.get("host_id"))):
        return []
    return [Event("task.started", {"id": task, "saw": contested.seen(state["registers"], "task")})]


def plan(session: Session, text: str) -> bool:
    """Record a plan that the user approved in the host."""
    words = both_ends(text.strip(), PLAN_LENGTH)
    title = one_line(words.lstrip("# \t").partition("\n")[0], TITLE_LENGTH)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        known = [*state["plans"]["open"].values(), *state["plans"]["closed"]]
        if not title or any(
            entry["title"] == title and entry["text"][:200] == words[:200] for entry in known
        ):
            raise NoNews
        made = concepts.plan.propose(state, mint, title, words)
        return [*made, Event("plan.approved", {"id": made[0].data["id"], "reason": "approved in the host"})]

    return written(session, rule, None)


def goal(session: Session, text: str) -> bool:
    """Set the goal that a host named, unless a person or an agent has set one."""
    return _set(session, "goal", text, concepts.session.set_goal)


def focus(session: Session, text: str) -> bool:
    """Set the focus to a host's topic, unless a person or an agent has set one."""
    return _set(session, "focus", text, concepts.session.set_focus)


def _set(session: Session, name: str, text: str, put: Any) -> bool:
    said = one_line(text.strip(), TITLE_LENGTH)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        register = state["registers"].get(name)
        if not said or (register and (register["value"] == said or register.get("origin") != "tool")):
            raise NoNews
        events: list[Event] = put(state, said)
        return events

    return written(session, rule, None)


def commits(session: Session) -> bool:
    """Link the commits that were made in this worktree since the session began."""
    from holdfast.core import timestamps
    from holdfast.fs import posix
    from holdfast.git import reflog
    from holdfast.git.refs import find_repository

    repository = find_repository(posix, session.files.project)
    if repository is None:
        return False
    state = session.peek().state
    known = [entry["sha"] for entry in state["git"]["last"]]
    since = timestamps.from_iso(state["created"]) // 1000 if state["created"] else 0
    found = [moved for moved in reflog.made(posix, repository) if moved.seconds >= since]
    places = [place for place, moved in enumerate(found) if moved.sha in known]
    new = [
        concepts.git_commits.Made(moved.sha, moved.subject) for moved in found[max(places, default=-1) + 1 :]
    ]
    if not new:
        return False
    branch = reflog.branch(posix, repository)

    def rule(state: dict[str, Any], mint: Any) -> list[Event]:
        events = concepts.git_commits.add(state, new, branch)
        if not events:
            raise NoNews
        return events

    return written(session, rule, None)
