"""``state.json``: the small contract that programs read. Under 10 KB whatever the session did."""

from __future__ import annotations

import json
from typing import Any

from holdfast.core import contested
from holdfast.core.text import one_line
from holdfast.views.seal import MARK, sealed

SHOWN = 8
"""Entries of a list that are shown; the rest is counted."""
WIDTH = 160


def contract(state: dict[str, Any]) -> dict[str, Any]:
    """The state as ``state.json`` and ``status --json`` show it."""
    registers = state["registers"]
    decisions = state["decisions"]
    return {
        "format": 1,
        "session_id": state["session"],
        "user": state["user"],
        "goal": one_line(contested.value(registers, "goal", ""), 400),
        "phase": contested.value(registers, "phase"),
        "created_at": state["created"],
        "updated_at": state["updated"],
        "updated_by": state["by"],
        "commits": state["commits"],
        "head": state["head"],
        "contested": [_contest(contest) for contest in contested.contests(registers)[:SHOWN]],
        "valid_phases": [one_line(name, 40) for name in state["phases"]["declared"][:20]],
        "phase_history": [
            {"phase": one_line(p["phase"], 40), "entered_at": p["entered"], "exited_at": p["exited"]}
            for p in state["phases"]["history"][-5:]
        ],
        "decisions": {
            "made": decisions["made"],
            "settled": decisions["settled"],
            "failed": decisions["failed"],
            "unsettled": [_decision(d) for d in list(decisions["open"].values())[:SHOWN]],
            "unsettled_count": len(decisions["open"]),
            "recent": [_decision(d) for d in decisions["closed"][-3:]],
        },
        "notes": {
            "count": state["notes"]["count"],
            "last": [one_line(n["text"], WIDTH) for n in state["notes"]["last"][-3:]],
        },
        "own_events": state["own"],
    }


def _contest(contest: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": contest["name"],
        "value": one_line(str(contest["value"]), 80),
        "rivals": [
            {"value": one_line(str(r["value"]), 80), "by": one_line(r["by"], 40)}
            for r in contest["rivals"][:3]
        ],
    }


def _decision(decision: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "id": decision["id"],
        "text": one_line(decision["text"], WIDTH),
        "because": one_line(decision["because"], 100),
        "at": decision["at"],
        "by": one_line(decision["by"], 40),
    }
    if decision["action"]:
        shown["action"] = one_line(decision["action"], WIDTH)
    if "outcome" in decision:
        shown |= {"outcome": one_line(decision["outcome"], WIDTH), "ok": decision["ok"]}
    return shown


def render(state: dict[str, Any]) -> str:
    """The bytes of ``state.json``."""
    text = json.dumps({"seal": MARK, **contract(state)}, ensure_ascii=False, indent=2) + "\n"
    return sealed(text, state)
