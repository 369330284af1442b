"""Decisions: written ahead, settled afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Decisions(Handle):
    def decide(
        self,
        text: str,
        *,
        because: str,
        action: str | None = None,
        alternatives: Iterable[str] = (),
        revisit_when: str | None = None,
        loop: str | None = None,
        task: str | None = None,
        risk: str | None = None,
        supersedes: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Write a decision down; when this returns it is durable, and the action may start.

        ``loop``, ``task`` and ``risk`` name what it is about; ``supersedes`` the decision that it replaces.
        """
        others = list(alternatives)
        links = {"loop": loop, "task": task, "risk": risk}
        return self.commit(
            lambda state, mint: concepts.decision.decide(
                state, mint, text, because, action, others, revisit_when, links=links, supersedes=supersedes
            ),
            op=op,
            expect=expect,
        )

    def settle(
        self,
        decision: str,
        outcome: str,
        *,
        ok: bool = True,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Write down how a decision turned out."""
        return self.commit(
            lambda state, mint: concepts.decision.settle(state, decision, outcome, ok), op=op, expect=expect
        )

    def acting(
        self,
        text: str,
        *,
        because: str,
        action: str | None = None,
        alternatives: Iterable[str] = (),
        revisit_when: str | None = None,
        op: str | None = None,
    ) -> Acting:
        """A ``with`` block for an action: the decision is durable before it, the outcome is written after it.

        An exception settles the decision as failed. If the process dies in the block, the decision stays
        unsettled, and ``recover`` lists it.
        """
        receipt = self.decide(
            text,
            because=because,
            action=action,
            alternatives=alternatives,
            revisit_when=revisit_when,
            op=op,
        )
        return Acting(self, receipt)


class Acting:
    """An action under way."""

    def __init__(self, session: Decisions, receipt: Receipt) -> None:
        self.id = receipt.id
        self.decision = receipt
        self._session = session
        self._outcome = "done"

    def outcome(self, text: str) -> None:
        """What to write as the outcome when the block ends well."""
        self._outcome = text

    def __enter__(self) -> Acting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._session.settle(self.id, self._outcome)
        else:
            # Nobody chose these words: a secret in them must not hide the error that they tell of.
            session = self._session.with_secrets("redact")
            session.settle(self.id, f"{type(error).__name__}: {error}".rstrip(": "), ok=False)
