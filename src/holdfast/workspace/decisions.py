"""Decisions: choices, and actions that are announced before they are done and settled after."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType

from holdfast.core import concepts
from holdfast.core.codec import Event
from holdfast.errors import Usage
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.receipt import Receipt

if TYPE_CHECKING:
    from holdfast.workspace.handle import Handle as Base
else:
    Base = object  # the class that mixes this in is a handle


class DecisionCommands(Base):
    """Decisions: recorded before the action, settled after it."""

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
        at: Iterable[str] = (),
        done_when: str | None = None,
        recovery: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record a decision; when this returns it is durable, and the ``action`` that it announces may start.

        With an ``action`` it is unsettled until ``settle`` records the outcome. Without one it is a choice, which
        needs no outcome. ``loop``, ``task`` and ``risk`` name what it is about; ``supersedes`` the decision that it
        replaces, or the capture that it corrects. ``at`` names the places that it is about: ``src/db.py:40-60``,
        ``commit:…``, ``branch:…``, ``package:name@version`` or a URL.

        ``done_when`` says how to see that the action was done: ``file:PATH``, ``git-tag:NAME``, ``git-branch:NAME``,
        ``commit:ID`` or ``port:N``. ``recovery`` says what may be done if its outcome stays unknown: ``read-only`` and
        ``idempotent`` actions can be repeated, ``check-first`` after a look, ``never`` not at all. Either announces
        an action.
        """
        others, places = list(alternatives), self.anchored(at)
        links = {"loop": loop, "task": task, "risk": risk}
        captured = supersedes if supersedes is not None and supersedes[:2].upper() == "C-" else None

        def rule(state: dict[str, Any], mint: Any) -> list[Event]:
            made = concepts.decision.decide(
                state,
                mint,
                text,
                because,
                action,
                others,
                revisit_when,
                links=links,
                supersedes=None if captured else supersedes,
                at=places,
                done_when=done_when,
                recovery=recovery,
            )
            return made if captured is None else concepts.capture.replace(state, captured, made)

        return self.commit(rule, op=op, expect=expect)

    def announce(
        self, text: str, because: str, action: str | None, *, op: str | None = None, **more: Any
    ) -> Receipt:
        """Internal: a decision whose action follows at once, named or not."""
        return self.commit(
            lambda state, mint: concepts.decision.decide(
                state, mint, text, because, action, announced=True, **more
            ),
            op=op,
        )

    def settle(
        self,
        decision: str,
        outcome: str,
        *,
        ok: bool = True,
        exit_code: int | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record how a decision turned out; a choice needs no outcome, but can have one.

        ``exit_code`` is that of the command that was run.
        """
        return self.commit(
            lambda state, mint: concepts.decision.settle(state, decision, outcome, ok, exit_code),
            op=op,
            expect=expect,
        )

    def acting(
        self,
        text: str,
        *,
        because: str,
        action: str | None = None,
        alternatives: Iterable[str] = (),
        revisit_when: str | None = None,
        done_when: str | None = None,
        recovery: str | None = None,
        op: str | None = None,
    ) -> Acting:
        """A ``with`` block for an action: the decision is durable before it, the outcome is recorded after it.

        Nothing is written until the block is entered. An exception settles the decision as failed. If the process
        dies in the block, the decision stays unsettled, and ``recover`` lists it.
        """
        others = list(alternatives)

        def decide() -> Receipt:
            return self.announce(
                text,
                because,
                action,
                op=op,
                alternatives=others,
                revisit_when=revisit_when,
                done_when=done_when,
                recovery=recovery,
            )

        return Acting(self, decide)


class Acting:
    """An action in progress. The decision is recorded when the ``with`` block is entered."""

    def __init__(self, handle: DecisionCommands, decide: Callable[[], Receipt]) -> None:
        self._handle = handle
        self._decide = decide
        self._decision: Receipt | None = None
        self._outcome = "done"

    @property
    def decision(self) -> Receipt:
        """The receipt of the decision."""
        if self._decision is None:
            raise Usage("The decision is recorded when the `with` block is entered; nothing was written.")
        return self._decision

    @property
    def id(self) -> str:
        """The id of the decision, such as ``D-12``."""
        return self.decision.id

    def outcome(self, text: str) -> None:
        """Set the outcome to record when the block succeeds."""
        self._outcome = text

    def __enter__(self) -> Acting:
        if self._decision is not None:
            raise Usage("This action was begun before; call acting() again for another one.")
        if self._handle._update is not None:
            raise Usage(
                "An action cannot begin inside an update: its decision would not be durable before it."
            )
        self._decision = self._decide()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._handle.settle(self.id, self._outcome)
        else:
            # These words come from an exception: a secret in them must not hide the error.
            handle = self._handle.with_secrets("redact")
            handle.settle(self.id, f"{type(error).__name__}: {error}".rstrip(": "), ok=False)
