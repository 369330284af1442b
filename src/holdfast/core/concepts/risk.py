"""Risks: what may go wrong."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import collection
from holdfast.core.codec import Commit, Event
from holdfast.core.text import checked_text, excerpt, one_line
from holdfast.errors import Refused
from holdfast.typed import Any

EVENTS = {"risk.added": 1, "risk.closed": 1}
STEPS: dict[Any, Any] = {}
SEVERITIES = ("low", "medium", "high", "critical")


def blank() -> dict[str, Any]:
    return {"risks": collection.blank()}


def _added(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    entry = {"id": data["id"], "text": excerpt(data["text"]), "severity": data.get("severity")}
    collection.add(state, "risks", entry, commit)


def _closed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    collection.close(state, "risks", data["id"], commit, outcome=excerpt(data["outcome"]))


FOLDS = {"risk.added": _added, "risk.closed": _closed}
HEADLINES = {
    "risk.added": lambda data: f"Risk {data['id']}: {one_line(data['text'])}",
    "risk.closed": lambda data: f"Closed risk {data['id']}: {one_line(data['outcome'])}",
}


def add(
    state: dict[str, Any], mint: Callable[[str], str], text: str, severity: str | None = None
) -> list[Event]:
    """Add a risk."""
    collection.check_room(state, "risks", "risks")
    data = {"id": mint("R"), "text": checked_text(text, "risk")}
    if severity is not None:
        if severity not in SEVERITIES:
            raise Refused(
                f"{str(severity)[:40]!r} is not a severity; nothing was written.",
                hint=f"One of: {', '.join(SEVERITIES)}.",
            )
        data["severity"] = severity
    return [Event("risk.added", data)]


def close(state: dict[str, Any], short_id: str, outcome: str) -> list[Event]:
    """Close a risk with its outcome."""
    entry = collection.find(state, "risks", short_id, "risk")
    return [Event("risk.closed", {"id": entry["id"], "outcome": checked_text(outcome, "outcome")})]
