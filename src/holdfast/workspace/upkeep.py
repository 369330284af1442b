"""Upkeep: archiving sessions, restoring them, and removing what a retention policy does not keep."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.core import concepts, contested, timestamps
from holdfast.core.text import one_line
from holdfast.errors import Conflict, HoldfastError, Refused, Usage
from holdfast.store.protocol import archive_of
from holdfast.workspace import capture, pointer
from holdfast.workspace.clock import wall_clock
from holdfast.workspace.handle import Handle
from holdfast.workspace.handover import show_handoff
from holdfast.workspace.session import Session
from holdfast.workspace.standing import standing
from holdfast.workspace.workspace import Workspace

DAY = 86_400_000


class Policy(NamedTuple):
    """A retention policy for the archive: a session is removed if any of these says so."""

    older_than: int | None = None
    """Milliseconds since it was last written to."""
    keep: int | None = None
    """How many, the newest first."""
    max_size: int | None = None
    """Bytes, counted from the newest."""


class ArchivedSession(NamedTuple):
    """An archived session, as a report shows it."""

    session: str
    user: str
    goal: str
    updated: str
    size: int
    reason: str
    """Why it goes; empty if it stays."""
    version: int = 0
    """What was looked at: a session that has another version by now stays."""


def archive(workspace: Workspace, name: str | None = None) -> Session:
    """Archive a session: move it to ``history/``, read-only, its segments joined into one.

    Order: the event is in the log, the pointer is cleared, the data is in its new place, and only then is the old
    place removed. Repeating it after a crash completes it.
    """
    session = workspace.session(name)
    if not session.peek().state["archived"]:
        session.commit(lambda state, mint: concepts.session.archive(state))
        workspace.publish()
    here = f"{session.user}/{session.id}"
    try:
        if workspace.current() == here:
            pointer.remove(workspace.store)
        engine = archive_of(workspace.store)
        if engine is not None:
            engine.archive(session.stream)
    except HoldfastError as error:
        raise error.after(
            f"{here} is archived (read-only), but its files are not in history/ yet:"
        ) from error
    show_handoff(session)
    return session


def restore(workspace: Workspace, name: str) -> Session:
    """Restore a session from the archive and make it the current one; joined segments stay in place."""
    session = workspace.session(name)
    session.commit(lambda state, mint: concepts.session.restore(state))
    workspace.make_current(session, "Restored")
    return session


def archived(workspace: Workspace) -> list[Session]:
    """The archived sessions, last written first."""
    streams = set(workspace.store.streams("sessions/"))
    engine = archive_of(workspace.store)
    if engine is not None:
        streams |= set(engine.archived())
    found = [Session(workspace, stream) for stream in sorted(streams)]
    put_away = [session for session in found if session.peek().state["archived"]]
    return sorted(put_away, key=lambda session: (session.peek().head, session.id), reverse=True)


def plan_prune(workspace: Workspace, policy: Policy) -> list[ArchivedSession]:
    """What a policy would remove, and what it keeps; nothing is changed. Only archived sessions are considered."""
    if policy == Policy():
        raise Refused("A policy is needed: an age, a number or a size. Nothing was removed.")
    now = wall_clock()
    report: list[ArchivedSession] = []
    total = 0
    for place, session in enumerate(archived(workspace)):
        state = session.peek().state
        size = _size(workspace, session)
        total += size
        reason = ""
        if policy.older_than is not None and now - timestamps.parse(state["updated"]) > policy.older_than:
            reason = f"older than {policy.older_than / DAY:g} days"
        elif policy.keep is not None and place >= policy.keep:
            reason = f"more than {policy.keep:,} sessions"
        elif policy.max_size is not None and total > policy.max_size:
            reason = f"more than {policy.max_size:,} bytes"
        goal = one_line(contested.value(state["registers"], "goal", ""), 80)
        seen = session.peek().version
        report.append(ArchivedSession(session.id, session.user, goal, state["updated"], size, reason, seen))
    return report


def prune(workspace: Workspace, policy: Policy) -> list[ArchivedSession]:
    """Remove archived sessions that the policy does not keep; the project's log says which, before they go.

    Somebody may restore a session meanwhile: one that has changed since the policy was applied to it stays.
    """
    report = plan_prune(workspace, policy)
    going = [kept for kept in report if kept.reason]
    stayed: set[tuple[str, str]] = set()
    for start in range(0, len(going), 100):
        some = going[start : start + 100]
        names = ", ".join(f"{kept.user}/{kept.session}" for kept in some)
        try:
            workspace.project.note(f"Pruned {len(some)} archived sessions: {names}")
            changed = [kept for kept in some if not _removed(workspace, kept)]
            if changed:
                names = ", ".join(f"{kept.user}/{kept.session}" for kept in changed)
                workspace.project.note(f"Not pruned, because they changed meanwhile: {names}")
        except HoldfastError as error:
            raise error.after("The archive is not pruned, or not wholly:") from error
        stayed |= {(kept.user, kept.session) for kept in changed}
    if going:
        workspace.index.delete()  # no file may keep what was removed, and deleted rows leave traces
    return [k._replace(reason="") if (k.user, k.session) in stayed else k for k in report]


def _removed(workspace: Workspace, kept: ArchivedSession) -> bool:
    """Remove an archived session; False, and nothing is changed, if somebody wrote to it since it was looked at."""
    try:
        workspace.store.forget(f"sessions/{kept.user}/{kept.session}", kept.version)
    except Conflict:
        return False
    if workspace.current() == f"{kept.user}/{kept.session}":
        pointer.remove(workspace.store)
    return True


class ClosedSession(NamedTuple):
    """A session that nobody ended, closed as abandoned."""

    session: str
    unsettled: int
    updated_at: str


def close_abandoned(workspace: Workspace, user: str | None = None) -> list[ClosedSession]:
    """Close every session that nobody ended and nobody works on; what is open in it stays listed."""
    closed = []
    for name in workspace.sessions(user=user):
        state = Handle(workspace, f"sessions/{name}").peek().state
        if standing(workspace, name, state) == "abandoned?" and capture.abandoned(workspace, name):
            closed.append(ClosedSession(name, len(state["decisions"]["open"]), state["updated"]))
    return closed


def rotate(
    workspace: Workspace, *, idle: int, policy: Policy | None = None, abandoned: bool = False
) -> dict[str, Any]:
    """One round of upkeep: archive closed sessions that were idle for ``idle`` milliseconds, and remove what the
    policy does not keep from the archive. With ``abandoned``, sessions that nobody ended are closed first; they have
    been idle since their last commit before that."""
    now = wall_clock()
    closed = close_abandoned(workspace) if abandoned else []
    idle_since = {each.session: each.updated_at for each in closed}
    moved, waiting = [], []
    for stream in workspace.store.streams("sessions/"):
        session = Session(workspace, stream)
        state = session.peek().state
        half_done = bool(state["archived"]) and archive_of(workspace.store) is not None
        if not half_done and (state["archived"] or concepts.session.is_unfinished(state)):
            continue
        since = idle_since.get(f"{session.user}/{session.id}", state["updated"])
        if not half_done and now - timestamps.parse(since) < idle:
            continue
        try:
            archive(workspace, f"{session.user}/{session.id}")
            moved.append(f"{session.user}/{session.id}")
        except Refused as refusal:
            waiting.append({"session": f"{session.user}/{session.id}", "why": refusal.message})
    report = prune(workspace, policy) if policy is not None and policy != Policy() else []
    return {
        "closed": [each._asdict() for each in closed],
        "archived": moved,
        "waiting": waiting,
        "pruned": [k._asdict() for k in report if k.reason],
    }


def _size(workspace: Workspace, session: Session) -> int:
    engine = archive_of(workspace.store)
    if engine is not None:
        return engine.size_of(session.stream)
    return sum(len(line) + 1 for line in workspace.store.read(session.stream).lines)


def parse_size(text: str) -> int:
    """The bytes in ``500``, ``10k``, ``50MB``, ``1g``."""
    plain = text.strip().lower().removesuffix("b")
    scale = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(plain[-1:], 1)
    digits = plain[:-1] if scale > 1 else plain
    if not digits.isdigit():
        raise Usage(f"{text!r} is not a size.", hint="Write it like 500k, 50MB or 2G.")
    return int(digits) * scale
