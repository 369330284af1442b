"""Loops: open questions."""

from __future__ import annotations

from holdfast.core.concepts import loop as concept
from holdfast.workspace.handle import Handle, Receipt


class Loops(Handle):
    def add_loop(
        self, title: str, *, context: str | None = None, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Keep an open question."""
        return self.commit(lambda state, mint: concept.add(state, mint, title, context), op=op, expect=expect)

    def explore_loop(self, loop: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Begin to look into a question."""
        return self.commit(lambda state, mint: concept.explore(state, loop), op=op, expect=expect)

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
            lambda state, mint: concept.close(state, mint, loop, outcome, decide, because),
            op=op,
            expect=expect,
        )
