"""The backlog of a project."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.typed import Any
from holdfast.workspace.handle import Handle, Receipt


class Backlogs(Handle):
    def add_item(
        self,
        title: str,
        *,
        priority: str = "medium",
        epic: str | None = None,
        tags: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Put something on the backlog."""
        labels, before = list(tags), list(depends_on)
        return self.commit(
            lambda state, mint: concepts.backlog.add(state, mint, title, priority, epic, labels, before),
            op=op,
            expect=expect,
        )

    def edit_item(
        self, item: str, *, op: str | None = None, expect: int | None = None, **changes: Any
    ) -> Receipt:
        """Change fields of an item: title, priority, status, epic, tags, depends_on."""
        return self.commit(
            lambda state, mint: concepts.backlog.edit(state, item, changes), op=op, expect=expect
        )

    def start_item(self, item: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Begin an item that nothing holds up."""
        return self.commit(lambda state, mint: concepts.backlog.start(state, item), op=op, expect=expect)

    def close_item(
        self,
        item: str,
        result: str | None = None,
        *,
        outcome: str = "done",
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Take an item off the backlog, done or dropped."""
        return self.commit(
            lambda state, mint: concepts.backlog.close(state, item, result, outcome), op=op, expect=expect
        )

    def backlog(self) -> list[dict[str, Any]]:
        """Everything on the backlog, most urgent first."""
        return sorted(self.state["backlog"]["open"].values(), key=concepts.backlog.rank)

    def ready(self) -> list[dict[str, Any]]:
        """What can be started now, most urgent first."""
        return concepts.backlog.ready(self.state)
