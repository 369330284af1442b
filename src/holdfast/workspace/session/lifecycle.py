"""The life of a session: pause and continue, discuss and return, checkpoints, handoffs, actions."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.receipt import Receipt

if TYPE_CHECKING:
    from holdfast.core.actions import Action
    from holdfast.workspace.handle import Handle as Base
else:
    Base = object  # whoever takes these commands in is a handle itself


class Lifecycle(Base):
    """How a session is interrupted, continued, handed on and completed."""

    # -- breaks ------------------------------------------------------------------------------------------

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

        self._afterwards(lambda: show_pause(self))
        return receipt

    # -- checkpoints -------------------------------------------------------------------------------------

    def checkpoint(
        self,
        message: str,
        *,
        last_completed: str | None = None,
        pending: Iterable[str] = (),
        can_resume: bool = True,
        instruction: str | None = None,
        tools: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Save how far the work has come, and how to go on from there."""
        steps, names = _listed(pending), _listed(tools)
        return self.commit(
            lambda state, mint: concepts.checkpoint.save(
                state,
                message,
                last_completed=last_completed,
                pending=steps,
                can_resume=can_resume,
                instruction=instruction,
                tools=names,
            ),
            op=op,
            expect=expect,
        )

    # -- handoffs ----------------------------------------------------------------------------------------

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
            return self._look(_claimed)

    # -- actions -----------------------------------------------------------------------------------------

    def menu(self) -> list[Action]:
        """What can be done now."""
        from holdfast.core import actions

        return self._look(actions.menu)

    def do(self, action: str, *, op: str | None = None, expect: int | None = None) -> Receipt | str:
        """Run a slash action such as ``/close-loop LOOP-007 They never mix``.

        It is the same call as the method of its own. An action that only shows something is not run: its name
        (``status`` or ``resume``) comes back instead.
        """
        from holdfast.core import actions

        call = self._look(lambda state: actions.call(state, action))
        if call.method in actions.READS:
            return call.method
        receipt: Receipt = getattr(self, call.method)(*call.arguments, **call.named, op=op, expect=expect)
        return receipt


def _listed(texts: Iterable[str]) -> list[str]:
    """One text is a list of one, not of its characters."""
    return [texts] if isinstance(texts, str) else list(texts)


def _claimed(state: dict[str, Any]) -> Receipt:
    """The receipt of the claim that is held."""
    held = state["handoff"]
    return Receipt(held["id"], state["commits"], held["claim"], held["claimed_at"], True)
