"""``session-decisions-index.yaml``: the decisions to know before continuing.

The format is a curated window, not the whole chain: ``standing_orders`` (always active) and ``recent`` decisions. Here
``unsettled`` stands between the two, and the counts say how many there are in all. Long texts are shortened as in the
state; the log has them in full.
"""

from __future__ import annotations

from holdfast.typed import Any
from holdfast.views import yaml_text

RECENT = 20


def render(project: dict[str, Any], session: dict[str, Any] | None = None) -> str:
    """The text of the index, from the project's state and, if there is one, a session's."""
    states = [project] if session is None else [project, session]
    unsettled = [_decision(d, state) for state in states for d in state["decisions"]["open"].values()]
    settled = [_decision(d, state) for state in states for d in state["decisions"]["closed"]]
    return yaml_text.dump(
        {
            "total": sum(state["decisions"]["made"] for state in states),
            "updated": max((state["updated"] for state in states if state["updated"]), default=None),
            "standing_orders": [
                {"id": order["id"], "order": order["text"], "since": order["at"], "by": order["by"]}
                for order in project["orders"]["open"].values()
            ],
            "unsettled": sorted(unsettled, key=_age),
            "recent": sorted(settled, key=_age)[-RECENT:],
        }
    )


def _age(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["at"], entry["id"]


def _decision(decision: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "id": decision["id"],
        "at": decision["at"],
        "by": decision["by"],
        "session": state.get("session"),
        "decision": decision["text"],
        "because": decision["because"],
        "action": decision["action"],
        "alternatives": decision["alternatives"],
        "revisit_when": decision["revisit_when"],
    }
    if decision.get("outcome") is not None:
        shown |= {"outcome": decision["outcome"], "ok": decision["ok"], "settled_at": decision["settled_at"]}
        if decision["rivals"]:
            shown["also_settled_as"] = [rival["outcome"] for rival in decision["rivals"]]
    return shown
