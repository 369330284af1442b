"""Controls that fired: which safeguard caught what, and the outcome. Append-only."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import short_ids
from holdfast.core.codec import Commit, Event
from holdfast.core.text import NAME_CAP, checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"control.fired": 1}
STEPS: dict[Any, Any] = {}
KEPT = 20


def blank() -> dict[str, Any]:
    return {"controls": {"count": 0, "last": []}}


def _fired(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    controls = state["controls"]
    short_ids.note(state, data["id"])
    controls["count"] += 1
    controls["last"].append(
        {
            "id": data["id"],
            "control": data["control"],
            "what": excerpt(data["what"]),
            "caught_by": data.get("caught_by") or commit.by,
            "outcome": excerpt(data["outcome"]) if data.get("outcome") else None,
            "notes": excerpt(data["notes"]) if data.get("notes") else None,
            "at": commit.at,
            "by": commit.by,
            "origin": commit.origin,
            "commit": commit.id,
        }
    )
    del controls["last"][:-KEPT]


FOLDS = {"control.fired": _fired}
HEADLINES = {
    "control.fired": lambda data: f"{one_line(data['control'], 60)} caught: {one_line(data['what'])}"
}


def fire(
    state: dict[str, Any],
    mint: Callable[[str], str],
    control: str,
    what: str,
    outcome: str | None = None,
    caught_by: str | None = None,
    notes: str | None = None,
) -> list[Event]:
    """Record that a control caught something."""
    data = {
        "id": mint("C"),
        "control": checked_text(control, "control", cap=NAME_CAP),
        "what": checked_text(what, "catch"),
    }
    if outcome is not None:
        data["outcome"] = checked_text(outcome, "outcome")
    if caught_by is not None:
        data["caught_by"] = checked_text(caught_by, "name of who caught it", cap=NAME_CAP)
    if notes is not None:
        data["notes"] = checked_text(notes, "note")
    return [Event("control.fired", data)]
