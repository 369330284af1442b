"""Verify: are the stored facts still true? Reads the world, executes nothing that is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.checks.finding import Finding, Rule
from holdfast.core import timestamps
from holdfast.core.concepts import fact as facts
from holdfast.core.text import one_line
from holdfast.errors import HoldfastError, NotFound
from holdfast.workspace import soundness
from holdfast.workspace.conditions import Look

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace

GONE = Rule(
    "HF401", "error", "a file that a session refers to is gone", "`holdfast ref drop PATH`, or bring it back."
)
CHANGED = Rule(
    "HF402",
    "warning",
    "a file has changed since it was referred to",
    "Read it again, then `holdfast ref add`.",
)
FALSE = Rule(
    "HF403", "error", "a fact is not true any more", "`holdfast fact drop ID`, or fix what it describes."
)
UNKNOWN = Rule("HF404", "note", "a fact that cannot be checked here", "Run this where the project's git is.")
STALLED = Rule(
    "HF405", "warning", "a task whose worker is silent", "See `holdfast who`, then continue or block it."
)
UNSETTLED = Rule(
    "HF406",
    "warning",
    "a decision that was never confirmed",
    "Check whether it was done, then `holdfast settle`.",
)
WRONG = Rule(
    "HF407", "error", "a saved state that differs from its log", "`holdfast doctor --fix` rebuilds it."
)
RULES = (GONE, CHANGED, FALSE, UNKNOWN, STALLED, UNSETTLED, WRONG)
SILENT_MS = 2 * 3_600_000
"""A worker that wrote nothing for this long is reported."""


def verify(workspace: Workspace, *, now: int, silent: int = SILENT_MS) -> list[Finding]:
    """Every stored fact that no longer holds."""
    found: list[Finding] = []
    present = _present(workspace)
    for stream in workspace.store.streams("sessions/"):
        session = workspace.session("/".join(stream.split("/")[1:]))
        state = session.peek().state
        if state["archived"]:
            continue
        found += _references(workspace, session)
        found += _tasks(session, now, silent, present.get(f"{session.user}/{session.id}", set()))
        found += _decisions(session, now, silent)
    found += list(_facts(workspace))
    wrong = soundness.check(workspace)
    return found + [Finding(WRONG, f".state/{fault.where}", 0, f"{fault.what}.") for fault in wrong]


def _references(workspace: Workspace, session: Session) -> Iterator[Finding]:
    files = workspace.files(session.stream)
    for entry in session.peek().state["references"]["open"].values():
        path = entry["path"]
        try:
            now = files.look(path)
        except NotFound:
            yield Finding(GONE, _shown(path), 0, f"Session {session.id} refers to {path}, which is gone.")
        except HoldfastError as error:
            yield Finding(GONE, _shown(path), 0, f"Session {session.id} refers to {path}: {error.message}")
        else:
            if (now.size, now.hash) != (entry["size"], entry["hash"]):
                yield Finding(CHANGED, _shown(path), 0, f"{path} has changed since {entry['at'][:16]}.")


def _present(workspace: Workspace) -> dict[str, set[str]]:
    """For each session, the presence states of its workers: alive, gone or elsewhere."""
    states: dict[str, set[str]] = {}
    try:
        for record in workspace.presence.who():
            if record.get("session") and not record["me"]:
                states.setdefault(record["session"], set()).add(record["state"])
    except HoldfastError:
        pass  # no presence here: only the time of the last write counts
    return states


def _tasks(session: Session, now: int, silent: int, states: set[str]) -> Iterator[Finding]:
    """A worker that is known to be gone has stopped, however recently it wrote; one that is alive has not."""
    state = session.peek().state
    if not state["updated"]:
        return  # no commit can be read
    if state["completed"] or state["paused"] or states & {"alive", "elsewhere"}:
        return
    quiet = now - timestamps.parse(state["updated"])
    if states != {"gone"} and quiet <= silent:
        return
    why = "its worker is gone" if states == {"gone"} else f"nothing was written since {state['updated'][:16]}"
    for task in state["tasks"]["open"].values():
        if task["status"] == "working":
            yield Finding(
                STALLED,
                f".state/{session.stream}",
                0,
                f"{task['id']} ({one_line(task['title'], 80)}) is in progress, but {why}; "
                f"the last to write was {one_line(str(state['by']), 40)}.",
            )


def _decisions(session: Session, now: int, silent: int) -> Iterator[Finding]:
    for decision in session.peek().state["decisions"]["open"].values():
        if now - timestamps.parse(decision["at"]) > silent:
            yield Finding(
                UNSETTLED,
                f".state/{session.stream}",
                0,
                f"{decision['id']} ({one_line(decision['text'], 80)}) was decided at {decision['at'][:16]}, "
                "and its outcome is unknown.",
            )


def _facts(workspace: Workspace) -> Iterator[Finding]:
    kept = workspace.project.peek().state["facts"]["open"].values()
    checks = []
    for entry in kept:
        if entry["check"] is not None:
            try:
                # A log can come from anywhere: a check outside of the closed set is ignored.
                checks.append((entry, facts.checked_check(entry["check"])))
            except HoldfastError as error:
                yield Finding(UNKNOWN, ".state/project", 0, f"{entry['id']}: {error.message}")
    if not checks:
        return
    look = Look(workspace, [check for _, check in checks])
    for entry, check in checks:
        answer, seen = look.at(check)
        if answer is None:
            yield Finding(
                UNKNOWN, ".state/project", 0, f"{entry['id']} ({one_line(entry['text'], 80)}): {seen}"
            )
        elif not answer:
            yield Finding(
                FALSE, ".state/project", 0, f"{entry['id']} ({one_line(entry['text'], 80)}): {seen}"
            )


def _shown(path: str) -> str:
    return path.replace(os.sep, "/")
