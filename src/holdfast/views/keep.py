"""The few lines that a summary of a conversation must keep: what work it is, and the ids of what is open."""

from __future__ import annotations

from holdfast.typed import Any
from holdfast.views import parts
from holdfast.views.fence import RULE, fenced, token

_EACH = 8
"""Entries of one kind that are listed; the rest is counted."""
_LENGTH = 120


def keep(state: dict[str, Any]) -> str:
    """The lines for the summariser. Bounded: at most about 4,000 characters, whatever the state holds."""
    lines = [
        f"holdfast keeps this work as session {token(str(state['user']))}/{token(str(state['session']))}. "
        "Keep the ids below word for word in the summary; the brief is given again after it.",
        RULE,
    ]
    for name in ("goal", "phase", "focus"):
        if value := parts.value(state, name):
            lines.append(f"- {name}: {fenced(value, 2 * _LENGTH)}")
    task = parts.current_task(state)
    if task is not None:
        lines.append(f"- task {token(task['id'])} {fenced(task['title'], _LENGTH)}")
    lines += _named("decided, not yet confirmed", parts.opened(state, "decisions"), "text")
    lines += _named("open loops", parts.opened(state, "loops"), "title")
    lines += _named("blockers", parts.opened(state, "blockers"), "text")
    lines += _named("next", parts.opened(state, "next"), "text")
    return "\n".join(lines) + "\n"


def _named(title: str, entries: list[dict[str, Any]], field: str) -> list[str]:
    if not entries:
        return []
    newest = entries[-_EACH:]
    said = "; ".join(f"{token(entry['id'])} {fenced(entry[field], _LENGTH)}" for entry in newest)
    more = f"; and {len(entries) - len(newest):,} older" if len(entries) > len(newest) else ""
    return [f"- {title}: {said}{more}"]
