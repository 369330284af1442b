"""What a session is for, what is being worked on, and how it stands."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Goals(Handle):
    def set_goal(self, goal: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Change what the session is for."""
        return self.commit(lambda state, mint: concepts.session.set_goal(state, goal), op=op, expect=expect)

    def set_focus(self, focus: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Say what is being worked on right now."""
        return self.commit(lambda state, mint: concepts.session.set_focus(state, focus), op=op, expect=expect)

    def mark(self, status: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Set the status: working, blocked or awaiting-input. The others are set by their own commands."""
        return self.commit(lambda state, mint: concepts.session.mark(state, status), op=op, expect=expect)
