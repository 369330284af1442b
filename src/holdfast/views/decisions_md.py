"""``DECISIONS.md``: what was decided in a session, why, and how it turned out; first what has no outcome yet."""

from __future__ import annotations

from holdfast.typed import Any
from holdfast.views import parts
from holdfast.views.markdown import inline
from holdfast.views.seal import MARK, sealed

MOST = 100
"""Decisions of one kind on the page; `holdfast decisions` has all."""


def render(state: dict[str, Any]) -> str:
    """The bytes of ``DECISIONS.md``."""
    decisions = state["decisions"]
    unsettled, others = parts.opened(state, "decisions"), parts.closed(state, "decisions")
    lines = [
        "---",
        "version: 1",
        f"updated: {inline(str(state['updated'])).replace(' ', '-')}",
        f"session: {inline(str(state['session'])).replace(' ', '-')}",
        MARK,
        "---",
        "",
        f"# Decisions: {inline(parts.value(state, 'goal'))}",
        "",
        _summary(decisions),
        "",
    ]
    if unsettled:
        lines += ["## Without outcome", ""]
        for decision in unsettled[:MOST]:
            lines += _decision(decision)
    if others:
        lines += ["## Decided", ""]
        for decision in reversed(others[-MOST:]):
            lines += _decision(decision)
    missing = decisions["made"] - min(len(unsettled), MOST) - min(len(others), MOST)
    if missing > 0:
        session = inline(f"{state['user']}/{state['session']}")
        lines += [f"{missing:,} more: `holdfast decisions --session {session}` lists all.", ""]
    return sealed("\n".join(lines).rstrip("\n") + "\n", state)


def _summary(decisions: dict[str, Any]) -> str:
    if not decisions["made"]:
        return "Nothing was decided yet."
    counts = [
        f"{len(decisions['open']):,} without outcome" if decisions["open"] else "",
        f"{decisions['settled']:,} settled" if decisions["settled"] else "",
        f"{decisions['failed']:,} of them failed" if decisions["failed"] else "",
        parts.noun(decisions["chosen"], "choice") if decisions["chosen"] else "",
    ]
    return f"{parts.noun(decisions['made'], 'decision')}: {', '.join(filter(None, counts))}."


def _decision(decision: dict[str, Any]) -> list[str]:
    lines = [f"### {inline(decision['id'])}: {inline(decision['text'], 300)}", ""]
    lines.append(f"- **Because:** {inline(decision['because'], 600)}")
    if decision["action"]:
        lines.append(f"- **To do:** {inline(decision['action'], 600)}")
    if decision.get("outcome") is not None:
        lines.append(f"- **{'Outcome' if decision['ok'] else 'Failed'}:** {_outcome(decision)}")
        lines += [f"- **Settled elsewhere as:** {_outcome(rival)}" for rival in decision["rivals"]]
    if decision["alternatives"]:
        lines.append(
            f"- **Not chosen:** {'; '.join(inline(other, 200) for other in decision['alternatives'])}"
        )
    if places := parts.at(decision):
        lines.append(f"- **At:** {inline(places, 600)}")
    if decision["revisit_when"]:
        lines.append(f"- **Revisit when:** {inline(decision['revisit_when'], 300)}")
    if decision.get("done_when"):
        from holdfast.core.conditions import shown

        lines.append(f"- **Done if:** {inline(shown(decision['done_when']), 300)}")
    if decision.get("recovery"):
        lines.append(f"- **If its outcome stays unknown:** {inline(decision['recovery'], 40)}")
    for link, label in (("task", "Task"), ("loop", "Answers"), ("risk", "Risk")):
        if decision.get(link):
            lines.append(f"- **{label}:** {inline(decision[link], 40)}")
    if decision.get("supersedes"):
        lines.append(f"- **Replaces:** {inline(decision['supersedes'], 40)}")
    if decision.get("superseded_by"):
        lines.append(f"- **Replaced by:** {inline(decision['superseded_by'], 200)}")
    lines.append(f"- **Decided:** {_by(decision['by'], decision['at'])}")
    return [*lines, ""]


def _outcome(settled: dict[str, Any]) -> str:
    return f"{inline(settled['outcome'], 600)} ({_by(settled.get('settled_by'), settled.get('settled_at'))})"


def _by(actor: object, at: object) -> str:
    return f"{inline(str(actor), 60)}, {inline(str(at)[:16].replace('T', ' '))}"
