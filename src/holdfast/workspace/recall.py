"""What the rest of the memory has for a session: its project, its user, and what other sessions wrote.

Other sessions are found through the index, by the files that they share and by the words of the goal and of the last
request. Nothing here may keep a command from its work: what cannot be read is left out.
"""

from __future__ import annotations

from holdfast.core.stream import PROJECT
from holdfast.errors import HoldfastError
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.views.brief_sections import Known
from holdfast.workspace.clock import wall_clock

if TYPE_CHECKING:
    from holdfast.workspace.session import Session
    from holdfast.workspace.workspace import Workspace


def known_for(session: Session) -> Known:
    """What a brief of the session can recall."""
    workspace = session.workspace
    return Known(
        project=state_of(workspace, PROJECT),
        person=state_of(workspace, f"users/{session.user}"),
        now=wall_clock(),
    )


def state_of(workspace: Workspace, stream: str) -> dict[str, Any]:
    """The state of another stream; empty if it cannot be read."""
    from holdfast.workspace.handle import Handle

    try:
        return Handle(workspace, stream).peek().state
    except HoldfastError:
        return {}
