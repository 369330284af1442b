"""The token budget in Markdown: what is used, its zone, and the zone's advice."""

from __future__ import annotations

from holdfast.core.concepts.budget import STRATEGIES, ZONES
from holdfast.typed import Any

LIGHTS = {"comfortable": "🟢", "deliberate": "🟡", "warning": "🟠", "stop": "🔴"}
_HERE = " ← YOU ARE HERE"


def percentage(budget: dict[str, Any]) -> int | None:
    """How much of the total is used, rounded down; None without a total."""
    total = budget.get("total")
    return budget.get("used", 0) * 100 // total if total else None


def budget_lines(state: dict[str, Any]) -> list[str]:
    """The lines of the section Token Budget."""
    budget = state.get("budget") or {}
    used, zone = budget.get("used", 0), budget.get("zone") or ZONES[0]
    share = percentage(budget)
    if share is None:
        return [f"- **Status:** {used:,} tokens counted; no total is set: `holdfast budget set TOKENS`"]
    light = LIGHTS.get(zone, "")
    spans = dict(zip(ZONES, _spans(budget), strict=True))
    return [
        f"- **Status:** {used:,} / {budget['total']:,} tokens ({share}%) - {zone}",
        f"- **Phase:** {light} {zone.capitalize()} zone ({spans.get(zone, '')})",
        *_zones(budget, zone),
    ]


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
