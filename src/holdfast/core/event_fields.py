"""The grammar of every field of every event: what may enter the state.

A right checksum does not make data right: anybody who can write to a repository can write lines with right checksums.
Ids, enumerations, keys, counts and references to other commits have a grammar of their own; text stays free, because
every view fences it. A field of an event that fails its grammar makes the commit malformed (``core.validation``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from holdfast.core import ids
from holdfast.errors import HoldfastError
from holdfast.typed import Any

Grammar = Callable[[Any], bool]
Rules = tuple[frozenset[str], dict[str, Grammar]]

LARGEST = (1 << 53) - 1
"""The largest integer that every JSON reader reads exactly."""
MOST_IDS = 1000
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_HEX = _DIGITS + "abcdef"
_MOST_DIGITS = 15
_NAME = 400
"""Twice what a command takes: the secrets gate may have replaced a part by a longer placeholder."""
_ROLE = 120
_STATUSES = ("working", "blocked", "awaiting-input", "discussion", "paused", "complete", "abandoned")


def short_id(value: Any) -> bool:
    """``D-12``, ``LOOP-007``, ``T-3.k7f3q2xw``."""
    if type(value) is not str or len(value) > 40:
        return False
    prefix, _, rest = value.partition("-")
    digits, dot, tag = rest.partition(".")
    return (
        0 < len(prefix) <= 8
        and ids.only(prefix, _CAPITALS)
        and 0 < len(digits) <= _MOST_DIGITS
        and ids.only(digits, _DIGITS)
        and (ids.is_writer(tag) if dot else True)
    )


def text(value: Any) -> bool:
    return type(value) is str


def name(value: Any) -> bool:
    """Free text that is short: the name of a phase, a tag, a tool."""
    return type(value) is str and 0 < len(value) <= _NAME


def whole(value: Any) -> bool:
    """A whole number that is not negative."""
    return type(value) is int and 0 <= value <= LARGEST


def truth(value: Any) -> bool:
    return type(value) is bool


def commit_ids(value: Any) -> bool:
    """Ids of commits that the writer had seen."""
    return type(value) is list and all(type(one) is str and ids.is_commit_id(one) for one in value)


def anything(value: Any) -> bool:
    """Plain JSON: shown as data only, or checked again where it is read, so that a later release can add kinds."""
    del value
    return True


def _hash(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= 128 and ids.only(value, _HEX)


def _path(value: Any) -> bool:
    from holdfast.core.paths import checked_path

    try:
        return bool(checked_path(value) == value)
    except HoldfastError:
        return False


def _key(value: Any) -> bool:
    try:
        return type(value) is str and bool(ids.checked_name(value))
    except HoldfastError:
        return False


def _timestamp(value: Any) -> bool:
    from holdfast.core import timestamps

    try:
        return type(value) is str and timestamps.from_iso(value) is not None
    except HoldfastError:
        return False


def _session(value: Any) -> bool:
    return type(value) is str and ids.is_session_id(value)


def _role(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= _ROLE


def _word(value: Any) -> bool:
    """A short word of ours, such as the name of a format."""
    return type(value) is str and 0 < len(value) <= 60 and ids.only(value, _LETTERS)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._ -"


def _through(value: Any) -> bool:
    return value == "" or (type(value) is str and ids.is_commit_id(value))


def one_of(*allowed: str) -> Grammar:
    return lambda value: type(value) is str and value in allowed


def many(grammar: Grammar, most: int = 100_000) -> Grammar:
    return lambda value: type(value) is list and len(value) <= most and all(map(grammar, value))


def record(fields: dict[str, Grammar]) -> Grammar:
    """An object with these fields and no others."""
    rules = _rules(fields)
    known = rules[1].keys()
    return lambda value: type(value) is dict and known >= value.keys() and _wrong(rules, value) is None


def _rules(fields: dict[str, Grammar]) -> Rules:
    """Which fields must be there, and the grammar of each; a name that ends in ``?`` may be missing or null."""
    needed = frozenset(field for field in fields if field[-1] != "?")
    rules = {f.rstrip("?"): grammar if f in needed else _or_null(grammar) for f, grammar in fields.items()}
    return needed, rules


def _or_null(grammar: Grammar) -> Grammar:
    return lambda value: value is None or grammar(value)


def _wrong(rules: Rules, data: dict[str, Any]) -> str | None:
    needed, grammars = rules
    for field, value in data.items():
        grammar = grammars.get(field)
        if grammar is not None and not grammar(value):
            return field
    return None if needed <= data.keys() else min(needed - data.keys())


def mapping(key: Grammar, grammar: Grammar) -> Grammar:
    return lambda value: (
        type(value) is dict and all(key(name) and grammar(inner) for name, inner in value.items())
    )


def _ranges(value: Any) -> bool:
    return type(value) is list and all(
        type(part) is list and len(part) == 2 and all(map(whole, part)) and part[0] <= part[1]
        for part in value
    )


def _limits(value: Any) -> bool:
    return type(value) is list and len(value) == 3 and all(map(whole, value))


def _restored(grammar: Grammar) -> Grammar:
    return lambda value: (
        type(value) is list
        and len(value) == 2
        and (value[0] is None or grammar(value[0]))
        and commit_ids(value[1])
    )


_texts = many(text)
_names = many(name)
_short_ids = many(short_id, MOST_IDS)
_status = one_of(*_STATUSES)
_priority = one_of("critical", "high", "medium", "low")
_claimant = mapping(name, anything)
_place: dict[str, Grammar] = {"task?": short_id, "focus?": text, "status?": _status, "phase?": name}
_zone = one_of("comfortable", "deliberate", "warning", "stop")
_backlog: dict[str, Grammar] = {
    "title": text,
    "priority": _priority,
    "epic?": name,
    "tags": _names,
    "depends_on": _short_ids,
}
_edited = {f"{field.rstrip('?')}?": grammar for field, grammar in _backlog.items()}
_edited["status?"] = one_of("todo", "doing", "blocked")
_ID: dict[str, Grammar] = {"id": short_id}
_SAW: dict[str, Grammar] = {"saw": commit_ids}
_AT: dict[str, Grammar] = {"at?": _timestamp}
"""When it happened, if that was before it was recorded: imports."""

FIELDS: dict[str, dict[str, Grammar]] = {
    "backlog.added": _ID | _backlog,
    "backlog.edited": {
        **_ID,
        "set": record(_edited),
        "saw": mapping(name, commit_ids),
    },
    "backlog.started": _ID | _SAW,
    "backlog.closed": {**_ID, "outcome": one_of("done", "dropped"), "result?": text},
    "batch.created": {
        **_ID,
        "title": name,
        "retries": whole,
        "sequence": truth,
        "items": many(anything),
        "done?": _ranges,
    },
    "batch.began": {**_ID, "command": _texts},
    "batch.item-claimed": {**_ID, "item": whole, "claimant": _claimant},
    "batch.item-done": {**_ID, "item": whole, "result?": anything},
    "batch.item-failed": {**_ID, "item": whole, "reason": text},
    "batch.released": {**_ID, "items": many(whole)},
    "batch.retried": _ID,
    "batch.closed": {**_ID, "outcome": one_of("abandoned", "complete"), "reason?": text},
    "blocker.added": {**_ID, "text": text},
    "blocker.closed": {**_ID, "outcome": text},
    "budget.set": {**_SAW, "total": whole, "limits": _limits},
    "budget.added": {**_SAW, "name": name, "tokens": whole, "included": truth},
    "budget.included": {**_SAW, "name": name},
    "budget.excluded": {**_SAW, "name": name},
    "budget.dropped": {**_SAW, "name": name},
    "budget.measured": {"used": whole, "window": whole, "model?": name},
    "budget.crossed": {"from": _zone, "to": _zone, "used": whole, "total": whole},
    "capture.proposed": {
        **_ID,
        "kind": one_of("decision", "constraint", "open", "in-flight"),
        "text": text,
        "because?": text,
        "said?": text,
        "source": one_of("summary", "message", "prompt", "subagent"),
        "host?": name,
        "agent?": name,
        **_AT,
    },
    "capture.corrected": {**_ID, "text": text, "because?": text},
    "capture.confirmed": {**_ID, "became": short_id},
    "capture.dropped": {**_ID, "reason?": text},
    "checkpoint.saved": {
        **_SAW,
        "message": text,
        "can_resume": truth,
        "last_completed?": text,
        "pending?": _texts,
        "instruction?": text,
        "tools?": _names,
    },
    "context.compacted": {"summary?": text, "trigger?": name, **_AT},
    "control.fired": {
        **_ID,
        "control": name,
        "what": text,
        "outcome?": text,
        "caught_by?": name,
        "notes?": text,
    },
    "decision.made": {
        **_ID,
        "text": text,
        "because": text,
        "action?": text,
        "alternatives?": _texts,
        "revisit_when?": text,
        "loop?": short_id,
        "task?": short_id,
        "risk?": short_id,
        "supersedes?": short_id,
        "choice?": truth,
        "anchors?": anything,
    },
    "decision.settled": {**_ID, "outcome": text, "ok": truth},
    "discussion.opened": {**_SAW, "topic": text, "return_to": record(_place), "saw_status": commit_ids},
    "discussion.closed": {
        **_SAW,
        "restored": record({key: _restored(rule) for key, rule in _place.items()}),
        "summary?": text,
    },
    "error.met": {**_ID, "text": text, "tried?": text, "anchors?": anything, **_AT},
    "error.remedied": {**_ID, "remedy": text},
    "fact.added": {**_ID, "text": text, "check?": anything, "anchors?": anything},
    "fact.dropped": {**_ID, "reason?": text},
    "focus.set": {**_SAW, "focus": text},
    "git.committed": {"commits": many(record({"sha": _hash, "subject": text}), MOST_IDS), "branch?": name},
    "goal.set": {**_SAW, "goal": text},
    "handoff.made": {**_ID, **_SAW, "saw_claim": commit_ids, "message?": text},
    "handoff.claimed": {**_ID, **_SAW, "claimant": name},
    "import.kept": {
        "file": name,
        "hash": _hash,
        "part": whole,
        "parts": whole,
        "encoding": _word,
        "text": text,
    },
    "import.took": {"hashes": many(_hash)},
    "import.ended": {"file": name, "hash": _hash, "format": _word, "taken": whole, "left": whole},
    "legal.reviewed": {**_ID, "text": text, "outcome": text},
    "loop.added": {**_ID, "title": text, "context?": text},
    "loop.explored": _ID,
    "loop.closed": {**_ID, "outcome": text, "decision?": short_id},
    "message.added": {
        "role": _role,
        "text": text,
        "tool?": name,
        "file?": _path,
        "size?": whole,
        "hash?": _hash,
        **_AT,
    },
    "messages.summarized": {**_SAW, "text": text, "through": _through, "covers": whole},
    "next.added": {**_ID, "text": text},
    "next.done": {**_ID, "outcome?": text},
    "note.added": {"text": text},
    "order.given": {**_ID, "text": text},
    "order.lifted": {**_ID, "reason?": text},
    "phases.declared": {
        "phases": many(name, MOST_IDS),
        "transitions?": mapping(name, many(name, MOST_IDS)),
        "saw?": commit_ids,
    },
    "phase.entered": {**_SAW, "phase": name, "because?": text},
    "plan.proposed": {**_ID, "title": text, "text?": text},
    "plan.edited": {**_ID, **_SAW, "text": text},
    "plan.approved": {**_ID, "reason?": text},
    "plan.rejected": {**_ID, "reason": text},
    "plan.superseded": {**_ID, "reason?": text},
    "preference.set": {**_SAW, "key": _key, "value": text},
    "preference.dropped": {**_SAW, "key": _key},
    "reference.added": {
        "path": _path,
        "kind": one_of("context", "artifact"),
        "size": whole,
        "hash": _hash,
        **_AT,
    },
    "reference.dropped": {**_SAW, "path": _path},
    "risk.added": {**_ID, "text": text, "severity?": one_of("low", "medium", "high", "critical")},
    "risk.closed": {**_ID, "outcome": text},
    "secret.allowed": {
        "found": many(record({"kind": name, "field": text}), MOST_IDS),
        "count": whole,
        "how": name,
    },
    "session.started": {"session": _session, "user": _key, "goal": text, "previous?": name},
    "session.paused": {**_SAW, "notes?": text, "saw_notes?": commit_ids, "action?": text},
    "session.continued": {**_SAW, "status": _status},
    "session.completed": {**_SAW, "outcome?": text},
    "session.abandoned": {**_SAW, "since": text},
    "session.stopped": {"action": text, **_AT},
    "session.archived": {},
    "session.restored": {},
    "status.set": {**_SAW, "status": _status},
    "task.added": {**_ID, "title": text, "depends_on?": _short_ids, "host_id?": name, **_AT},
    "task.started": _ID | _SAW,
    "task.turned_to": {**_SAW, "task?": short_id},
    "task.completed": {**_ID, "result?": text},
    "task.skipped": {**_ID, "reason": text},
    "task.blocked": {**_ID, "reason": text},
    "task.unblocked": _ID | _SAW,
}
"""Event type to the grammar of each field of its version 1. A name that ends in ``?`` may be missing or null."""


@lru_cache(maxsize=128)
def _rules_of(event_type: str) -> Rules | None:
    fields = FIELDS.get(event_type)
    return None if fields is None else _rules(fields)


def wrong(event_type: str, data: dict[str, Any]) -> str | None:
    """The first field of an event that is missing or fails its grammar, or None. Other fields are never read."""
    rules = _rules_of(event_type)
    return None if rules is None else _wrong(rules, data)
