"""Secrets that somebody let through: of which kind and in which field, never what they are.

The secret itself stands in the same commit. What the gate does is decided in ``workspace/secrets_filter.py``.
"""

from __future__ import annotations

from holdfast.core.codec import Commit, Event
from holdfast.core.text import one_line
from holdfast.typed import Any

EVENTS = {"secret.allowed": 1}
STEPS: dict[Any, Any] = {}
MOST = 20
"""Findings that one event names."""


def blank() -> dict[str, Any]:
    return {}


def _allowed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    """The fact is for the log alone."""


FOLDS = {"secret.allowed": _allowed}
HEADLINES = {
    "secret.allowed": lambda data: (
        "Let through: "
        + ", ".join(
            f"{one_line(found['kind'], 40)} in {one_line(found['field'], 60)}" for found in data["found"]
        )
    )
}


def allow(found: list[tuple[str, str]], how: str) -> Event:
    """Write down which kinds of secrets were let through, where, and on whose word."""
    named = [{"kind": kind, "field": field} for kind, field in dict.fromkeys(found)]
    return Event("secret.allowed", {"found": named[:MOST], "count": len(found), "how": how})
