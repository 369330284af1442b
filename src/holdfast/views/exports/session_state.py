"""``session-state.json``: the working state as governance tools check it.

The contract has eight required fields: ``goal`` and ``current_phase`` (texts), ``decisions``, ``open_risks``,
``blocked_by``, ``next_actions`` and ``artifacts`` (lists of texts) and ``last_updated`` (ISO-8601). Three more belong
to the runtime: ``plugin_version`` (what wrote the state), ``legal_reviews`` (a list of texts to which is only added)
and ``compaction_count`` (a number).
"""

from __future__ import annotations

import json
from typing import Any

from holdfast import __version__
from holdfast.core import contested


def contract(state: dict[str, Any]) -> dict[str, Any]:
    """The object of the contract, from a session's state."""
    registers = state["registers"]
    decisions = state["decisions"]
    known = sorted([*decisions["closed"], *decisions["open"].values()], key=lambda d: str(d["commit"]))
    return {
        "goal": contested.value(registers, "goal", ""),
        "current_phase": contested.value(registers, "phase") or "",
        "decisions": [_decision(decision) for decision in known],
        "open_risks": _texts(state, "risks"),
        "blocked_by": _texts(state, "blockers"),
        "next_actions": _texts(state, "next"),
        "artifacts": sorted(
            e["path"] for e in state["references"]["open"].values() if e["kind"] == "artifact"
        ),
        "last_updated": state["updated"] or "",
        "plugin_version": f"holdfast {__version__}",
        "legal_reviews": [_review(review) for review in state.get("legal", {}).get("last", ())],
        "compaction_count": state.get("compactions", {}).get("count", 0),
    }


def render(state: dict[str, Any]) -> str:
    """The text of ``session-state.json``."""
    return json.dumps(contract(state), ensure_ascii=False, indent=2) + "\n"


def _decision(decision: dict[str, Any]) -> str:
    line = f"{decision['id']}: {decision['text']} (because {decision['because']})"
    if "outcome" in decision:
        return f"{line}: {'done' if decision['ok'] else 'failed'}, {decision['outcome']}"
    return f"{line}: not confirmed"


def _texts(state: dict[str, Any], name: str) -> list[str]:
    return [f"{entry['id']}: {entry['text']}" for entry in state.get(name, {}).get("open", {}).values()]


def _review(review: dict[str, Any]) -> str:
    outcome = f": {review['outcome']}" if review.get("outcome") else ""
    return f"{review['id']}: {review['text']}{outcome}"
