"""The session handle: one method for each command on a session, one property for each thing to read."""

from __future__ import annotations

from holdfast.core.stream import last_part, owner
from holdfast.workspace.decisions import DecisionCommands
from holdfast.workspace.handle import Handle
from holdfast.workspace.reading import Reading, SessionReading, SessionState
from holdfast.workspace.session.concerns import Concerns
from holdfast.workspace.session.context import Context
from holdfast.workspace.session.lifecycle import Lifecycle
from holdfast.workspace.session.work import Work

__all__ = ["Session"]


class Session(DecisionCommands, Work, Concerns, Context, Lifecycle, Handle, SessionReading, Reading):
    """One piece of work. A session may be used by several threads at once."""

    @property
    def id(self) -> str:
        """The session's own id, such as ``2026-01-21-k7f3q2xw``."""
        return last_part(self.stream)

    @property
    def user(self) -> str:
        """The owner of the session."""
        return owner(self.stream)

    @property
    def name(self) -> str:
        """``user/id``: what ``Workspace.session`` takes and ``Workspace.sessions`` returns."""
        return f"{self.user}/{self.id}"

    def read(self, at: int | str | None = None) -> SessionState:
        """The state at one version, so that values read from it are consistent.

        ``at`` is a version (the first N commits) or a timestamp (ISO 8601, UTC); without it, the newest.
        """
        return SessionState(self._state_at(at))

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.user} in {self.workspace.where}>"
