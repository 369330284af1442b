"""Legal reviews: append-only, exempt from compaction."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import short_ids
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.typed import Any

EVENTS = {"legal.reviewed": 1}
STEPS: dict[Any, Any] = {}
KEPT = 20


def blank() -> dict[str, Any]:
    return {"legal": {"count": 0, "last": []}}


def _reviewed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    legal = state["legal"]
    short_ids.note(state, data["id"])
    legal["count"] += 1
    legal["last"].append(
        {
            "id": data["id"],
            "text": excerpt(data["text"]),
            "outcome": excerpt(data["outcome"]),
            "at": commit.at,
            "by": commit.by,
            "origin": commit.origin,
        }
    )
    del legal["last"][:-KEPT]


FOLDS = {"legal.reviewed": _reviewed}
HEADLINES = {"legal.reviewed": lambda data: f"Legal review {data['id']}: {one_line(data['outcome'])}"}


def add(state: dict[str, Any], mint: Callable[[str], str], text: str, outcome: str) -> list[Event]:
    """Record a review: its subject and outcome."""
    data = {
        "id": mint("L"),
        "text": checked_text(text, "subject of the review"),
        "outcome": checked_text(outcome, "outcome"),
    }
    return [Event("legal.reviewed", data)]
