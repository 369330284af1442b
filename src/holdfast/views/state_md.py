"""``STATE.md``: the session at a glance, for people and for agents that read files.

The sections are those of the session-state template, in its order and no others. What the template has no
section for and a reader must not miss (contested values, decisions without outcome) is in Current Context.
"""

from __future__ import annotations

from holdfast.core import actions, contested
from holdfast.typed import Any
from holdfast.views import parts
from holdfast.views.budget import budget_lines
from holdfast.views.markdown import cell, inline
from holdfast.views.seal import MARK, sealed

LOOPS = 20
UNSETTLED = 10
CONTESTED = 10
BATCHES = 3


def render(state: dict[str, Any]) -> str:
    """The bytes of ``STATE.md``."""
    lines = [
        "---",
        "version: 1",
        f"updated: {_field(state['updated'])}",
        f"session: {_field(state['session'])}",
        f"{MARK}",
        "---",
        "",
        f"# Session State: {inline(parts.value(state, 'goal'))}",
        "",
        *_context(state),
        *_loops(state),
        *["## Token Budget", "", *budget_lines(state), "", "`holdfast view CONTEXT.md` shows the items.", ""],
        *_actions(state),
        *_stack(state),
        *_recent(state),
    ]
    return sealed("\n".join(lines).rstrip("\n") + "\n", state)


def _field(text: object) -> str:
    """A timestamp or an id in the frontmatter; without spaces nothing before the seal can look like one."""
    return inline(str(text)).replace(" ", "-")


def _context(state: dict[str, Any]) -> list[str]:
    phase = f"{inline(parts.value(state, 'phase') or 'none')} {parts.phase_place(state)}".rstrip()
    lines = [
        f"**Phase:** {phase}",
        f"**Task:** {_task(state)}",
        f"**Focus:** {inline(parts.value(state, 'focus') or 'none')}",
        f"**Status:** {inline(parts.STATUSES.get(parts.status(state), parts.status(state)))}",
    ]
    lines += [_contest(contest) for contest in contested.contests(state["registers"])[:CONTESTED]]
    more = len(contested.contests(state["registers"])) - CONTESTED
    if more > 0:
        lines.append(f"**Contested:** {more} more; `holdfast status --json` shows them")
    unsettled = parts.opened(state, "decisions")
    for decision in unsettled[:UNSETTLED]:
        planned = f"; planned: {inline(decision['action'], 160)}" if decision["action"] else ""
        lines.append(
            f"**Decided, not confirmed:** {inline(decision['id'])} {inline(decision['text'], 200)}{planned}"
            f" (by {inline(decision['by'], 60)}, {inline(_minute(decision['at']))})"
        )
    if len(unsettled) > UNSETTLED:
        lines.append(
            f"**Decided, not confirmed:** {len(unsettled) - UNSETTLED} more; `holdfast recover` lists all"
        )
    batches = parts.opened(state, "batches")
    lines += [
        f"**Batch:** {inline(batch['id'])} {inline(batch['title'], 120)}: {parts.counted(batch)}"
        for batch in batches[-BATCHES:]
    ]
    if len(batches) > BATCHES:
        lines.append(f"**Batch:** {len(batches) - BATCHES} more; `holdfast batch status ID` shows one")
    if state.get("archived"):
        lines.append(
            f"**Archived:** {inline(_minute(state['archived']['at']))}; `holdfast restore` restores it"
        )
    return ["## Current Context", "", *lines, ""]


def _task(state: dict[str, Any]) -> str:
    task = parts.current_task(state)
    plan = parts.proposed_plan(state)
    if task is not None:
        return f"{inline(task['id'])} - {inline(task['title'])}"
    if plan is not None:
        return f"{inline(plan['id'])} - {inline(plan['title'])}"
    return inline(parts.value(state, "task") or "none")


def _contest(contest: dict[str, Any]) -> str:
    """One contested value with all values that were set concurrently."""
    rivals = ", ".join(
        f"{inline(str(r['value']), 100)} (by {inline(r['by'], 60)})" for r in contest["rivals"]
    )
    return (
        f"**Contested:** {inline(contest['name'], 80)} is {inline(str(contest['value']), 100)} "
        f"(by {inline(contest['by'], 60)}); also set: {rivals}"
    )


def _minute(at: str) -> str:
    return f"{at[:10]} {at[11:16]}"


def _loops(state: dict[str, Any]) -> list[str]:
    loops = parts.opened(state, "loops")
    lines = ["## Active Loops", ""]
    if loops:
        lines += ["| ID | Title | Status | Captured |", "|----|-------|--------|----------|"]
        lines += [
            f"| {cell(loop['id'])} | {cell(loop['title'])} | {cell(loop['status'])} | {cell(_minute(loop['at']))} |"
            for loop in loops[:LOOPS]
        ]
        lines.append("")
    clarifying = sum(loop["status"] == "clarifying" for loop in loops)
    split = f" ({clarifying} clarifying, {len(loops) - clarifying} open)" if loops else ""
    lines += [f"**Total active:** {parts.noun(len(loops), 'loop')}{split}", ""]
    if loops:
        lines += ["`holdfast view LOOPS.md` shows all of them in full.", ""]
    return lines


def _actions(state: dict[str, Any]) -> list[str]:
    menu = actions.menu(state)
    lines = ["## Available Actions", "", "**Core:**"]
    lines += [_action(action) for action in menu if action.core]
    contextual = [_action(action) for action in menu if not action.core]
    if contextual:
        lines += ["", "**Contextual:**", *contextual]
    plan = parts.proposed_plan(state)
    waiting = (
        f"**Awaiting: approval of {inline(plan['id'])}**"
        if plan
        else '**Run one with** `holdfast do "/ACTION"`'
    )
    return [*lines, "", waiting, ""]


def _action(action: actions.Action) -> str:
    return f"- `{action.usage}` - {inline(action.does)}"


def _stack(state: dict[str, Any]) -> list[str]:
    discussion = state.get("discussion")
    if discussion:
        back = discussion["return_to"]
        place = back.get("task") or back.get("focus") or back.get("phase") or "the work"
        current, return_to, depth = f"/discuss {inline(discussion['topic'])}", inline(str(place)), 1
    else:
        task, plan = parts.current_task(state), parts.proposed_plan(state)
        current, return_to, depth = inline(parts.value(state, "focus") or "no task"), "None (not forked)", 0
        if task is not None:
            current = f"{inline(task['id'])} ({inline(task['title'])})"
        elif plan is not None:
            current = f"{inline(plan['id'])} awaits approval"
    lines = [f"**Current:** {current}", f"**Return to:** {return_to}", f"**Depth:** {depth}"]
    return ["## Context Stack", "", *lines, ""]


def _recent(state: dict[str, Any]) -> list[str]:
    lines = ["## Recent Updates", ""]
    for update in reversed(state["recent"][-5:]):
        lines += [
            f"**{inline(_minute(update['at']))}**",
            f"- {inline(update['text'])} (by {inline(update['by'])})",
            "",
        ]
    return lines
