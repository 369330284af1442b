"""The handle on one user's stream: preferences that hold in every session."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.core.stream import owner
from holdfast.workspace.handle import Receipt
from holdfast.workspace.verbs.notes import Notes


class Person(Notes):
    """One user of a workspace. A handle belongs to one thread."""

    @property
    def user(self) -> str:
        return owner(self.stream)

    def prefer(self, key: str, value: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Set a preference."""
        return self.commit(
            lambda state, mint: concepts.preference.prefer(state, key, value), op=op, expect=expect
        )

    def unprefer(self, key: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Have no preference any more."""
        return self.commit(lambda state, mint: concepts.preference.drop(state, key), op=op, expect=expect)

    def preference(self, key: str, default: str | None = None) -> str | None:
        """The value of a preference."""
        return self.preferences().get(key, default)

    def preferences(self) -> dict[str, str]:
        """Every preference, by key."""
        return concepts.preference.all_of(self.peek().state)

    def __repr__(self) -> str:
        return f"<Person {self.user} in {self.workspace.where}>"
