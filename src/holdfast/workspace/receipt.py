"""Receipts: the result of a command."""

from __future__ import annotations

from holdfast.errors import Usage
from holdfast.typed import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from datetime import datetime

_put = object.__setattr__


class Receipt:
    """The result of a command. It is frozen.

    Inside ``update`` the command is not written yet: its receipt is filled in when the update's function has returned.
    """

    __slots__ = ("commit", "id", "repeated", "timestamp", "version")

    id: str
    """The short id of the command's subject, such as ``D-12``; empty if it has none."""
    version: int
    """How many commits the stream had after it."""
    commit: str
    """The id of the commit."""
    timestamp: str
    """When it was committed, as text: ISO 8601, UTC."""
    repeated: bool
    """The same ``op`` had been committed before: this is the first commit, and nothing was added."""

    def __init__(self, id: str, version: int, commit: str, timestamp: str, repeated: bool) -> None:
        self.fill(id, version, commit, timestamp, repeated)

    @classmethod
    def unwritten(cls) -> Receipt:
        """Internal: the receipt of a command that is not written yet."""
        return cls.__new__(cls)

    def fill(self, id: str, version: int, commit: str, timestamp: str, repeated: bool) -> None:
        """Internal: set the values once the command is written."""
        _put(self, "id", id)
        _put(self, "version", version)
        _put(self, "commit", commit)
        _put(self, "timestamp", timestamp)
        _put(self, "repeated", repeated)

    @property
    def at(self) -> datetime:
        """When it was committed."""
        from datetime import datetime

        return datetime.fromisoformat(self.timestamp)

    def __getattr__(self, name: str) -> NoReturn:
        if name in Receipt.__slots__:
            raise Usage("The command of an update is written when the update's function has returned.")
        raise AttributeError(f"A receipt has no {name!r}.")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("A receipt is frozen.")

    def _values(self) -> tuple[Any, ...]:
        return self.id, self.version, self.commit, self.timestamp, self.repeated

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Receipt) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return (
            f"Receipt(id={self.id!r}, version={self.version}, commit={self.commit!r}, "
            f"timestamp={self.timestamp!r}, repeated={self.repeated})"
        )
