"""``session-state.json``: the working state as governance tools check it.

The contract has eight required fields: ``goal`` and ``current_phase`` (texts), ``decisions``, ``open_risks``,
``blocked_by``, ``next_actions`` and ``artifacts`` (lists of texts) and ``last_updated`` (ISO-8601). Three more belong
to the runtime: ``plugin_version`` (what wrote the state), ``legal_reviews`` (a list of texts to which is only added)
and ``compaction_count`` (a number).

Decisions and legal reviews are taken from the log: the contract wants all of them, and the state has the last few.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.core import concepts, contested, upcast
from holdfast.core.codec import Commit
from holdfast.typed import Any
from holdfast.version import __version__


def contract(state: dict[str, Any], commits: Iterable[Commit]) -> dict[str, Any]:
    """The object of the contract, from a session's state and log."""
    registers = state["registers"]
    decisions, reviews = _from_log(commits)
    return {
        "goal": contested.value(registers, "goal", ""),
        "current_phase": contested.value(registers, "phase") or "",
        "decisions": decisions,
        "open_risks": _texts(state, "risks"),
        "blocked_by": _texts(state, "blockers"),
        "next_actions": _texts(state, "next"),
        "artifacts": sorted(
            e["path"] for e in state["references"]["open"].values() if e["kind"] == "artifact"
        ),
        "last_updated": state["updated"] or "",
        "plugin_version": f"holdfast {__version__}",
        "legal_reviews": reviews,
        "compaction_count": state["compactions"]["count"],
    }


def render(state: dict[str, Any], commits: Iterable[Commit]) -> str:
    """The text of ``session-state.json``."""
    return json.dumps(contract(state, commits), ensure_ascii=False, indent=2) + "\n"


def _from_log(commits: Iterable[Commit]) -> tuple[list[str], list[str]]:
    """Every decision with its first outcome, and every legal review, oldest first, in full."""
    made: dict[str, str] = {}
    choices = set()
    outcomes: dict[str, str] = {}
    reviews = []
    for commit in commits:
        for event in commit.events:
            meaning = concepts.meaning("session", event.type)
            if meaning is None or event.type not in ("decision.made", "decision.settled", "legal.reviewed"):
                continue
            data = upcast.to_current(event, meaning)
            if event.type == "decision.made":
                made[data["id"]] = f"{data['id']}: {data['text']} (because {data['because']})"
                if concepts.decision.is_choice(data):
                    choices.add(data["id"])
            elif event.type == "decision.settled":
                outcomes.setdefault(data["id"], f"{'done' if data['ok'] else 'failed'}, {data['outcome']}")
            else:
                reviews.append(f"{data['id']}: {data['text']}: {data['outcome']}")
    lines = [
        line
        if short in choices and short not in outcomes
        else f"{line}: {outcomes.get(short, 'not confirmed')}"
        for short, line in made.items()
    ]
    return lines, reviews


def _texts(state: dict[str, Any], name: str) -> list[str]:
    return [f"{entry['id']}: {entry['text']}" for entry in state[name]["open"].values()]
