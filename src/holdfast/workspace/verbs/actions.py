"""Slash actions: the menu, and running one of its entries."""

from __future__ import annotations

from holdfast.typed import TYPE_CHECKING
from holdfast.workspace.handle import Handle, Receipt

if TYPE_CHECKING:
    from holdfast.core.actions import Action


class Actions(Handle):
    def menu(self) -> list[Action]:
        """What can be done now."""
        from holdfast.core import actions

        return actions.menu(self.peek().state)

    def do(self, action: str, *, op: str | None = None, expect: int | None = None) -> Receipt | str:
        """Run a slash action such as ``/close-loop LOOP-007 They never mix``.

        It is the same call as the method of its own. An action that only shows something is not run: its name
        (``status`` or ``resume``) comes back instead.
        """
        from holdfast.core import actions

        call = actions.call(self.peek().state, action)
        if call.method in actions.READS:
            return call.method
        receipt: Receipt = getattr(self, call.method)(*call.arguments, **call.named, op=op, expect=expect)
        return receipt
