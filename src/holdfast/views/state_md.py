"""``STATE.md``: the session at a glance, for people and for agents that read files.

The sections of the session-state template are there in its order, each if it has content: Current Context, Active
Loops, Token Budget, Available Actions, Context Stack, Recent Updates. Between them stands what else is open: decisions,
captures, tasks, blockers, next actions, risks and errors, and the last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import actions, contested
from holdfast.typed import Any
from holdfast.views import parts
from holdfast.views.budget import budget_lines
from holdfast.views.markdown import cell, inline
from holdfast.views.seal import MARK, sealed

LOOPS = 20
UNSETTLED = 10
DECIDED = 5
CONTESTED = 10
BATCHES = 3
LISTED = 15
"""Entries of any other list; the rest is counted, and the command that lists all is named."""


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
        *_decisions(state),
        *_entries(
            state, "Captured, Not Confirmed", "captures", _capture, "holdfast capture", newest_first=True
        ),
        *_entries(state, "Tasks", "tasks", _task, "holdfast task list"),
        *_entries(state, "Blockers", "blockers", _text, "holdfast blocker list"),
        *_entries(state, "Next Actions", "next", _text, "holdfast next list"),
        *_checkpoint(state),
        *_loops(state),
        *_entries(state, "Risks", "risks", _risk, "holdfast risk list"),
        *_entries(state, "Errors", "errors", _text, "holdfast error list"),
        *_budget(state),
        *_actions(state),
        *_stack(state),
        *_recent(state),
    ]
    return sealed("\n".join(lines).rstrip("\n") + "\n", state)


def _field(text: object) -> str:
    """A timestamp or an id in the frontmatter; without spaces nothing before the seal can look like one."""
    return inline(str(text)).replace(" ", "-")


def _section(title: str, lines: list[str]) -> list[str]:
    """A section, unless it is empty."""
    return [f"## {title}", "", *lines, ""] if lines else []


def _context(state: dict[str, Any]) -> list[str]:
    lines = []
    if parts.is_goal_guessed(state):
        lines.append("- **Goal:** guessed from a request; `holdfast goal set TEXT` corrects it")
    if state.get("previous"):
        lines.append(f"- **Follows:** {inline(state['previous'], 120)}")
    if phase := parts.value(state, "phase"):
        lines.append(f"- **Phase:** {inline(phase)} {parts.phase_place(state)}".rstrip())
    if task := _current(state):
        lines.append(f"- **Task:** {task}")
    if focus := parts.value(state, "focus"):
        lines.append(f"- **Focus:** {inline(focus)}")
    lines.append(f"- **Status:** {inline(parts.STATUSES.get(parts.status(state), parts.status(state)))}")
    contests = contested.contests(state["registers"])
    lines += [f"- {_contest(contest)}" for contest in contests[:CONTESTED]]
    if len(contests) > CONTESTED:
        more = len(contests) - CONTESTED
        lines.append(f"- **Contested:** {more} more; `holdfast status --json` shows them")
    batches = parts.opened(state, "batches")
    lines += [
        f"- **Batch:** {inline(batch['id'])} {inline(batch['title'], 120)}: {parts.counted(batch)}"
        for batch in batches[-BATCHES:]
    ]
    if len(batches) > BATCHES:
        lines.append(f"- **Batch:** {len(batches) - BATCHES} more; `holdfast batch status ID` shows one")
    if state.get("archived"):
        when = inline(_minute(state["archived"]["at"]))
        lines.append(f"- **Archived:** {when}; `holdfast restore` restores it")
    return _section("Current Context", lines)


def _current(state: dict[str, Any]) -> str:
    """The current task, or the plan that waits for approval; empty if there is neither."""
    task, plan = parts.current_task(state), parts.proposed_plan(state)
    found = task or plan
    if found is not None:
        return f"{inline(found['id'])} - {inline(found['title'])}"
    return inline(parts.value(state, "task"))


def _contest(contest: dict[str, Any]) -> str:
    """One contested value with all values that were set concurrently."""
    rivals = ", ".join(
        f"{inline(str(r['value']), 100)} (by {inline(r['by'], 60)})" for r in contest["rivals"]
    )
    return (
        f"**Contested:** {inline(contest['name'], 80)} is {inline(str(contest['value']), 100)} "
        f"(by {inline(contest['by'], 60)}); also set: {rivals}"
    )


def _decisions(state: dict[str, Any]) -> list[str]:
    """First what was announced and has no outcome, then the last decisions."""
    lines = []
    unsettled, others = parts.opened(state, "decisions"), parts.closed(state, "decisions")
    for decision in unsettled[:UNSETTLED]:
        planned = f"; to do: {inline(decision['action'], 160)}" if decision["action"] else ""
        lines.append(
            f"- **{inline(decision['id'])} has no outcome:** {inline(decision['text'], 200)}{_at(decision)}{planned} "
            f"({inline(decision['by'], 60)}, {inline(_minute(decision['at']))})"
        )
    if len(unsettled) > UNSETTLED:
        lines.append(f"- {len(unsettled) - UNSETTLED:,} more without outcome: `holdfast recover`")
    for decision in reversed(others[-DECIDED:]):
        outcome = decision.get("outcome")
        verdict = "Outcome:" if decision.get("ok") else "**Failed:**"
        said = f". {verdict} {inline(outcome, 160)}" if outcome is not None else ""
        lines.append(
            f"- {inline(decision['id'])}: {inline(decision['text'], 200)}{_at(decision)}, "
            f"because {inline(decision['because'], 160)}{said}"
        )
    count = state.get("decisions", {}).get("made", 0)
    if count > min(len(unsettled), UNSETTLED) + min(len(others), DECIDED):
        lines += ["", f"DECISIONS.md has more; `holdfast decisions` lists all {count:,}."]
    return _section("Decisions", lines)


def _entries(
    state: dict[str, Any],
    title: str,
    name: str,
    say: Callable[[dict[str, Any]], str],
    command: str,
    *,
    newest_first: bool = False,
) -> list[str]:
    """The open entries of a kind."""
    entries = parts.opened(state, name)
    if newest_first:
        entries = entries[::-1]
    lines = [f"- {inline(entry['id'])}: {say(entry)}" for entry in entries[:LISTED]]
    if len(entries) > LISTED:
        lines += ["", f"{len(entries) - LISTED:,} more: `{command}`"]
    return _section(title, lines)


def _at(entry: dict[str, Any]) -> str:
    """Where an entry is anchored. Whether that is still the same depends on the working tree, and no view does."""
    places = parts.at(entry)
    return f" (at {inline(places, 200)})" if places else ""


def _text(entry: dict[str, Any]) -> str:
    return f"{inline(entry['text'], 200)}{_at(entry)}"


def _capture(entry: dict[str, Any]) -> str:
    because = f" because {inline(entry['because'], 200)}" if entry["because"] else ""
    return f"{inline(entry['text'], 200)}{because} ({inline(entry['kind'], 20)})"


def _risk(entry: dict[str, Any]) -> str:
    severity = entry.get("severity")
    return f"{_text(entry)} ({inline(severity, 20)})" if severity else _text(entry)


def _task(task: dict[str, Any]) -> str:
    said = [inline(task["status"], 20)] if task["status"] != "pending" else []
    if task.get("blocked_by"):
        said = [f"**blocked**: {inline(task['blocked_by'], 120)}"]
    if task.get("depends_on"):
        said.append(f"after {', '.join(inline(other, 40) for other in task['depends_on'][:5])}")
    return f"{inline(task['title'], 200)} ({'; '.join(said)})" if said else inline(task["title"], 200)


def _checkpoint(state: dict[str, Any]) -> list[str]:
    checkpoint = state.get("checkpoint")
    if not checkpoint:
        return []
    lines = [f"- {inline(checkpoint['message'], 300)} ({inline(_minute(checkpoint.get('at') or ''))})"]
    for key, label in (("last_completed", "Completed"), ("instruction", "To resume")):
        if checkpoint.get(key):
            lines.append(f"- {label}: {inline(checkpoint[key], 300)}")
    pending = checkpoint.get("pending") or []
    lines += [f"- Pending: {inline(step, 120)}" for step in pending[:LISTED]]
    return _section("Checkpoint", lines)


def _minute(at: str) -> str:
    return f"{at[:10]} {at[11:16]}"


def _loops(state: dict[str, Any]) -> list[str]:
    loops = parts.opened(state, "loops")
    if not loops:
        return []
    lines = ["| ID | Title | Status | Captured |", "|----|-------|--------|----------|"]
    lines += [
        f"| {cell(loop['id'])} | {cell(loop['title'])} | {cell(loop['status'])} | {cell(_minute(loop['at']))} |"
        for loop in loops[:LOOPS]
    ]
    clarifying = sum(loop["status"] == "clarifying" for loop in loops)
    split = f"{clarifying} clarifying, {len(loops) - clarifying} open" if clarifying else "open"
    lines += ["", f"**Total active:** {parts.noun(len(loops), 'loop')} ({split})"]
    if len(loops) > LOOPS:
        lines[-1] += "; `holdfast loop list` shows all"
    return _section("Active Loops", lines)


def _budget(state: dict[str, Any]) -> list[str]:
    """The token budget, once there is a total or something was counted."""
    budget = state.get("budget") or {}
    return _section("Token Budget", budget_lines(state)) if budget.get("total") or budget.get("used") else []


def _actions(state: dict[str, Any]) -> list[str]:
    menu = actions.menu(state)
    plan = parts.proposed_plan(state)
    lines = [f"**Awaiting: approval of {inline(plan['id'])}**", ""] if plan else []
    contextual = [_action(action) for action in menu if not action.core]
    if contextual:
        lines += ["**Contextual:**", "", *contextual, ""]
    lines += ["**Core:**", "", *(_action(action) for action in menu if action.core)]
    return _section("Available Actions", [*lines, "", '`holdfast do "/ACTION"` runs one.'])


def _action(action: actions.Action) -> str:
    return f"- `{action.usage}`: {inline(action.does)}"


def _stack(state: dict[str, Any]) -> list[str]:
    """Where a discussion returns to; without one there is nothing to return to."""
    discussion = state.get("discussion")
    if not discussion:
        return []
    back = discussion["return_to"]
    place = back.get("task") or back.get("focus") or back.get("phase") or "the work"
    lines = [f"- **Current:** /discuss {inline(discussion['topic'])}"]
    lines += [f"- **Return to:** {inline(str(place))}", "- **Depth:** 1"]
    return _section("Context Stack", lines)


def _recent(state: dict[str, Any]) -> list[str]:
    """The last updates, newest first."""
    lines = [
        f"- **{inline(_minute(update['at']))}** {inline(update['text'])} ({inline(update['by'])})"
        for update in reversed(state["recent"][-5:])
    ]
    return _section("Recent Updates", lines)
