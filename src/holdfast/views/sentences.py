"""What happened, in sentences: an event as ``decided D-3: use WAL because …``, a difference as ``T-1 is now working``.

A template names the fields of an event's data. A part in brackets is left out if one of its fields is empty or missing.
Data of a log that came from anywhere can lack any field: a sentence never fails.
"""

from __future__ import annotations

import json

from holdfast.core.text import one_line
from holdfast.typed import Any

TEMPLATES = {
    "session.started": "started the session: {goal}",
    "session.paused": "paused the session[: {notes}][ (last action: {action})]",
    "session.continued": "continued the session",
    "session.completed": "completed the session[: {outcome}]",
    "session.abandoned": "closed the session as abandoned, unused since {since}",
    "session.stopped": "ended the turn[: {action}]",
    "session.archived": "archived the session",
    "session.restored": "restored the session from the archive",
    "goal.set": "set the goal: {goal}",
    "focus.set": "set the focus: {focus}",
    "status.set": "set the status to {status}",
    "phases.declared": "declared the phases: {phases}",
    "phase.entered": "entered the phase {phase}[ because {because}]",
    "task.added": "added {id}: {title}[ (after {depends_on})]",
    "task.started": "started {id}",
    "task.turned_to": "left the last task[ for {task}]",
    "task.completed": "completed {id}[: {result}]",
    "task.skipped": "skipped {id}[: {reason}]",
    "task.blocked": "blocked {id}[: {reason}]",
    "task.unblocked": "unblocked {id}",
    "plan.proposed": "proposed {id}: {title}",
    "plan.edited": "edited {id}",
    "plan.approved": "approved {id}[: {reason}]",
    "plan.rejected": "rejected {id}[: {reason}]",
    "plan.superseded": "set {id} aside[: {reason}]",
    "decision.made": "decided {id}: {text}[ because {because}][; announced: {action}][ (replaces {supersedes})]",
    "loop.added": "asked {id}: {title}",
    "loop.explored": "started to explore {id}",
    "loop.closed": "closed {id}: {outcome}[ (decision {decision})]",
    "capture.proposed": "captured {id}, not confirmed[, from the {source}]: {text}[ because {because}]",
    "capture.corrected": "corrected {id}: {text}[ because {because}]",
    "capture.confirmed": "confirmed {id}, which became {became}",
    "capture.dropped": "dropped {id}[: {reason}]",
    "risk.added": "saw a[ {severity}] risk, {id}: {text}",
    "risk.closed": "closed {id}: {outcome}",
    "blocker.added": "met a blocker, {id}: {text}",
    "blocker.closed": "closed {id}: {outcome}",
    "next.added": "put next, as {id}: {text}",
    "next.done": "did {id}[: {outcome}]",
    "error.met": "met an error, {id}: {text}[; tried: {tried}]",
    "error.remedied": "remedied {id}: {remedy}",
    "legal.reviewed": "recorded the legal review {id} of {text}: {outcome}",
    "context.compacted": "compacted the context[ ({trigger})][: {summary}]",
    "checkpoint.saved": "saved a checkpoint: {message}[; completed: {last_completed}][; pending: {pending}]",
    "discussion.opened": "opened a discussion: {topic}",
    "discussion.closed": "returned from the discussion[: {summary}]",
    "handoff.made": "handed off the session as {id}[: {message}]",
    "handoff.claimed": "claimed {id}[ as {claimant}]",
    "note.added": "noted: {text}",
    "message.added": "stored a message of the {role}[ ({tool})]: {text}",
    "messages.summarized": "summarized {covers} messages: {text}",
    "reference.added": "referred to the {kind} file {path}[ ({size} bytes)]",
    "reference.dropped": "dropped the reference to {path}",
    "budget.set": "set the token budget to {total}",
    "budget.added": "counted {name}: {tokens} tokens",
    "budget.included": "included {name} in the context",
    "budget.excluded": "excluded {name} from the context",
    "budget.dropped": "dropped {name} from the budget",
    "budget.measured": "measured the context: {used} tokens",
    "budget.crossed": "moved the budget from {from} to {to} ({used} of {total} tokens)",
    "batch.began": "started to run {id}[: {command}]",
    "batch.item-claimed": "took item {item} of {id}",
    "batch.item-done": "finished item {item} of {id}[: {result}]",
    "batch.item-failed": "failed at item {item} of {id}[: {reason}]",
    "batch.released": "released items {items} of {id}",
    "batch.retried": "reset the failed items of {id}",
    "batch.closed": "closed {id} as {outcome}[: {reason}]",
    "import.kept": "kept the text of {file} (part {part} of {parts})",
    "import.ended": "imported {file}: {taken} records, {left} lines skipped",
    "backlog.added": "put {id} on the backlog[ ({priority})]: {title}",
    "backlog.started": "started {id}",
    "backlog.closed": "closed {id} as {outcome}[: {result}]",
    "control.fired": "reported that {control} caught, as {id}: {what}[; outcome: {outcome}]",
    "fact.added": "added the fact {id}: {text}",
    "fact.dropped": "dropped {id}[: {reason}]",
    "order.given": "gave the standing order {id}: {text}",
    "order.lifted": "lifted {id}[: {reason}]",
    "preference.set": "set the preference {key}: {value}",
    "preference.dropped": "dropped the preference {key}",
}
"""The predicate of each event type; the actor is its subject."""

LENGTH = 300
"""Characters of one field in a sentence."""


def sentence(event_type: str, data: dict[str, Any], length: int = LENGTH) -> str:
    """What the actor did, without the actor: ``decided D-3: use WAL because …``."""
    if event_type == "decision.settled":
        how = "" if data.get("ok", True) else " as failed"
        return _filled(f"settled {{id}}{how}: {{outcome}}", data, length)
    if event_type == "budget.measured" and not data.get("used", True):
        return "began a new context"
    if event_type == "batch.created":
        return _filled(f"created {{id}} with {_many(data.get('items'))} items: {{title}}", data, length)
    if event_type == "backlog.edited":
        fields = data.get("set")
        changed = fields if isinstance(fields, dict) else {}
        said = ", ".join(f"{_said(name, 60)}: {_said(value, length)}" for name, value in changed.items())
        return _filled("changed {id}", data, length) + (f": {said}" if said else "")
    if event_type == "git.committed":
        made = _entries(data.get("commits"))
        said = ", ".join(
            f"{_said(entry.get('sha'), 10)} {_said(entry.get('subject'), 100)}" for entry in made
        )
        return one_line(f"committed {said}", length)
    if event_type == "import.took":
        return f"imported {_many(data.get('hashes'))} records"
    if event_type == "secret.allowed":
        found = _entries(data.get("found"))
        kinds = ", ".join(
            f"{_said(entry.get('kind'), 40)} in {_said(entry.get('field'), 60)}" for entry in found
        )
        return f"allowed what looks like a secret: {kinds}"
    template = TEMPLATES.get(event_type)
    if template is not None:
        return _filled(template, data, length)
    shown = {name: value for name, value in data.items() if name != "saw"}
    return f"recorded {event_type}" + (f": {_said(shown, length)}" if shown else "")


def _filled(template: str, data: dict[str, Any], length: int) -> str:
    """The template with its fields; a part in brackets only if all of its fields have a value."""
    parts = []
    for place, piece in enumerate(template.replace("]", "[").split("[")):
        optional = place % 2 == 1
        names = [part.partition("}")[0] for part in piece.split("{")[1:]]
        if optional and any(_empty(data.get(name)) for name in names):
            continue
        parts.append(_with_fields(piece, data, length))
    return "".join(parts)


def _with_fields(piece: str, data: dict[str, Any], length: int) -> str:
    first, *rest = piece.split("{")
    said = [first]
    for part in rest:
        name, _, after = part.partition("}")
        said.append(_said(data.get(name), length) + after)
    return "".join(said)


def _empty(value: object) -> bool:
    return value is None or value in ("", [], {})


def _many(value: object) -> str:
    return f"{len(value):,}" if isinstance(value, (list, tuple)) else "?"


def _entries(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, (list, tuple)) else []


def _said(value: object, length: int = LENGTH) -> str:
    """A value in a sentence."""
    if value is None:
        return "?"
    if isinstance(value, str):
        return one_line(value, length)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)) and all(isinstance(entry, (str, int)) for entry in value):
        return one_line(", ".join(map(str, value)), length)
    return one_line(json.dumps(value, ensure_ascii=False, default=str), length)


# -- differences ------------------------------------------------------------------------------------------


def change(found: dict[str, Any], length: int = 200) -> str:
    """One difference between two states, as ``difference`` gives it."""
    what, how = _name(str(found["what"])), found["change"]
    before, after = found.get("before"), found.get("after")
    if how == "added":
        return f"{what} was added: {_said(after, length)}"
    if how == "closed":
        title = f" ({_said(before, length)})" if before is not None else ""
        verb = "settled" if what.startswith("Decision ") else "closed"
        return f"{what}{title} was {verb}: {_said(after, length)}"
    if how == "removed":
        return f"{what} is gone; it was: {_said(before, length)}"
    if before is None:
        return f"{what} is now: {_said(after, length)}"
    if after is None:
        return f"{what} was cleared; it was: {_said(before, length)}"
    return f"{what} went from {_said(before, length)} to {_said(after, length)}"


def telling(found: dict[str, Any]) -> bool:
    """Whether a difference tells a person anything: not what another one says already, nor a value that is empty."""
    what = str(found["what"])
    if what.startswith(_SAID_ELSEWHERE) or what.endswith(" started"):
        return False
    return not (_empty(found.get("before")) and _empty(found.get("after")))


_SAID_ELSEWHERE = ("recovery last_", "checkpoint message", "checkpoint can_resume", "checkpoint tools")
_NAMES = {
    "own": "The count of programs' own events",
    "compactions count": "The count of compactions",
    "messages count": "The count of messages",
}


def _name(text: str) -> str:
    return _NAMES.get(text) or text[:1].upper() + text[1:].replace("_", " ")
