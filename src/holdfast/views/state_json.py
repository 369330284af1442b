"""``state.json``: the small contract that programs read. Under 10 KB whatever the session did.

Every text is cut by the bytes that it takes in the file, and every list to a few entries. If the whole is still too
large it is built again with smaller limits until it fits; the smallest limits always fit.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring

from holdfast.core import contested
from holdfast.typed import Any, Record
from holdfast.views import parts
from holdfast.views.markdown import hidden_in
from holdfast.views.seal import ADDED, MARK, sealed

CAP = 10_000
"""Bytes of ``state.json``; a round number below 10 KB."""


class Measure(Record):
    """The limits for everything that is shown."""

    shown: int
    """Entries of a list; the rest is counted."""
    width: int
    """Bytes of a text in JSON."""
    name: int
    """Bytes of a name, an id or a timestamp in JSON."""


MEASURES = (
    Measure(8, 160, 80),
    Measure(5, 120, 60),
    Measure(3, 90, 48),
    Measure(2, 60, 36),
    Measure(1, 40, 32),
)


def contract(state: dict[str, Any], measure: Measure = MEASURES[0]) -> dict[str, Any]:
    """The state as ``state.json`` and ``status --json`` show it."""
    return {
        "format": 1,
        "session_id": _name(state["session"], measure),
        "user": _name(state["user"], measure),
        **_where(state, measure),
        "created_at": state["created"],
        "updated_at": state["updated"],
        "updated_by": _name(state["by"], measure),
        "commits": state["commits"],
        "head": state["head"],
        "contested": [
            _contest(contest, measure) for contest in contested.contests(state["registers"])[: measure.shown]
        ],
        "contested_count": len(contested.contests(state["registers"])),
        **_phases(state, measure),
        "decisions": _decisions(state["decisions"], measure),
        "tasks": _collection(state, "tasks", measure, "title", "status"),
        "plans": _collection(state, "plans", measure, "title"),
        "loops": _collection(state, "loops", measure, "title", "status"),
        "risks": _collection(state, "risks", measure, "text"),
        "blockers": _collection(state, "blockers", measure, "text"),
        "next_actions": _collection(state, "next", measure, "text"),
        "errors": _collection(state, "errors", measure, "text"),
        "checkpoint": _checkpoint(state.get("checkpoint"), measure),
        "recovery": _plain(
            state.get("recovery"), measure, "last_agent", "last_action", "interrupted_at", "notes"
        ),
        "handoff": _plain(
            state.get("handoff"), measure, "id", "at", "by", "claimed_by", "claimed_at", "consumed_at"
        ),
        "budget": _budget(state.get("budget"), measure),
        **_counts(state, measure),
    }


def _where(state: dict[str, Any], measure: Measure) -> dict[str, Any]:
    registers = state["registers"]
    task = parts.current_task(state)
    discussion = state.get("discussion")
    return {
        "goal": fit(contested.value(registers, "goal", ""), measure.width * 2),
        "goal_guessed": parts.is_goal_guessed(state),
        "previous": _name(state.get("previous"), measure),
        "phase": _text(contested.value(registers, "phase"), measure),
        "task": _entry(task, measure, "title", "status") if task else None,
        "focus": _text(contested.value(registers, "focus"), measure),
        "status": _name(parts.status(state), measure),
        "discussion": {
            "topic": fit(discussion["topic"], measure.width),
            "return_to": _plain(discussion["return_to"], measure, "task", "focus", "phase"),
        }
        if discussion
        else None,
    }


def _phases(state: dict[str, Any], measure: Measure) -> dict[str, Any]:
    phases = state["phases"]
    return {
        "valid_phases": [fit(name, measure.name) for name in phases["declared"][: measure.shown * 2]],
        "phase_history": [
            {"phase": fit(p["phase"], measure.name), "entered_at": p["entered"], "exited_at": p["exited"]}
            for p in phases["history"][-min(5, measure.shown) :]
        ],
        "phases_entered": phases["entered"],
    }


def _counts(state: dict[str, Any], measure: Measure) -> dict[str, Any]:
    notes = state["notes"]
    return {
        "references": len(state.get("references", {}).get("open", {})),
        "messages": state.get("messages", {}).get("count", 0),
        "captures": len(parts.opened(state, "captures")),
        "legal_reviews": state.get("legal", {}).get("count", 0),
        "compaction_count": state.get("compactions", {}).get("count", 0),
        "notes": {
            "count": notes["count"],
            "last": [fit(note["text"], measure.width) for note in notes["last"][-min(3, measure.shown) :]],
        },
        "own_events": state["own"],
        "batches": _batches(state, measure),
        "imports": _imports(state.get("imports"), measure),
        "archived_at": (state.get("archived") or {}).get("at"),
    }


def _batches(state: dict[str, Any], measure: Measure) -> dict[str, Any]:
    opened = parts.opened(state, "batches")
    few = [
        {"id": fit(b["id"], measure.name), "title": fit(b["title"], measure.width), **parts.progress(b)}
        for b in opened[-max(1, measure.shown // 4) :]
    ]
    return {"open_count": len(opened), "open": few}


def _imports(imports: dict[str, Any] | None, measure: Measure) -> dict[str, Any]:
    if imports is None:
        return {"count": 0, "taken": 0, "last": None}
    last = imports["last"][-1] if imports["last"] else None
    return {
        "count": imports["count"],
        "taken": imports["taken"],
        "last": _plain(last, measure, "file", "format", "taken", "left", "at"),
    }


def _contest(contest: dict[str, Any], measure: Measure) -> dict[str, Any]:
    return {
        "name": fit(contest["name"], measure.name),
        "value": fit(str(contest["value"]), measure.name),
        "rivals": [
            {"value": fit(str(r["value"]), measure.name), "by": fit(r["by"], measure.name)}
            for r in contest["rivals"][: min(3, measure.shown)]
        ],
    }


def _decisions(decisions: dict[str, Any], measure: Measure) -> dict[str, Any]:
    return {
        "made": decisions["made"],
        "settled": decisions["settled"],
        "failed": decisions["failed"],
        "choices": decisions["chosen"],
        "unsettled": [_decision(d, measure) for d in list(decisions["open"].values())[: measure.shown]],
        "unsettled_count": len(decisions["open"]),
        "recent": [_decision(d, measure) for d in decisions["closed"][-min(3, measure.shown) :]],
    }


def _decision(decision: dict[str, Any], measure: Measure) -> dict[str, Any]:
    shown = _entry(decision, measure, "text", "because", "at", "by")
    if decision["action"]:
        shown["action"] = fit(decision["action"], measure.width)
    if decision.get("outcome") is not None:
        shown |= {"outcome": fit(decision["outcome"], measure.width), "ok": bool(decision["ok"])}
    return shown


def _collection(state: dict[str, Any], name: str, measure: Measure, *keys: str) -> dict[str, Any]:
    entries = parts.opened(state, name)
    few = max(1, measure.shown // 2)
    return {"open_count": len(entries), "open": [_entry(entry, measure, *keys) for entry in entries[:few]]}


def _entry(entry: dict[str, Any], measure: Measure, *keys: str) -> dict[str, Any]:
    shown = {"id": fit(entry["id"], measure.name)}
    for key in keys:
        shown[key] = fit(entry[key], measure.width if key in _LONG else measure.name)
    return shown


_LONG = frozenset(["text", "title", "because"])


def _checkpoint(checkpoint: dict[str, Any] | None, measure: Measure) -> dict[str, Any] | None:
    if checkpoint is None:
        return None
    pending = checkpoint.get("pending") or []
    return {
        "message": _text(checkpoint.get("message"), measure),
        "last_completed_step": _text(checkpoint.get("last_completed"), measure),
        "pending_steps": [fit(step, measure.name) for step in pending[: measure.shown]],
        "pending_count": len(pending),
        "can_resume": bool(checkpoint.get("can_resume")),
        "resume_instruction": _text(checkpoint.get("instruction"), measure),
        "at": checkpoint.get("at"),
    }


def _plain(part: dict[str, Any] | None, measure: Measure, *keys: str) -> dict[str, Any] | None:
    if part is None:
        return None
    return {
        key: fit(value, measure.width) if isinstance(value := part.get(key), str) else value for key in keys
    }


def _budget(budget: dict[str, Any] | None, measure: Measure) -> dict[str, Any] | None:
    """The token budget; ``total`` is the one that was set, else the size of the context that the host told."""
    shown = _plain(budget, measure, "total", "used", "zone")
    if shown is None or budget is None:
        return None
    from holdfast.core.concepts.budget import total_of

    return {**shown, "total": total_of(budget), "measured": bool(budget.get("measured"))}


def _text(text: str | None, measure: Measure) -> str | None:
    return None if text is None else fit(str(text), measure.width)


def _name(text: str | None, measure: Measure) -> str | None:
    return None if text is None else fit(text, measure.name)


def fit(text: str, size: int) -> str:
    """The text on one line, truncated to at most ``size`` bytes in the file."""
    line = " ".join(text[: size * 4].split())
    if (
        len(line) == len(text) <= size
        and line.isascii()
        and line.isprintable()
        and '"' not in line
        and "\\" not in line
    ):
        return line
    if size_in_file(line) <= size and len(text) <= size * 4:
        return line
    low, high = 0, min(len(line), size)
    while low < high:
        middle = (low + high + 1) // 2
        if size_in_file(line[:middle]) <= size - 3:
            low = middle
        else:
            high = middle - 1
    return line[:low] + "…"


def size_in_file(text: str) -> int:
    """How many bytes a text takes in ``state.json``, without its quotes."""
    return len(_inert(encode_basestring(text)).encode()) - 2


def _inert(encoded: str) -> str:
    """JSON whose text cannot control a terminal that shows the file; a parser reads the same text."""
    if encoded.isascii() and "\x7f" not in encoded:
        return encoded
    return encoded.translate({ord(c): _escape(ord(c)) for c in hidden_in(encoded)})


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def render(state: dict[str, Any]) -> str:
    """The bytes of ``state.json``. The seal comes first, before any stored text."""
    text = ""
    for measure in MEASURES:
        text = json.dumps({"seal": MARK, **contract(state, measure)}, ensure_ascii=False, indent=2) + "\n"
        text = _inert(text)
        if len(text.encode()) + ADDED < CAP:
            break
    return sealed(text, state)
