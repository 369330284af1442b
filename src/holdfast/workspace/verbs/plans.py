"""Plans that wait for approval."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Plans(Handle):
    def propose_plan(
        self,
        title: str,
        text: str | None = None,
        *,
        supersedes: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Put a plan up for approval; it may take the place of one that waits."""
        return self.commit(
            lambda state, mint: concepts.plan.propose(state, mint, title, text, supersedes),
            op=op,
            expect=expect,
        )

    def edit_plan(
        self, plan: str | None, text: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Change the text of a plan; None is the only one that waits."""
        return self.commit(lambda state, mint: concepts.plan.edit(state, plan, text), op=op, expect=expect)

    def approve_plan(
        self,
        plan: str | None = None,
        *,
        reason: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """The plan will be carried out; without an id, the only one that waits."""
        return self.commit(
            lambda state, mint: concepts.plan.approve(state, plan, reason), op=op, expect=expect
        )

    def reject_plan(
        self, plan: str | None, reason: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """The plan will not be carried out, and why; None is the only one that waits."""
        return self.commit(
            lambda state, mint: concepts.plan.reject(state, plan, reason), op=op, expect=expect
        )
