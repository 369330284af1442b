"""``STATE.md``: the session at a glance, for people and for agents that read files."""

from __future__ import annotations

from typing import Any

from holdfast.core import contested
from holdfast.views.markdown import cell, inline
from holdfast.views.seal import MARK, sealed


def render(state: dict[str, Any]) -> str:
    """The bytes of ``STATE.md``."""
    registers = state["registers"]
    goal = contested.value(registers, "goal", "")
    lines = [
        "---",
        "version: 1",
        f"updated: {state['updated']}",
        f"session: {state['session']}",
        f"{MARK}",
        "---",
        "",
        f"# Session State: {inline(goal)}",
        "",
        *_contested(registers),
        *_context(state),
        *_unsettled(state),
        *_recent(state),
    ]
    return sealed("\n".join(lines).rstrip("\n") + "\n", state)


def _contested(registers: dict[str, Any]) -> list[str]:
    contests = contested.contests(registers)
    if not contests:
        return []
    lines = [
        "## Contested",
        "",
        "Two places set these values without seeing each other. Set each again to settle it.",
        "",
    ]
    for contest in contests:
        rivals = ", ".join(f"{inline(str(r['value']))} (by {inline(r['by'])})" for r in contest["rivals"])
        lines.append(
            f"- **{contest['name']}:** {inline(str(contest['value']))} (by {inline(contest['by'])}); also set: {rivals}"
        )
    return [*lines, ""]


def _context(state: dict[str, Any]) -> list[str]:
    phase = contested.value(state["registers"], "phase") or "none"
    declared = state["phases"]["declared"]
    place = f" ({declared.index(phase) + 1} of {len(declared)})" if phase in declared else ""
    return [
        "## Current Context",
        "",
        f"**Phase:** {inline(phase)}{place}",
        f"**Last actor:** {inline(state['by'] or '')}",
        "",
    ]


def _unsettled(state: dict[str, Any]) -> list[str]:
    decisions = list(state["decisions"]["open"].values())
    if not decisions:
        return []
    lines = [
        "## Decided, not confirmed",
        "",
        "| ID | Decision | Planned action | By | At |",
        "|----|----|----|----|----|",
    ]
    for decision in decisions[:20]:
        action, by = cell(decision["action"] or ""), cell(decision["by"])
        lines.append(
            f"| {decision['id']} | {cell(decision['text'])} | {action} | {by} | {decision['at'][:16]} |"
        )
    if len(decisions) > 20:
        lines.append("")
        lines.append(f"…and {len(decisions) - 20} more: `holdfast recover` lists all.")
    return [*lines, ""]


def _recent(state: dict[str, Any]) -> list[str]:
    lines = ["## Recent Updates", ""]
    for update in reversed(state["recent"][-5:]):
        at = update["at"]
        lines += [f"**{at[:10]} {at[11:16]}**", f"- {inline(update['text'])} (by {inline(update['by'])})", ""]
    return lines
