"""The decisions of all streams, read from their logs: sessions, also archived ones, and the project."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import anchors, validation
from holdfast.core.codec import Commit
from holdfast.core.concepts.decision import announced_with, exit_code_of, is_choice
from holdfast.core.stream import PROJECT, last_part, owner
from holdfast.store.protocol import archive_of
from holdfast.typed import TYPE_CHECKING, Any, Record

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace

Entry = dict[str, Any]
_EVENT = b'"decision.'
_TEXTS = ("text", "because", "action", "outcome", "revisit_when")


class Wanted(Record):
    """Which decisions are wanted; None matches anything."""

    status: str | None = None
    """``unsettled``, ``settled`` (failed ones too), ``failed`` or ``choice``."""
    stream: str | None = None
    by: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None
    """In lower case."""
    once: str | None = None

    def takes(self, entry: Entry) -> bool:
        """Whether a decision is wanted."""
        if self.status is not None and self.status != entry["status"]:
            return self.status == "settled" and entry["status"] == "failed"
        if self.once is not None and entry["once"] != self.once:
            return False
        if self.by is not None and entry["by"] != self.by:
            return False
        if (self.since is not None and entry["at"] < self.since) or (
            self.until is not None and entry["at"] > self.until
        ):
            return False
        said = (*(entry[key] or "" for key in _TEXTS), *entry["alternatives"])
        return self.text is None or any(self.text in text.lower() for text in said)


def decisions(workspace: Workspace, wanted: Wanted) -> tuple[list[Entry], int]:
    """The wanted decisions with their texts in full, newest first, and how many streams were read."""
    streams = _streams(workspace) if wanted.stream is None else [wanted.stream]
    found = [entry for stream in streams for entry in _of_stream(workspace, stream) if wanted.takes(entry)]
    return sorted(found, key=lambda entry: str(entry["commit"]), reverse=True), len(streams)


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
        "alternatives": data.get("alternatives", []),
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
