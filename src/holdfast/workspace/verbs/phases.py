"""Where a session stands in its workflow."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Phases(Handle):
    def declare_phases(
        self, phases: list[str], *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Name the phases, in order, and enter the first if none was entered yet."""
        return self.commit(lambda state, mint: concepts.phase.declare(state, phases), op=op, expect=expect)

    def enter_phase(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Go to another phase; refused with the list of what is allowed if the declared order forbids it."""
        return self.commit(lambda state, mint: concepts.phase.enter(state, name), op=op, expect=expect)
