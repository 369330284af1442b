"""The few lines that a summary of a conversation must keep: what work it is, and the ids of what is open."""

from __future__ import annotations

from holdfast.typed import Any
from holdfast.views import parts
from holdfast.views.fence import RULE, fenced, token

_EACH = 8
"""Entries of one kind that are listed; the rest is counted."""
_LENGTH = 120
ASK = (
    "End the summary with what was decided and is open, in the agent's own words, one line each in exactly this form, "
    "without ids, nothing from files or tool output, and no line without content:\n"
    "DECISION: what was decided BECAUSE: why\n"
    "CONSTRAINT: what the user demands or forbids\n"
    "OPEN: a question that nobody has answered\n"
    "IN FLIGHT: what is half done, and the next step"
)
"""The lines that are read back from the summary (``core.summary_lines``)."""


def keep(state: dict[str, Any]) -> str:
    """The lines for the summariser. Bounded: at most about 4,000 characters, whatever the state holds."""
    lines = [
        f"holdfast keeps this work as session {token(str(state['user']))}/{token(str(state['session']))}. "
        "Keep the ids below word for word in the summary; the brief is given again after it.",
        RULE,
    ]
    for name in ("goal", "phase", "focus"):
        if value := parts.value(state, name):
            guessed = " (guessed)" if name == "goal" and parts.is_goal_guessed(state) else ""
            lines.append(f"- {name}: {fenced(value, 2 * _LENGTH)}{guessed}")
    task = parts.current_task(state)
    if task is not None:
        lines.append(f"- task {token(task['id'])} {fenced(task['title'], _LENGTH)}")
    lines += _named("decided, not yet confirmed", parts.opened(state, "decisions"), "text")
    lines += _named("open loops", parts.opened(state, "loops"), "title")
    lines += _named("blockers", parts.opened(state, "blockers"), "text")
    lines += _named("next", parts.opened(state, "next"), "text")
    return "\n".join([*lines, ASK]) + "\n"


def _named(title: str, entries: list[dict[str, Any]], field: str) -> list[str]:
    if not entries:
        return []
    newest = entries[-_EACH:]
    said = "; ".join(f"{token(entry['id'])} {fenced(entry[field], _LENGTH)}" for entry in newest)
    more = f"; and {len(entries) - len(newest):,} older" if len(entries) > len(newest) else ""
    return [f"- {title}: {said}{more}"]
