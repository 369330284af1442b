"""Secrets that were allowed: their kinds and fields, never their values.

The secret itself is in the same commit. ``workspace/secrets_filter.py`` applies the policy.
"""

from __future__ import annotations

from holdfast.core.codec import Commit, Event
from holdfast.core.text import one_line
from holdfast.typed import Any

EVENTS = {"secret.allowed": 1}
STEPS: dict[Any, Any] = {}
MOST = 20
"""The most findings that one event names."""


def blank() -> dict[str, Any]:
    return {}


def _allowed(state: dict[str, Any], data: dict[str, Any], commit: Commit) -> None:
    """Nothing to fold: this is only in the log."""


FOLDS = {"secret.allowed": _allowed}
HEADLINES = {
    "secret.allowed": lambda data: (
        "Allowed: "
        + ", ".join(
            f"{one_line(found['kind'], 40)} in {one_line(found['field'], 60)}" for found in data["found"]
        )
    )
}


def allow(found: list[tuple[str, str]], how: str) -> Event:
    """Record which kinds of secrets were allowed, where, and by which setting."""
    named = [{"kind": kind, "field": field} for kind, field in dict.fromkeys(found)]
    return Event("secret.allowed", {"found": named[:MOST], "count": len(found), "how": how})
