"""The handle on one user's stream: preferences that apply in every session."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.core.stream import owner
from holdfast.workspace.handle import Handle, Receipt
from holdfast.workspace.reading import PersonReading, PersonState, Reading


class Person(Handle, PersonReading, Reading):
    """One user of a workspace. It may be shared by threads."""

    @property
    def user(self) -> str:
        """The name of the user."""
        return owner(self.stream)

    def prefer(self, key: str, value: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Set a preference."""
        return self.commit(
            lambda state, mint: concepts.preference.prefer(state, key, value), op=op, expect=expect
        )

    def unprefer(self, key: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Drop a preference."""
        return self.commit(lambda state, mint: concepts.preference.drop(state, key), op=op, expect=expect)

    def preference(self, key: str, default: str | None = None) -> str | None:
        """The value of a preference."""
        return self.preferences.get(key, default)

    def read(self, at: int | str | None = None) -> PersonState:
        """The state at one version, so that values read from it are consistent; see ``Session.read``."""
        return PersonState(self._state_at(at))

    def __repr__(self) -> str:
        return f"<Person {self.user} in {self.workspace.where}>"
