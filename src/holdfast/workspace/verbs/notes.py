"""Notes, and a program's own events."""

from __future__ import annotations

from holdfast.core import concepts
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
        return self.commit(concepts.own.record(event_type, data), op=op, expect=expect)
