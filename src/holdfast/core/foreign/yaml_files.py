"""Read ``events.yaml``, ``backlog.yaml`` and the index of decisions."""

from __future__ import annotations

from typing import Any

from holdfast.core.foreign import Left, Reading, Record
from holdfast.core.foreign.yaml_lines import Entry, Field, Stray, read

_PRIORITIES = {
    "p0": "critical",
    "p1": "high",
    "p2": "medium",
    "p3": "low",
    "critical": "critical",
    "urgent": "critical",
    "high": "high",
    "medium": "medium",
    "normal": "medium",
    "low": "low",
}
_DONE = ("done", "closed", "complete", "completed", "dropped", "cancelled", "skipped", "wontfix")


def read_events(text: str) -> Reading:
    """Read events; each becomes one note with all of its fields."""
    for part in read(text):
        if not isinstance(part, Entry):
            yield from _outside(part)
            continue
        found = yield from _fields(part)
        summary = _text(found, "summary", "event", "title", "")
        if not summary:
            yield _whole(part, "an event without a summary")
            continue
        when = " ".join(_text(found, name) for name in ("date", "time") if _text(found, name))
        head = " ".join(word for word in (when, _text(found, "type"), _by(found)) if word)
        told = ("summary", "event", "title", "", "date", "time", "type", "agent", "data")
        rest = "; ".join(
            f"{name}: {_shown(value)}" for name, value in found.items() if name not in told and value
        )
        yield Record(part.line, "note", {"text": f"{head}: {summary}" + (f" ({rest})" if rest else "")})


def read_backlog(text: str) -> Reading:
    """Read backlog items; their dependencies are named by the file's own ids."""
    for part in read(text):
        if not isinstance(part, Entry):
            yield from _outside(part)
            continue
        found = yield from _fields(part)
        title = _text(found, "title", "name", "")
        if not title:
            yield _whole(part, "an item without a title")
            continue
        status = _text(found, "status").lower().replace("_", "-")
        data: dict[str, Any] = {
            "was": _text(found, "id"),
            "title": title,
            "priority": _PRIORITIES.get(_text(found, "priority").lower(), "medium"),
            "status": "closed"
            if status in _DONE
            else "started"
            if status in ("in-progress", "started")
            else "open",
            "outcome": status,
            "epic": _text(found, "epic") or None,
            "tags": [str(tag) for tag in _listed(found.get("tags"))],
            "depends_on": [str(name) for name in _listed(found.get("depends_on") or found.get("blocked_by"))],
        }
        yield Record(part.line, "backlog", data)
        known = {
            *data,
            "name",
            "",
            "id",
            "blocked_by",
            "added_at",
            "added_by",
            "ready",
            "result",
            "closed_at",
        }
        for field in part.fields:
            if field.name not in known and field.value not in (None, [], "") and not field.bad:
                if field.name in ("created", "updated", "closed", "closed_by", "contested"):
                    continue  # timestamps and computed fields: the log has its own
                yield Left(field.line, field.text, "not a field of a backlog item")


def read_decisions(text: str) -> Reading:
    """Read standing orders, and the decisions in all other sections."""
    for part in read(text):
        if not isinstance(part, Entry):
            yield from _outside(part)
            continue
        found = yield from _fields(part)
        said = _text(found, "decision", "order", "summary", "title", "text", "label", "")
        if not said:
            yield _whole(part, "an entry without a text")
            continue
        was = _text(found, "id", "sd", "ref")
        if "standing" in part.section or "order" in part.section:
            yield Record(part.line, "order", {"was": was, "text": said})
            continue
        because = _text(found, "because", "rationale", "why", "reason")
        outcome = _text(found, "outcome", "result", "status")
        yield Record(
            part.line, "decision", {"was": was, "text": said, "because": because, "outcome": outcome}
        )


def _fields(entry: Entry) -> Any:
    """Return the readable fields of an entry; yield a ``Left`` for each unreadable line."""
    found: dict[str, Any] = {}
    for field in entry.fields:
        if field.bad:
            yield Left(field.line, field.text, field.bad)
        elif field.name in found:
            yield Left(field.line, field.text, f"{field.name} is given twice")
        else:
            found[field.name] = field.value
    return found


def _outside(part: Stray | Field) -> Reading:
    if isinstance(part, Stray):
        yield Left(part.line, part.text, part.why)
    elif part.bad:
        yield Left(part.line, part.text, part.bad)
    elif part.value not in ([], {}) and part.name not in (
        "total",
        "updated",
        "open",
        "closed",
        "version",
        "schema",
    ):
        yield Left(part.line, part.text, "a field that belongs to no entry")


def _whole(entry: Entry, why: str) -> Left:
    return Left(entry.line, "\n".join(field.text for field in entry.fields), why)


def _text(found: dict[str, Any], *names: str) -> str:
    for name in names:
        value = found.get(name)
        if value is not None and value != "" and not isinstance(value, (list, dict)):
            return str(value)
    return ""


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _by(found: dict[str, Any]) -> str:
    agent = _text(found, "agent")
    return f"by {agent}" if agent else ""


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


READERS = {"events-yaml": read_events, "backlog-yaml": read_backlog, "decision-index": read_decisions}
