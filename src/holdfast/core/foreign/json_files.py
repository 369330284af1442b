"""Read ``state.json`` of a session folder, ``session-state.json`` of the governance contract, and batch states."""

from __future__ import annotations

import json
from collections.abc import Callable
from json.decoder import JSONDecodeError
from typing import Any

from holdfast.core.foreign import Left, Reading, Record
from holdfast.core.foreign.positions import Placed, entries, members

_TEXT_LISTS = {
    "decisions": "decision",
    "open_risks": "risk",
    "blocked_by": "blocker",
    "next_actions": "next",
    "artifacts": "reference",
    "legal_reviews": "legal",
}


def read_session_state(text: str) -> Reading:
    """Read the contract: eight required fields and three runtime fields."""

    def take(member: Placed) -> Reading:
        if member.name == "goal":
            yield from _text(member, "goal")
        elif member.name == "current_phase":
            yield from _text(member, "phase")
        elif member.name in _TEXT_LISTS:
            yield from _texts(text, member, _TEXT_LISTS[member.name])
        elif member.name == "compaction_count" and isinstance(member.value, int):
            if member.value > 0:
                yield Record(member.line, "compactions", {"count": member.value})
        elif member.name not in ("last_updated", "plugin_version"):
            yield _left(member, "not a field of the contract")

    yield from _each(text, take)


def read_state_json(text: str) -> Reading:
    """Read the state of a session folder: phase with its history, checkpoint, recovery, context by path."""

    def take(member: Placed) -> Reading:
        name, value = member.name, member.value
        if name in ("goal", "focus", "status"):
            yield from _text(member, name)
        elif name == "phase":
            yield from _text(member, "phase")
        elif name == "valid_phases":
            yield from _phases(member)
        elif name in ("phase_history", "phases_history"):
            yield from _history(text, member)
        elif name == "checkpoint" and isinstance(value, dict):
            yield from _checkpoint(member)
        elif name == "recovery" and isinstance(value, dict):
            yield from _recovery(member)
        elif name in ("context", "artifacts") and isinstance(value, dict):
            for inner in members(text, member.start):
                yield from _text(inner, "reference" if name == "artifacts" else "context")
        elif name in ("artifacts", "context") and isinstance(value, list):
            yield from _texts(text, member, "reference" if name == "artifacts" else "context")
        elif name in _TEXT_LISTS:
            yield from _texts(text, member, _TEXT_LISTS[name])
        elif name == "data" and isinstance(value, dict):
            for inner in members(text, member.start):
                yield from take(inner)
        elif name not in ("session_id", "created_at", "updated_at", "version"):
            yield _left(member, "not a field of a session")

    yield from _each(text, take)


def read_batch_state(text: str) -> Reading:
    """Read a batch: its features, and which of them are completed or failed, by name or by number."""
    found: dict[str, Placed] = {}

    def take(member: Placed) -> Reading:
        if member.name in _BATCH:
            found[_BATCH[member.name]] = member
        elif member.name == "notes" and isinstance(member.value, str) and member.value.strip():
            yield Record(member.line, "note", {"text": member.value})
        elif member.name not in _BATCH_FRAME:
            yield _left(member, "not a field of a batch")

    yield from _each(text, take)
    items = found.get("items")
    if items is None or not isinstance(items.value, list) or not items.value:
        yield Left(1, "", "there is no list of features")
        return
    done: list[int] = []
    failed: list[int] = []
    for name, into in (("done", done), ("failed", failed)):
        if name in found and isinstance(found[name].value, list):
            for entry in entries(text, found[name].start):
                number = _number(entry.value, items.value)
                if number is None:
                    yield _left(entry, f"a {name} feature that is not in the list")
                else:
                    into.append(number)
    reasons = [
        {"item": number, "reason": _reason(found.get("failed"), number, items.value)}
        for number in failed
        if number not in done
    ]
    title = found["title"].value if "title" in found and isinstance(found["title"].value, str) else "batch"
    yield Record(
        items.line,
        "batch",
        {"title": title[:200] or "batch", "items": items.value, "done": sorted(set(done)), "failed": reasons},
    )


_BATCH = {
    "batch_id": "title",
    "features": "items",
    "completed": "done",
    "completed_features": "done",
    "failed": "failed",
    "failed_features": "failed",
}
_BATCH_FRAME = (
    "total_features",
    "current_index",
    "created_at",
    "last_updated",
    "updated_at",
    "started_at",
    "version",
    "status",
    "feature_order",
)


def _number(value: Any, items: list[Any]) -> int | None:
    """The number of the feature that an entry names: by number, by name, or as an object with either."""
    if isinstance(value, dict):
        for key in ("feature_index", "index", "feature", "name", "feature_name"):
            if key in value:
                return _number(value[key], items)
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < len(items) else None
    return items.index(value) if value in items else None


def _reason(member: Placed | None, number: int, items: list[Any]) -> str:
    for entry in member.value if member is not None else ():
        if isinstance(entry, dict) and _number(entry, items) == number:
            for key in ("error_message", "error", "reason", "message"):
                if isinstance(entry.get(key), str) and entry[key].strip():
                    reason: str = entry[key]
                    return reason
    return "failed before it was imported"


def _each(text: str, take: Callable[[Placed], Reading]) -> Reading:
    """Every member of the top-level object; from the first invalid JSON on, each line is skipped."""
    try:
        for member in members(text):
            try:
                yield from take(member)
            except RecursionError:
                yield _left(member, "nested too deeply")
    except (JSONDecodeError, RecursionError) as error:
        at = error.lineno if isinstance(error, JSONDecodeError) else 1
        why = error.msg if isinstance(error, JSONDecodeError) else "nested too deeply"
        for number, line in enumerate(text.split("\n"), 1):
            if number >= at and line.strip():
                yield Left(number, line, f"not JSON from here on: {why} at line {at}")


def _text(member: Placed, kind: str) -> Reading:
    if isinstance(member.value, str) and member.value.strip():
        yield Record(member.line, kind, {"text": member.value})
    elif member.value not in (None, ""):
        yield _left(member, "not a text")


def _texts(text: str, member: Placed, kind: str) -> Reading:
    if not isinstance(member.value, list):
        yield _left(member, "not a list")
        return
    for entry in entries(text, member.start):
        yield from _text(entry, kind)


def _phases(member: Placed) -> Reading:
    names = member.value
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        yield Record(member.line, "phases", {"phases": names})
    else:
        yield _left(member, "not a list of names")


def _history(text: str, member: Placed) -> Reading:
    if not isinstance(member.value, list):
        yield _left(member, "not a list")
        return
    for entry in entries(text, member.start):
        value = entry.value
        if isinstance(value, dict) and isinstance(value.get("phase"), str):
            span = f"{value.get('entered_at') or 'unknown'} to {value.get('exited_at') or 'now'}"
            yield Record(entry.line, "note", {"text": f"Phase {value['phase']}: {span}"})
        else:
            yield _left(entry, "not a phase with its times")


def _checkpoint(member: Placed) -> Reading:
    value = member.value
    pending = value.get("pending_steps") or []
    data = {
        "text": str(value.get("resume_instruction") or value.get("last_completed_step") or "checkpoint"),
        "last_completed": value.get("last_completed_step"),
        "pending": [str(step) for step in pending] if isinstance(pending, list) else [],
        "can_resume": bool(value.get("can_resume", True)),
        "instruction": value.get("resume_instruction"),
    }
    yield Record(member.line, "checkpoint", data)
    known = {"last_completed_step", "pending_steps", "can_resume", "resume_instruction"}
    for name in value.keys() - known:
        yield Left(
            member.line, json.dumps({name: value[name]}, ensure_ascii=False), "not a field of a checkpoint"
        )


def _recovery(member: Placed) -> Reading:
    value = member.value
    said = [f"{name.replace('_', ' ')}: {value[name]}" for name in value if value[name] not in (None, "")]
    if said:
        yield Record(member.line, "note", {"text": "Recovery. " + "; ".join(said)})


def _left(member: Placed, why: str) -> Left:
    name = f"{json.dumps(member.name, ensure_ascii=False)}: " if member.name else ""
    return Left(member.line, name + json.dumps(member.value, ensure_ascii=False)[:2000], why)


READERS = {
    "session-state": read_session_state,
    "state-json": read_state_json,
    "batch-state": read_batch_state,
}
