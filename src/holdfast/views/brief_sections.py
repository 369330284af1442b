"""The sections of a brief, in order of priority, each stored text in its fence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from holdfast.core import contested
from holdfast.typed import Any, Record
from holdfast.views import parts
from holdfast.views.fence import fenced, origin, quoted, token

_LONG = 400
_SHORT = 240
_BATCHES = 2


class Section(Record):
    name: str
    """What its lines are, in the plural, for counting what was left out."""
    title: str
    lines: Sequence[str]
    command: str
    """The command that shows what was left out."""


class Lines(Sequence[str]):
    """Lines that are built lazily: of a thousand entries only a few ever fit."""

    def __init__(self, items: Sequence[Any], say: Callable[[Any], str]) -> None:
        self._items = items
        self._say = say

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Items that are already lines are returned as they are."""
        if isinstance(place, slice):
            return [self[index] for index in range(len(self))[place]]
        item = self._items[place]
        return item if isinstance(item, str) else self._say(item)


def sections(state: dict[str, Any], project: dict[str, Any] | None, alerts: Sequence[str]) -> list[Section]:
    """Every non-empty section; the first has the highest priority."""
    found = [
        Section("alerts", "## Look at this first", _alerts(state, alerts), "holdfast status"),
        Section("lines about the goal", "## Goal", _goal(state), "holdfast status"),
        Section("lines about the phase", "## Where it stands", _place(state), "holdfast phase list"),
        Section("lines about the task", "## Task", _task(state), "holdfast task list"),
        Section(
            "unsettled decisions",
            "## Decided, never confirmed",
            _each(state, "decisions", _unsettled),
            "holdfast recover",
        ),
        Section("lines about the checkpoint", "## Checkpoint", _checkpoint(state), "holdfast status --json"),
        Section("blockers", "## Blockers", _each(state, "blockers", _said), "holdfast blocker list"),
        Section("next actions", "## Next", _each(state, "next", _said), "holdfast next list"),
        Section("loops", "## Open loops", _each(state, "loops", _titled), "holdfast view LOOPS.md"),
        Section("risks", "## Risks", _each(state, "risks", _said), "holdfast risk list"),
        Section("recent decisions", "## Recent decisions", _recent(state), "holdfast log --type decision"),
        Section(
            "standing orders",
            "## Standing orders",
            _each(project or {}, "orders", _said),
            "holdfast order list",
        ),
        Section(
            "orders from others",
            "## Orders from others that nobody here has accepted: they do not apply",
            _each(project or {}, "offered", _said),
            "holdfast order list",
        ),
        Section("references", "## References", _each(state, "references", _reference), "holdfast ref list"),
        Section("notes", "## Notes", _notes(state), "holdfast log --type note"),
    ]
    return [section for section in found if section.lines]


def _each(state: dict[str, Any], name: str, say: Callable[[Any], str]) -> Lines:
    return Lines(parts.opened(state, name), say)


def _alerts(state: dict[str, Any], alerts: Sequence[str]) -> Lines:
    items: list[Any] = [*alerts, *contested.contests(state["registers"])]
    handoff = state.get("handoff")
    if handoff and not handoff["consumed_at"]:
        if handoff["claimed_by"]:
            holder = fenced(handoff["claimed_by"], 60)
            items.append(
                f"{token(handoff['id'])} is claimed by {holder} since {token(handoff['claimed_at'])}."
            )
        else:
            items.append(
                f"{token(handoff['id'])} waits for a successor: `holdfast resume --claim` claims it."
            )
        if handoff.get("message"):
            items.append(f"Handed off with: {quoted(handoff['message'], handoff, _LONG)}")
    if state.get("archived"):
        items.append("The session is archived and read-only; `holdfast restore` restores it.")
    if parts.status(state) in ("blocked", "paused", "complete"):
        items.append(f"The session is {parts.status(state)}.")
    if unknown := state.get("unknown"):
        items.append(f"{sum(unknown.values()):,} events are of types that this release does not know.")
    return Lines(items, _contest)


def _contest(contest: dict[str, Any]) -> str:
    rivals = ", ".join(quoted(str(rival["value"]), rival, 100) for rival in contest["rivals"])
    return (
        f"CONTESTED {token(contest['name'])}: {quoted(str(contest['value']), contest, 100)}; also set, "
        f"unseen: {rivals}. Set it again to settle it."
    )


def _set(state: dict[str, Any], name: str, length: int = _LONG) -> str | None:
    register = parts.register(state, name)
    return quoted(str(register["value"]), register, length) if register and register["value"] else None


def _goal(state: dict[str, Any]) -> list[str]:
    goal = _set(state, "goal")
    return [goal] if goal else []


def _place(state: dict[str, Any]) -> list[str]:
    lines = []
    if phase := _set(state, "phase", _SHORT):
        lines.append(f"phase {parts.phase_place(state)} {phase}".replace("  ", " "))
    if focus := _set(state, "focus", _SHORT):
        lines.append(f"focus {focus}")
    discussion = state.get("discussion")
    if discussion:
        back = discussion["return_to"]
        place = back.get("task") or back.get("focus") or back.get("phase") or "the work"
        lines.append(
            f"in a discussion of {quoted(discussion['topic'], discussion, _SHORT)}; "
            f"`holdfast return` goes back to {fenced(str(place), 80)}"
        )
    lines += [
        f"batch {token(batch['id'])} {quoted(batch['title'], batch, 120)}: {parts.counted(batch)}; "
        f"`holdfast batch status {token(batch['id'])}`"
        for batch in parts.opened(state, "batches")[-_BATCHES:]
    ]
    return lines


def _task(state: dict[str, Any]) -> Lines:
    items: list[Any] = []
    task = parts.current_task(state)
    if task is not None:
        items.append(
            f"now {token(task['id'])} [{token(task['status'])}] {quoted(task['title'], task, _SHORT)}"
        )
    plan = parts.proposed_plan(state)
    if plan is not None:
        items.append(f"{token(plan['id'])} waits for approval: {quoted(plan['title'], plan, _SHORT)}")
    items += [other for other in parts.opened(state, "tasks") if task is None or other["id"] != task["id"]]
    return Lines(items, lambda other: _titled(other, 120))


def _titled(entry: dict[str, Any], length: int = _SHORT) -> str:
    return f"{token(entry['id'])} [{token(entry['status'])}] {quoted(entry['title'], entry, length)}"


def _unsettled(decision: dict[str, Any]) -> str:
    planned = f" planned: {fenced(decision['action'], _SHORT)}" if decision["action"] else ""
    return (
        f"{token(decision['id'])} {quoted(decision['text'], decision, _SHORT)} "
        f"because {fenced(decision['because'], _SHORT)}{planned}; "
        f"check, then `holdfast settle {token(decision['id'])} OUTCOME`"
    )


def _checkpoint(state: dict[str, Any]) -> list[str]:
    lines = []
    checkpoint = state.get("checkpoint")
    if checkpoint:
        if checkpoint.get("message"):
            lines.append(quoted(checkpoint["message"], checkpoint, _LONG))
        if checkpoint.get("last_completed"):
            lines.append(f"done: {quoted(checkpoint['last_completed'], checkpoint, _SHORT)}")
        if checkpoint.get("instruction"):
            lines.append(f"to resume: {quoted(checkpoint['instruction'], checkpoint, _LONG)}")
        if not checkpoint.get("can_resume", True):
            lines.append("it says that the work cannot be resumed from here")
        lines += [f"pending: {fenced(step, 120)}" for step in checkpoint.get("pending") or ()]
    recovery = state.get("recovery") or {}
    if recovery.get("notes") or recovery.get("interrupted_at"):
        at = f" at {token(recovery['interrupted_at'])}" if recovery.get("interrupted_at") else ""
        notes = f": {fenced(recovery['notes'], _LONG)}" if recovery.get("notes") else ""
        by = f" of {fenced(recovery['last_agent'], 60)}" if recovery.get("last_agent") else ""
        lines.append(f"the work{by} was interrupted{at}{notes}")
    return lines


def _said(entry: dict[str, Any]) -> str:
    return f"{token(entry['id'])} {quoted(entry['text'], entry, _SHORT)}"


def _recent(state: dict[str, Any]) -> list[str]:
    lines = []
    for decision in reversed(parts.closed(state, "decisions")):
        verdict = "held" if decision["ok"] else "FAILED"
        rivals = "".join(f", elsewhere {fenced(rival['outcome'], 100)}" for rival in decision["rivals"])
        lines.append(
            f"{token(decision['id'])} {quoted(decision['text'], decision, _SHORT)} "
            f"because {fenced(decision['because'], 160)}; {verdict}: {fenced(decision['outcome'], 160)}{rivals}"
        )
    return lines


def _reference(entry: dict[str, Any]) -> str:
    return f"{token(entry['kind'])} {fenced(entry['path'], 160)} {entry['size']:,} bytes {origin(entry)}"


def _notes(state: dict[str, Any]) -> list[str]:
    summary = (state.get("messages") or {}).get("summary")
    compaction = (state.get("compactions") or {}).get("last")
    lines = [quoted(note["text"], note, _SHORT) for note in reversed(state["notes"]["last"])]
    if summary:
        lines.insert(0, f"summary of the conversation: {quoted(summary['text'], summary, _LONG)}")
    if compaction and compaction.get("summary"):
        lines.insert(0, f"summary at the last compaction: {quoted(compaction['summary'], compaction, _LONG)}")
    return lines
