"""Notes, and a program's own events."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.errors import Usage
from holdfast.typed import Any
from holdfast.workspace.handle import Handle, Receipt


class Notes(Handle):
    def note(self, text: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Keep a text worth keeping."""
        return self.commit(lambda state, mint: concepts.note.add(state, text), op=op, expect=expect)

    def record(
        self, event_type: str, data: dict[str, Any], *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Keep an event of the program's own; its type begins with ``x.``. Read back with ``project``."""
        return self.commit(concepts.own.record(event_type, data), op, expect)

    def record_all(
        self,
        events: Iterable[tuple[str, dict[str, Any]]],
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Keep several events of the program's own, each a type and its data, as one commit: all of them or none.

        However many there are, the disk is waited for once.
        """
        made = [event for event_type, data in events for event in concepts.own.record(event_type, data)]
        if not made:
            raise Usage("There is no event to record; nothing was written.")
        return self.commit(made, op=op, expect=expect)
