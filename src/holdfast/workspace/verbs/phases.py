"""Where a session stands in its workflow."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Phases(Handle):
    def declare_phases(
        self,
        phases: list[str],
        *,
        transitions: dict[str, list[str]] | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Name the phases, in order, and enter the first if none was entered yet.

        ``transitions`` says for each phase which ones may follow; without it, the next one and all earlier ones.
        """
        return self.commit(
            lambda state, mint: concepts.phase.declare(state, phases, transitions), op=op, expect=expect
        )

    def enter_phase(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Go to another phase; refused with the list of what is allowed if the transitions forbid it."""
        return self.commit(lambda state, mint: concepts.phase.enter(state, name), op=op, expect=expect)

    def complete_phase(self, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """The present phase is done: go to the next."""
        return self.commit(lambda state, mint: concepts.phase.complete(state), op=op, expect=expect)

    def skip_to_phase(
        self, name: str, because: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Jump to any declared phase, with the reason."""
        return self.commit(
            lambda state, mint: concepts.phase.skip_to(state, name, because), op=op, expect=expect
        )
