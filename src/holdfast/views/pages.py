"""Pages on demand: ``LOOPS.md``, ``CONTEXT.md``, ``handoff/latest.md`` and ``.continue-here.md``."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import contested
from holdfast.typed import Any
from holdfast.views import parts
from holdfast.views.budget import budget_lines
from holdfast.views.markdown import cell, inline
from holdfast.views.seal import MARK, sealed

_ALL = 200
"""Entries of one kind on a page; the log has the rest."""


def loops_md(state: dict[str, Any]) -> str:
    """Every open loop in full, and the last closed ones with their outcomes."""
    lines = _head(state, "Loops")
    opened, closed = parts.opened(state, "loops"), parts.closed(state, "loops")
    lines += ["## Open", ""] if opened else ["No open loops.", ""]
    for loop in opened[:_ALL]:
        lines += [
            f"### {inline(loop['id'])}: {inline(loop['title'])}",
            "",
            f"- **Status:** {inline(loop['status'])}",
            f"- **Captured:** {_minute(loop['at'])} by {inline(loop['by'])} ({inline(loop['origin'])})",
        ]
        if loop.get("context"):
            lines.append(f"- **Context:** {inline(str(loop['context']), 700)}")
        lines.append("")
    lines += _cut(len(opened) - _ALL, "open loops", "holdfast loop list")
    if closed:
        lines += [
            "## Closed lately",
            "",
            "| ID | Title | Outcome | Decision | Closed |",
            "|----|----|----|----|----|",
        ]
        for loop in reversed(closed):
            lines.append(
                f"| {cell(loop['id'])} | {cell(loop['title'])} | {cell(loop['outcome'], 400)} "
                f"| {cell(str(loop.get('decision') or ''))} | {_minute(loop['closed_at'])} |"
            )
        lines.append("")
    return _page(lines, state)


def context_md(state: dict[str, Any]) -> str:
    """What is loaded: the budget's items and the files that the session refers to."""
    lines = _head(state, "Context")
    budget = state.get("budget") or {}
    if budget.get("total") or budget.get("used"):
        lines += ["## Token Budget", "", *budget_lines(state), ""]
    items = sorted(
        (state.get("budget") or {}).get("items", {}).items(), key=lambda item: (-item[1]["tokens"], item[0])
    )
    for title, included in (("## Included", True), ("## Excluded", False)):
        chosen = [(name, item["tokens"]) for name, item in items if item["included"] is included]
        if chosen:
            lines += [title, "", "| Item | Tokens |", "|----|----:|"]
            lines += [f"| {cell(name)} | {tokens:,} |" for name, tokens in chosen[:_ALL]]
            lines += ["", *_cut(len(chosen) - _ALL, "items", "holdfast budget show")]
    references = parts.opened(state, "references")
    if references:
        lines += ["## Files", "", "| File | Kind | Bytes | Hash | By |", "|----|----|----:|----|----|"]
        lines += [
            f"| {cell(r['path'], 300)} | {cell(r['kind'])} | {r['size']:,} "
            f"| {cell(str(r['hash']), 16)} | {cell(r['by'])} |"
            for r in references[:_ALL]
        ]
        lines += ["", *_cut(len(references) - _ALL, "files", "holdfast ref list")]
    lines += _imported(state)
    if lines == _head(state, "Context"):
        lines.append("Nothing is loaded: no budget, no files, no imports.")
    return _page(lines, state)


def _imported(state: dict[str, Any]) -> list[str]:
    imports = state.get("imports") or {"count": 0, "taken": 0, "last": []}
    if not imports["last"]:
        return []
    lines = ["## Imports", ""]
    lines += ["| File | Format | Taken | Lines left | When |", "|----|----|----:|----:|----|"]
    lines += [
        f"| {cell(entry['file'], 300)} | {cell(entry['format'])} | {entry['taken']:,} | {entry['left']:,} "
        f"| {_minute(entry['at'])} |"
        for entry in reversed(imports["last"])
    ]
    more = imports["count"] - len(imports["last"])
    return [*lines, "", *_cut(more, "imports", "holdfast log --type import")]


def handoff_md(state: dict[str, Any], project: dict[str, Any] | None = None) -> str:
    """What the next agent or person needs: objective, phase, decisions, risks, blockers, next actions."""
    handoff = state.get("handoff")
    lines = [*_head(state, "Handoff")]
    if handoff:
        claim = f"claimed by {inline(handoff['claimed_by'])}" if handoff["claimed_by"] else "not claimed"
        lines += [
            f"**{inline(handoff['id'])}** by {inline(handoff['by'])}, {_minute(handoff['at'])}; {claim}.",
            "",
        ]
        if handoff.get("message"):
            lines += [inline(handoff["message"], 700), ""]
    lines += [_next_step(state), ""]
    lines += ["## Objective", "", inline(parts.goal(state), 700), ""]
    if phase := parts.value(state, "phase"):
        lines += ["## Phase", "", f"{inline(phase)} {parts.phase_place(state)}".rstrip(), ""]
    lines += _contested(state)
    lines += _tasks(state)
    lines += _decisions(state)
    lines += _checkpoint(state)
    lines += _listed(state, "Blockers", "blockers", "text")
    lines += _listed(state, "Next Actions", "next", "text")
    lines += _listed(state, "Open Loops", "loops", "title")
    lines += _listed(state, "Risks", "risks", "text")
    lines += _listed(state, "Errors", "errors", "text")
    if project:
        lines += _listed(project, "Standing Orders", "orders", "text")
    return _page(lines, state)


def _next_step(state: dict[str, Any]) -> str:
    """What to do with a handoff: claim it, unless somebody did or the session is over."""
    if state.get("archived"):
        return "The session is archived: there is nothing to claim."
    status = parts.value(state, "status")
    if status in ("complete", "abandoned"):
        return f"The session is {status}: there is nothing to claim."
    if (state.get("handoff") or {}).get("claimed_by"):
        return "`holdfast resume` shows where it stands."
    return "`holdfast resume --claim` claims it."


def continue_here(state: dict[str, Any]) -> str:
    """How to continue a paused session. It names its session and version, so that a stale copy is visible."""
    recovery = state.get("recovery") or {}
    lines = [
        *_head(state, "Continue here"),
        f"Paused at version {state['commits']:,}, {_minute(state['updated'] or '')}, by {inline(state['by'] or '')}.",
        "",
        f"- **Goal:** {inline(parts.goal(state), 400)}",
    ]
    if phase := parts.value(state, "phase"):
        lines.append(f"- **Phase:** {inline(phase)} {parts.phase_place(state)}".rstrip())
    task = parts.current_task(state)
    if task:
        lines.append(f"- **Task:** {inline(task['id'])} - {inline(task['title'])}")
    if recovery.get("last_action"):
        lines.append(f"- **Last action:** {inline(recovery['last_action'])}")
    if recovery.get("notes"):
        lines.append(f"- **Notes:** {inline(recovery['notes'], 700)}")
    lines += ["", *_checkpoint(state), *_listed(state, "Next Actions", "next", "text")]
    session = inline(str(state["session"]))
    lines += [f"To continue: `holdfast continue --session {session}`, then `holdfast resume`.", ""]
    return _page(lines, state)


PAGES: dict[str, Callable[[dict[str, Any]], str]] = {"LOOPS.md": loops_md, "CONTEXT.md": context_md}
"""Views that are generated on demand."""


# -- parts of a page --------------------------------------------------------------------------------------


def _head(state: dict[str, Any], title: str) -> list[str]:
    return [
        "---",
        "version: 1",
        MARK,
        f"updated: {inline(str(state['updated']))}",
        f"session: {inline(str(state['session']))}",
        "---",
        "",
        f"# {title}: {inline(parts.value(state, 'goal'))}",
        "",
    ]


def _page(lines: list[str], state: dict[str, Any]) -> str:
    return sealed("\n".join(lines).rstrip("\n") + "\n", state)


def _minute(at: str) -> str:
    return inline(f"{at[:10]} {at[11:16]}")


def _cut(missing: int, what: str, command: str) -> list[str]:
    return [f"{missing:,} more {what}: `{command}`.", ""] if missing > 0 else []


def _contested(state: dict[str, Any]) -> list[str]:
    contests = contested.contests(state["registers"])
    if not contests:
        return []
    lines = ["## Contested", ""]
    for contest in contests[:_ALL]:
        rivals = ", ".join(
            f"{inline(str(r['value']), 200)} (by {inline(r['by'])})" for r in contest["rivals"]
        )
        lines.append(
            f"- {inline(contest['name'])} is {inline(str(contest['value']), 200)} "
            f"(by {inline(contest['by'])}); also set: {rivals}"
        )
    return [*lines, ""]


def _tasks(state: dict[str, Any]) -> list[str]:
    """The open tasks, the current one first."""
    current = parts.current_task(state)
    tasks = sorted(parts.opened(state, "tasks"), key=lambda task: task is not current)
    lines = [
        f"- {inline(task['id'])} ({_task_status(task)}): {inline(task['title'], 400)}"
        for task in tasks[:_ALL]
    ]
    lines += _cut(len(tasks) - _ALL, "tasks", "holdfast task list")[:1]
    return ["## Tasks", "", *lines, ""] if lines else []


def _task_status(task: dict[str, Any]) -> str:
    said = inline(task["status"])
    if task.get("blocked_by"):
        said = f"blocked: {inline(task['blocked_by'], 200)}"
    return f"{said}; after {', '.join(map(inline, task['depends_on']))}" if task.get("depends_on") else said


def _decisions(state: dict[str, Any]) -> list[str]:
    unsettled, settled = parts.opened(state, "decisions"), parts.closed(state, "decisions")
    lines = ["## Decisions", ""]
    for decision in unsettled[:_ALL]:
        planned = f"; to do: {inline(decision['action'])}" if decision["action"] else ""
        lines.append(
            f"- {inline(decision['id'])} **has no outcome**: {inline(decision['text'], 400)}, "
            f"because {inline(decision['because'], 400)}{planned}"
        )
    lines += _cut(len(unsettled) - _ALL, "decisions without outcome", "holdfast recover")[:1]
    for decision in reversed(settled):
        said = f"{inline(decision['text'], 400)}, because {inline(decision['because'], 400)}"
        line = f"- {inline(decision['id'])}: {said}"
        if decision["outcome"] is not None:
            verdict = "Outcome:" if decision["ok"] else "**Failed:**"
            line += f". {verdict} {inline(decision['outcome'], 400)}"
        lines.append(line)
    return [*lines, ""] if len(lines) > 2 else []


def _checkpoint(state: dict[str, Any]) -> list[str]:
    checkpoint = state.get("checkpoint")
    if not checkpoint:
        return []
    lines = ["## Checkpoint", ""]
    for key, label in (("message", "Message"), ("last_completed", "Completed"), ("instruction", "To resume")):
        if checkpoint.get(key):
            lines.append(f"- {label}: {inline(checkpoint[key], 700)}")
    lines += [f"- Pending: {inline(step)}" for step in checkpoint.get("pending") or ()]
    return [*lines, ""]


def _listed(state: dict[str, Any], title: str, name: str, key: str) -> list[str]:
    entries = parts.opened(state, name)
    lines = [f"## {title}", ""]
    lines += [f"- {inline(entry['id'])}: {inline(entry[key], 400)}" for entry in entries[:_ALL]]
    if len(entries) > _ALL:
        lines.append(f"- {len(entries) - _ALL:,} more")
    return [*lines, ""] if entries else []
