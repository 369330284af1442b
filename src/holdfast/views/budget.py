"""The token budget in Markdown: what is used, its zone, and the zone's advice."""

from __future__ import annotations

from holdfast.core.concepts.budget import STRATEGIES, ZONES, total_of
from holdfast.typed import Any

LIGHTS = {"comfortable": "🟢", "deliberate": "🟡", "warning": "🟠", "stop": "🔴"}
_HERE = " ← YOU ARE HERE"


def percentage(budget: dict[str, Any]) -> int | None:
    """How much of the total is used, rounded down; None without a total."""
    total = total_of(budget) if budget else None
    return int(budget.get("used", 0)) * 100 // total if total else None


def usage(state: dict[str, Any]) -> str:
    """How full the context is, in a few words; empty if nothing was measured or counted against a total."""
    budget = state.get("budget") or {}
    share = percentage(budget)
    if share is None:
        return ""
    how = "measured" if budget.get("measured") else "counted"
    return f"{budget['used']:,} of {total_of(budget):,} tokens ({share} %, {how}), {budget['zone']}"


def advice(state: dict[str, Any]) -> str:
    """What the zone of a context advises; empty while there is plenty of room, or if nothing is known."""
    budget = state.get("budget") or {}
    if percentage(budget) is None or budget["zone"] == ZONES[0]:
        return ""
    return f"context {usage(state)}: {STRATEGIES[budget['zone']]}"


def budget_lines(state: dict[str, Any]) -> list[str]:
    """The lines of the section Token Budget."""
    budget = state.get("budget") or {}
    used, zone = budget.get("used", 0), budget.get("zone") or ZONES[0]
    share = percentage(budget)
    if share is None:
        how = "measured" if budget.get("measured") else "counted"
        return [f"- **Status:** {used:,} tokens {how}; no total is set: `holdfast budget set TOKENS`"]
    light = LIGHTS.get(zone, "")
    spans = dict(zip(ZONES, _spans(budget), strict=True))
    return [
        f"- **Status:** {used:,} / {total_of(budget):,} tokens ({share}%) - {zone}{_measured(budget)}",
        f"- **Phase:** {light} {zone.capitalize()} zone ({spans.get(zone, '')})",
        *_zones(budget, zone),
    ]


def _measured(budget: dict[str, Any]) -> str:
    return ", measured" if budget.get("measured") else ""


def _spans(budget: dict[str, Any]) -> list[str]:
    low, middle, high = (budget.get("limits") or [20, 40, 50])[:3]
    return [f"0-{low}%", f"{low}-{middle}%", f"{middle}-{high}%", f"{high}%+"]


def _zones(budget: dict[str, Any], zone: str) -> list[str]:
    meanings = ("exploratory", "focused", "reduce context", "must exclude")
    lines = [f"- **Strategy:** {STRATEGIES.get(zone, '')}"]
    for name, span, meaning in zip(ZONES, _spans(budget), meanings, strict=True):
        here = _HERE if name == zone else ""
        lines.append(f"  - {span} {LIGHTS[name]} {name.capitalize()} ({meaning}){here}")
    return lines
