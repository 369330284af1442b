"""What changed between two states: values that were set, and entries that were added, closed or changed.

Bookkeeping (heads, numbers, commit ids, counters of listed entries) is not a change.
"""

from __future__ import annotations

from holdfast.typed import Any

Change = dict[str, Any]
"""``{"what", "change": "set" | "added" | "closed" | "changed" | "removed", "before"?, "after"?}``."""

_BOOKKEEPING = frozenset(
    [
        "kind",
        "starter",
        "commits",
        "created",
        "updated",
        "by",
        "head",
        "mix",
        "numbers",
        "recent",
        "registers",
    ]
)
_NOISE = frozenset(
    [
        "commit",
        "rivals",
        "anchors",
        "at",
        "by",
        "origin",
        "closed_at",
        "closed_by",
        "settled_at",
        "settled_by",
    ]
)
_TEXTS = ("text", "title", "subject", "path", "what", "control", "message", "summary")
_NOUNS = {
    "decisions": "decision",
    "tasks": "task",
    "plans": "plan",
    "loops": "loop",
    "captures": "capture",
    "risks": "risk",
    "blockers": "blocker",
    "next": "next action",
    "errors": "error",
    "orders": "standing order",
    "references": "reference",
    "facts": "fact",
    "backlog": "backlog item",
}
_LISTS = {
    "notes": ("last", "note"),
    "legal": ("last", "legal review"),
    "controls": ("last", "control"),
    "messages": ("recent", "message"),
    "git": ("last", "commit"),
}


def difference(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """Each change: values first, then entries by kind."""
    changes = _registers(before["registers"], after["registers"])
    for name in sorted((before.keys() | after.keys()) - _BOOKKEEPING):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name == "phases":
            changes += _value("declared phases", (old or {}).get("declared"), (new or {}).get("declared"))
        elif name in _NOUNS:
            changes += _things(_NOUNS[name], old or {}, new or {})
        elif name in _LISTS:
            key, noun = _LISTS[name]
            changes += _listed(noun, (old or {}).get(key, []), (new or {}).get(key, []))
        else:
            changes += _values(name, old, new)
    return changes


def _registers(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    changes = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, {}), after.get(name, {})
        changes += _value(name, old.get("value"), new.get("value"))
        changes += _value(f"rivals of {name}", _rivals(old), _rivals(new))
    return changes


def _rivals(register: dict[str, Any]) -> list[str] | None:
    return [f"{rival['value']} (by {rival['by']})" for rival in register.get("rivals", ())] or None


def _things(noun: str, before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """What opened, changed and closed in a collection."""
    old, new = before.get("open", {}), after.get("open", {})
    closed = {entry["id"]: entry for entry in after.get("closed", ())}
    known = {entry["id"]: entry for entry in before.get("closed", ())}
    changes: list[Change] = []
    for key, entry in new.items():
        if key not in old:
            changes.append({"what": f"{noun} {key}", "change": "added", "after": _said(entry)})
        else:
            changes += _fields(f"{noun} {key}", old[key], entry)
    for key, entry in closed.items():
        if key in known:
            changes += _fields(f"{noun} {key}", known[key], entry)
        elif entry.get("choice") and entry.get("outcome") is None:
            changes.append({"what": f"{noun} {key}", "change": "added", "after": _said(entry)})
        else:
            changes.append(
                {
                    "what": f"{noun} {key}",
                    "change": "closed",
                    "before": _said(entry),
                    "after": _outcome(entry),
                }
            )
    for key, entry in old.items():
        if key not in new and key not in closed:
            # Closed so long ago that only the log still has it.
            changes.append({"what": f"{noun} {key}", "change": "removed", "before": _said(entry)})
    return changes


def _fields(what: str, before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    changes = []
    for key in sorted((before.keys() | after.keys()) - _NOISE):
        if before.get(key) != after.get(key):
            changes.append(
                {
                    "what": f"{what} {key}",
                    "change": "changed",
                    "before": before.get(key),
                    "after": after.get(key),
                }
            )
    return changes


def _listed(noun: str, before: list[Any], after: list[Any]) -> list[Change]:
    return [
        {"what": noun, "change": "added", "after": _said(entry)} for entry in after if entry not in before
    ]


def _values(name: str, before: Any, after: Any) -> list[Change]:
    """A part that is one value or an object of values."""
    if not isinstance(before or after, dict):
        return _value(name, before, after)
    old, new = before or {}, after or {}
    changes = []
    for key in sorted((old.keys() | new.keys()) - _NOISE):
        changes += _value(f"{name} {key}", old.get(key), new.get(key))
    return changes


def _value(what: str, before: Any, after: Any) -> list[Change]:
    if before == after:
        return []
    change: Change = {"what": what, "change": "set" if after is not None else "removed"}
    if before is not None:
        change["before"] = before
    if after is not None:
        change["after"] = after
    return [change]


def _said(entry: Any) -> Any:
    """The text of an entry."""
    if not isinstance(entry, dict):
        return entry
    return next((entry[key] for key in _TEXTS if entry.get(key)), entry)


def _outcome(entry: dict[str, Any]) -> str:
    words = [str(entry[key]) for key in ("outcome", "reason", "result", "remedy") if entry.get(key)]
    failed = "failed: " if entry.get("ok") is False else ""
    return failed + (": ".join(words) or "closed")
