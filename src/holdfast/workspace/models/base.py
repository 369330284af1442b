"""What sessions, projects and persons have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""Any JSON value."""


JsonObject: TypeAlias = dict[str, Json]
"""A JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fact in the log."""

    type: str
    """``noun.past-verb``, such as ``decision.made``; a program's own types begin with ``x.``."""
    data: JsonObject
    version: int
    """Version of the data's format."""
    at: datetime
    """When it was recorded."""
    by: str
    """The actor who recorded it."""
    origin: str
    """``human``, ``agent``, ``tool`` or ``import``."""
    commit: str
    """The id of the commit that it is part of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What one command added to a stream."""

    id: str
    at: datetime
    by: str
    origin: str
    """``human``, ``agent``, ``tool`` or ``import``."""
    op: str | None
    """The operation id that the caller gave."""
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two states."""

    what: str
    change: str
    """``set``, ``added``, ``removed``, ``opened``, ``closed`` and the like."""
    before: Json = None
    after: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The fields of everything with a short id."""

    id: str
    at: datetime
    """When it was recorded."""
    by: str
    """The actor who recorded it."""
    origin: str
    """``human``, ``agent``, ``tool`` or ``import``."""
    commit: str
    """The id of the commit that recorded it."""


E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Generic[E]):
    """Things of one kind: everything that is open, and the last few that were closed."""

    open: tuple[E, ...]
    """Everything that is open, oldest first."""
    recent: tuple[E, ...]
    """The last ten that were closed, oldest first. Older ones are only in the log."""
    opened: int
    """How many there have ever been."""
    closed: int
    """How many of them have been closed."""

    def get(self, short_id: str) -> E | None:
        """The one with that id, open or recent; None if the state does not have it."""
        for entry in (*self.open, *self.recent):
            if entry.id == short_id:
                return entry
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Another outcome of the same thing: two clones closed it without seeing each other."""

    outcome: str | None
    closed_at: datetime
    closed_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Entry):
    """A decision: what was chosen and why, and how it turned out."""

    text: str
    because: str
    action: str | None
    """The announced action."""
    alternatives: tuple[str, ...]
    revisit_when: str | None
    loop: str | None
    """The id of the loop that it answers."""
    task: str | None
    risk: str | None
    supersedes: str | None
    superseded_by: str | None
    anchors: tuple[JsonObject, ...] = ()
    """The places that it is about, with the hash of each when it was recorded."""
    choice: bool = False
    """No action was announced: it needs no outcome."""
    outcome: str | None = None
    """How it turned out; None while it is unsettled, and for a choice."""
    ok: bool | None = None
    settled_at: datetime | None = None
    settled_by: str | None = None
    rivals: tuple[Closing, ...] = ()
    done_when: JsonObject | None = None
    """What is true of the world once the action is done; see ``decide``."""
    recovery: str | None = None
    """What may be done if the outcome stays unknown; see ``decide``."""
    once: str | None = None
    """The key of an action that is run once."""
    exit_code: int | None = None
    """Of the command that was run."""

    @property
    def settled(self) -> bool:
        """Whether its outcome is recorded."""
        return self.settled_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions(Collection[Decision]):
    """Decisions: ``open`` are the unsettled ones, ``recent`` the last twenty-five others, settled or choices."""

    failed: int
    """How many of the settled ones failed."""
    chosen: int
    """How many were choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision, and where it was made."""

    session: str
    """What ``Workspace.session`` takes; empty for a decision of the project."""
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """A decision without an outcome, and where it was made."""

    session: str
    """What ``Workspace.session`` takes; empty for a decision of the project."""
    decision: Decision
    status: str = "cannot tell"
    """``done``, ``not done`` or ``cannot tell``, by a look at what ``done_when`` names."""
    seen: str = ""
    """What was seen, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text worth keeping."""

    text: str
    at: datetime
    by: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The last five notes, oldest first, and how many there have been."""

    recent: tuple[Note, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One line of what happened."""

    text: str
    at: datetime
    by: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A value that another clone set without seeing the present one."""

    value: Json
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contested:
    """A value that two clones set without seeing each other. Setting it again settles it."""

    name: str
    value: Json
    rivals: tuple[Rival, ...]
