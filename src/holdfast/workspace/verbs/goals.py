"""What a session is for."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Goals(Handle):
    def set_goal(self, goal: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Change what the session is for."""
        return self.commit(lambda state, mint: concepts.session.set_goal(state, goal), op=op, expect=expect)
