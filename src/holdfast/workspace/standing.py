"""How a session stands: live, left, abandoned, or closed. For lists and for what a successor is told."""

from __future__ import annotations

from holdfast.core import timestamps
from holdfast.core.concepts.session import is_unfinished
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views import parts
from holdfast.workspace.clock import wall_clock

if TYPE_CHECKING:
    from holdfast.workspace.workspace import Workspace


def standing(workspace: Workspace, name: str, state: dict[str, Any]) -> str:
    """``archived``, ``complete`` or ``abandoned``; ``live`` if an agent works on it; ``abandoned?`` if nobody
    wrote to it for the time in the settings; else its status."""
    if state.get("archived"):
        return "archived"
    if not is_unfinished(state):
        return parts.status(state)
    if _is_at_work(workspace, name):
        return "live"
    if is_abandoned(workspace, state):
        return "abandoned?"
    return parts.status(state)


def is_abandoned(workspace: Workspace, state: dict[str, Any]) -> bool:
    """Whether nobody wrote to an unfinished session for the time after which it counts as abandoned."""
    return is_unfinished(state) and is_long_ago(workspace, state.get("updated"))


def is_long_ago(workspace: Workspace, updated: str | None) -> bool:
    """Whether the last commit of a session is older than the time in the settings."""
    from holdfast.workspace.conversations import lenient_limits

    if not updated:
        return False
    return wall_clock() - timestamps.from_iso(updated) >= lenient_limits(workspace).abandoned


def _is_at_work(workspace: Workspace, name: str) -> bool:
    from holdfast.workspace.conversations import others_at_work

    return name in others_at_work(workspace, "")
