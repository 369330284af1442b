"""What holds for a project: standing orders, controls that fired, facts."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.typed import Any
from holdfast.workspace.handle import Handle, Receipt


class Rules(Handle):
    def order(self, text: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Give a standing order: it is active in every session until it is lifted."""
        return self.commit(lambda state, mint: concepts.order.give(state, mint, text), op=op, expect=expect)

    def lift(
        self, order_id: str, reason: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """End a standing order."""
        return self.commit(
            lambda state, mint: concepts.order.lift(state, order_id, reason), op=op, expect=expect
        )

    def caught(
        self,
        control_name: str,
        what: str,
        *,
        outcome: str | None = None,
        caught_by: str | None = None,
        notes: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Write down that a control caught something."""
        return self.commit(
            lambda state, mint: concepts.control.fire(
                state, mint, control_name, what, outcome, caught_by, notes
            ),
            op=op,
            expect=expect,
        )

    def add_fact(
        self,
        text: str,
        *,
        check: dict[str, Any] | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Keep a fact about the project; ``check`` says what must be true of the world for it to hold."""
        return self.commit(
            lambda state, mint: concepts.fact.add(state, mint, text, check), op=op, expect=expect
        )

    def drop_fact(
        self, fact_id: str, reason: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Keep a fact no longer."""
        return self.commit(
            lambda state, mint: concepts.fact.drop(state, fact_id, reason), op=op, expect=expect
        )
