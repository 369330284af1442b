"""What to watch in a session: loops, risks, blockers, next actions, errors, legal reviews."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace.receipt import Receipt

if TYPE_CHECKING:
    from holdfast.workspace.handle import Handle as Base
else:
    Base = object  # the class that mixes this in is a handle


class Concerns(Base):
    """What is open, what may go wrong and what went wrong."""

    # -- loops -------------------------------------------------------------------------------------------

    def add_loop(
        self, title: str, *, context: str | None = None, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Add an open question."""
        return self.commit(
            lambda state, mint: concepts.loop.add(state, mint, title, context), op=op, expect=expect
        )

    def explore_loop(self, loop: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Start to explore a question."""
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
        """Answer a question. With ``decide`` the same commit records a decision, linked both ways."""
        return self.commit(
            lambda state, mint: concepts.loop.close(state, mint, loop, outcome, decide, because),
            op=op,
            expect=expect,
        )

    # -- captures ----------------------------------------------------------------------------------------

    def confirm_capture(
        self,
        capture: str,
        *,
        text: str | None = None,
        because: str | None = None,
        become: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Confirm what a hook captured: it becomes a decision, a loop or a next action (``become``; by default as its
        kind says). ``text`` and ``because`` correct it."""
        return self.commit(
            lambda state, mint: concepts.capture.confirm(state, mint, capture, text, because, become),
            op=op,
            expect=expect,
        )

    def drop_capture(
        self, capture: str, reason: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Drop what a hook captured: it was wrong, or does not matter."""
        return self.commit(
            lambda state, mint: concepts.capture.drop(state, capture, reason), op=op, expect=expect
        )

    # -- risks, blockers, next actions, errors -----------------------------------------------------------

    def add_risk(
        self, text: str, *, severity: str | None = None, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Name a risk; ``severity`` is low, medium, high or critical."""
        return self.commit(
            lambda state, mint: concepts.risk.add(state, mint, text, severity), op=op, expect=expect
        )

    def close_risk(
        self, which: str, outcome: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Close a risk, with a reason."""
        return self.commit(
            lambda state, mint: concepts.risk.close(state, which, outcome), op=op, expect=expect
        )

    def add_blocker(self, text: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Add something that blocks the work."""
        return self.commit(lambda state, mint: concepts.blocker.add(state, mint, text), op=op, expect=expect)

    def close_blocker(
        self, which: str, outcome: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Close a blocker, and say how."""
        return self.commit(
            lambda state, mint: concepts.blocker.close(state, which, outcome), op=op, expect=expect
        )

    def add_next(self, text: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Add a next action."""
        return self.commit(
            lambda state, mint: concepts.next_action.add(state, mint, text), op=op, expect=expect
        )

    def finish_next(
        self, which: str, outcome: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Mark a next action as done."""
        return self.commit(
            lambda state, mint: concepts.next_action.finish(state, which, outcome), op=op, expect=expect
        )

    def add_error(
        self,
        text: str,
        *,
        tried: str | None = None,
        remedy: str | None = None,
        at: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record an error, with what was tried, the remedy if it is already known, and ``at`` which places."""
        places = self.anchored(at)
        return self.commit(
            lambda state, mint: concepts.error.add(state, mint, text, tried, remedy, places),
            op=op,
            expect=expect,
        )

    def remedy_error(
        self, which: str, remedy: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Record the remedy for an error."""
        return self.commit(
            lambda state, mint: concepts.error.close(state, which, remedy), op=op, expect=expect
        )

    def legal_review(
        self, text: str, *, outcome: str, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Record what was reviewed, and the result."""
        return self.commit(
            lambda state, mint: concepts.legal.add(state, mint, text, outcome), op=op, expect=expect
        )
