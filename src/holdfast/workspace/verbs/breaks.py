"""Breaks in the work: pause and go on, discuss and return, complete."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Breaks(Handle):
    def pause(
        self,
        notes: str | None = None,
        *,
        action: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Stop for now. ``notes`` are for whoever goes on; ``action`` is what was being done.

        The project's folder gets a ``.continue-here.md`` that shows it, until the session goes on.
        """
        receipt = self.commit(
            lambda state, mint: concepts.session.pause(state, notes, action), op=op, expect=expect
        )
        return self._shown(receipt)

    def continue_(self, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Take the session up again after a pause, or come back from a discussion."""
        receipt = self.commit(lambda state, mint: concepts.session.go_on(state), op=op, expect=expect)
        return self._shown(receipt)

    def complete(
        self, outcome: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """The work is done. What is still open stays open and visible."""
        receipt = self.commit(
            lambda state, mint: concepts.session.complete(state, outcome), op=op, expect=expect
        )
        return self._shown(receipt)

    def stopped(self, action: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """An agent has ended its turn: keep what it did last, for whoever goes on. Nothing else changes."""
        return self.commit(lambda state, mint: concepts.session.stop(action), op=op, expect=expect)

    def discuss(self, topic: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Fork into a discussion; task, focus, status and phase are remembered. One level deep."""
        return self.commit(
            lambda state, mint: concepts.discussion.open_discussion(state, topic), op=op, expect=expect
        )

    def return_(
        self, summary: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """End the discussion and come back to the exact place."""
        return self.commit(
            lambda state, mint: concepts.discussion.close_discussion(state, summary), op=op, expect=expect
        )

    def _shown(self, receipt: Receipt) -> Receipt:
        from holdfast.workspace.handover import show_pause

        show_pause(self)
        return receipt
