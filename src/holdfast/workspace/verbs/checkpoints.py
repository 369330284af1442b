"""How far the work has come."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.workspace.handle import Handle, Receipt


class Checkpoints(Handle):
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


def _listed(texts: Iterable[str]) -> list[str]:
    """One text is a list of one, not of its letters."""
    return [texts] if isinstance(texts, str) else list(texts)
