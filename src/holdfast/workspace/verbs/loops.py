"""Loops: open questions."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Loops(Handle):
    def add_loop(
        self, title: str, *, context: str | None = None, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Keep an open question."""
        return self.commit(
            lambda state, mint: concepts.loop.add(state, mint, title, context), op=op, expect=expect
        )

    def explore_loop(self, loop: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Begin to look into a question."""
        return self.commit(lambda state, mint: concepts.loop.explore(state, loop), op=op, expect=expect)

    def close_loop(
        self,
        loop: str,
        outcome: str,
        *,
        decide: str | None = None,
        because: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Answer a question. With ``decide`` the same commit makes a decision of it, linked both ways."""
        return self.commit(
            lambda state, mint: concepts.loop.close(state, mint, loop, outcome, decide, because),
            op=op,
            expect=expect,
        )
