"""The decisions of all streams: sessions, also archived ones, and the project.

The index has them. While it lacks a stream, because another process is writing it, the logs are read instead: the list
never lacks a decision that was acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import anchors, validation
from holdfast.core.codec import Commit
from holdfast.core.concepts.decision import announced_with, exit_code_of, is_choice
from holdfast.core.stream import PROJECT, last_part, owner
from holdfast.errors import HoldfastError, Unavailable
from holdfast.index.decisions import Entry, listed
from holdfast.index.decisions import Wanted as Wanted
from holdfast.store.protocol import archive_of
from holdfast.typed import TYPE_CHECKING, Record

if TYPE_CHECKING:
    import sqlite3

    from holdfast.index.catch_up import Coverage
    from holdfast.workspace.workspace import Workspace

_EVENT = b'"decision.'


class DecisionList(Record):
    """Decisions, newest first, with their texts in full."""

    entries: list[Entry]
    counts: dict[str, int]
    """How many there are of each status, also of those beyond the limit."""
    looked_at: int
    """Streams that were looked at."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Streams that could not be read, and why."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def decisions(workspace: Workspace, wanted: Wanted, limit: int = 0) -> DecisionList:
    """The newest decisions that are wanted; ``limit`` 0: all."""

    def ask(db: sqlite3.Connection, held: Coverage) -> DecisionList | None:
        if held.behind:
            return None
        entries, counts = listed(db, wanted, limit)
        if wanted.stream is not None:
            unreadable = tuple(found for found in held.unreadable if found[0] == wanted.stream)
            return DecisionList(entries, counts, 1 - len(unreadable), unreadable)
        looked_at = held.sessions + held.projects
        return DecisionList(entries, counts, looked_at, held.unreadable)

    try:
        found = workspace.index.read(ask)
    except Unavailable:
        found = None
    return found if found is not None else _from_logs(workspace, wanted, limit)


def complete(workspace: Workspace, wanted: Wanted) -> list[Entry]:
    """Every decision that is wanted. Raises an error if a stream cannot be read: it could have one."""
    found = decisions(workspace, wanted)
    for stream, _ in found.unreadable:
        workspace.store.read(stream, None)
    return found.entries


def _from_logs(workspace: Workspace, wanted: Wanted, limit: int) -> DecisionList:
    streams = _streams(workspace) if wanted.stream is None else [wanted.stream]
    found: list[Entry] = []
    unreadable: list[tuple[str, str]] = []
    for stream in streams:
        try:
            found += filter(wanted.takes, _of_stream(workspace, stream))
        except HoldfastError as error:
            unreadable.append((stream, error.message))
    found.sort(key=lambda entry: str(entry["commit"]), reverse=True)
    kinds = [entry["status"] for entry in found]
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    return DecisionList(found[: limit or None], counts, len(streams) - len(unreadable), tuple(unreadable))


def _streams(workspace: Workspace) -> list[str]:
    """Every session, also archived ones, and the project."""
    streams = {*workspace.store.streams("sessions/"), *workspace.store.streams(PROJECT)}
    archive = archive_of(workspace.store)
    if archive is not None:
        streams |= set(archive.archived())
    return sorted(streams)


def _of_stream(workspace: Workspace, stream: str) -> list[Entry]:
    # Most commits hold no decision: their lines are not parsed.
    lines = (line for line in workspace.store.read(stream, None).lines if _EVENT in line)
    made = folded(validation.commits_in(lines))
    return [
        {**entry, "session": last_part(stream), "user": owner(stream), "stream": stream} for entry in made
    ]


def folded(commits: Iterable[Commit]) -> list[Entry]:
    """Every decision in some commits with its outcome, oldest first, with all texts in full."""
    made: dict[str, Entry] = {}
    for commit in commits:
        for event in commit.events:
            data = event.data
            if event.type == "decision.made":
                made[data["id"]] = _made(data, commit)
                if data.get("supersedes") in made:
                    _replaced(made[data["supersedes"]], data["id"])
            elif event.type == "decision.settled" and data["id"] in made:
                _settled(made[data["id"]], data, commit)
    return list(made.values())


def _made(data: Entry, commit: Commit) -> Entry:
    choice = is_choice(data)
    return {
        "id": data["id"],
        "status": "choice" if choice else "unsettled",
        "choice": choice,
        "text": data["text"],
        "because": data["because"],
        "action": data.get("action"),
        "alternatives": data.get("alternatives") or [],
        "revisit_when": data.get("revisit_when"),
        "loop": data.get("loop"),
        "task": data.get("task"),
        "risk": data.get("risk"),
        "supersedes": data.get("supersedes"),
        "superseded_by": None,
        "anchors": anchors.stored(data),
        "at": commit.at,
        "by": commit.by,
        "origin": commit.origin,
        "commit": commit.id,
        "outcome": None,
        "ok": None,
        "settled_at": None,
        "settled_by": None,
        "rivals": [],
        **dict.fromkeys(("done_when", "recovery", "once", "exit_code")),
        **announced_with(data),
    }


def _replaced(entry: Entry, newer: str) -> None:
    """Two clones may have replaced it concurrently: both are named."""
    entry["superseded_by"] = f"{entry['superseded_by']}, {newer}" if entry["superseded_by"] else newer


def _settled(entry: Entry, data: Entry, commit: Commit) -> None:
    outcome = {
        "outcome": data["outcome"],
        "ok": data["ok"],
        "settled_at": commit.at,
        "settled_by": commit.by,
        **exit_code_of(data),
    }
    if entry["outcome"] is None:
        entry.update(outcome, status="settled" if data["ok"] else "failed")
    else:  # two clones settled it: the first outcome counts, as in the state
        entry["rivals"].append(outcome)
