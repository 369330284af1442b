"""Handing work on."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.typed import Any
from holdfast.workspace.handle import Handle, Receipt


class Handoffs(Handle):
    def hand_off(
        self, message: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Hand the work on; whoever goes on claims it with ``claim``."""
        return self.commit(
            lambda state, mint: concepts.handoff.hand_off(state, mint, message), op=op, expect=expect
        )

    def claim(
        self,
        claimant: str | None = None,
        *,
        take_over: bool = False,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Take the handoff on as ``claimant`` (else as the actor of this workspace).

        A second claimant is refused and told who has it. Claiming again what one has changes nothing: the
        receipt is that of the first claim, ``repeated``.
        """
        name = claimant if claimant is not None else self.workspace.by
        try:
            return self.commit(
                lambda state, mint: concepts.handoff.claim(state, name, take_over=take_over),
                op=op,
                expect=expect,
            )
        except concepts.handoff.Yours:
            working_set = self.peek()
            held: dict[str, Any] = working_set.state["handoff"]
            return Receipt(held["id"], working_set.version, held["claim"], held["claimed_at"], True)
