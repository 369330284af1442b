"""The life cycle of a session: pause and continue, discuss and return, checkpoints, handoffs, actions."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.receipt import Receipt

if TYPE_CHECKING:
    from holdfast.core.actions import Action
    from holdfast.workspace.handle import Handle as Base
else:
    Base = object  # the class that mixes this in is a handle


class Lifecycle(Base):
    """How a session is interrupted, continued, handed off and completed."""

    # -- breaks ------------------------------------------------------------------------------------------

    def pause(
        self,
        notes: str | None = None,
        *,
        action: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Pause. ``notes`` are for the next agent; ``action`` is what was being done.

        The project's folder gets a ``.continue-here.md`` that shows it, until the session continues.
        """
        receipt = self.commit(
            lambda state, mint: concepts.session.pause(state, notes, action), op=op, expect=expect
        )
        return self._shown(receipt)

    def continue_(self, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Continue the session after a pause, or return from a discussion."""
        receipt = self.commit(lambda state, mint: concepts.session.go_on(state), op=op, expect=expect)
        return self._shown(receipt)

    def complete(
        self, outcome: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Complete the session. What is still open stays open and visible."""
        receipt = self.commit(
            lambda state, mint: concepts.session.complete(state, outcome), op=op, expect=expect
        )
        return self._shown(receipt)

    def stopped(self, action: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Record the end of an agent's turn: what it did last, for the next agent. Nothing else changes."""
        return self.commit(lambda state, mint: concepts.session.stop(action), op=op, expect=expect)

    def discuss(self, topic: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Start a discussion; task, focus, status and phase are saved. One level deep."""
        return self.commit(
            lambda state, mint: concepts.discussion.open_discussion(state, topic), op=op, expect=expect
        )

    def return_(
        self, summary: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """End the discussion and restore task, focus, status and phase."""
        return self.commit(
            lambda state, mint: concepts.discussion.close_discussion(state, summary), op=op, expect=expect
        )

    def _shown(self, receipt: Receipt) -> Receipt:
        from holdfast.workspace.handover import show_pause

        self._follow_up(lambda: show_pause(self))
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
        """Save the progress of the work, and how to continue from there."""
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
        """Hand the work off; the next agent claims it with ``claim``."""
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
        """Claim the handoff as ``claimant`` (default: the actor of this workspace).

        A second claimant is refused; the error names the first. Claiming again changes nothing: the receipt is that
        of the first claim, ``repeated``.
        """
        name = claimant if claimant is not None else self.workspace.by
        try:
            receipt = self.commit(
                lambda state, mint: concepts.handoff.claim(state, name, take_over=take_over),
                op=op,
                expect=expect,
            )
        except concepts.handoff.Yours:
            return self._look(_claimed)
        return self._shown(receipt)

    # -- actions -----------------------------------------------------------------------------------------

    def menu(self) -> list[Action]:
        """What can be done now."""
        from holdfast.core import actions

        return self._look(actions.menu)

    def do(self, action: str, *, op: str | None = None, expect: int | None = None) -> Receipt | str:
        """Run a slash action such as ``/close-loop LOOP-007 They never mix``.

        It is the same call as the corresponding method. An action that only shows something is not run: its name
        (``status`` or ``resume``) is returned instead.
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
    """The receipt of the current claim."""
    held = state["handoff"]
    return Receipt(held["id"], state["commits"], held["claim"], held["claimed_at"], True)
