"""Read models of a project."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.workspace.models.base import Closing, Entry, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogItem(Entry):
    """Something that the project wants done."""

    title: str
    priority: str
    """``critical``, ``high``, ``medium`` or ``low``."""
    status: str
    """``todo``, ``doing`` or ``blocked``."""
    epic: str | None
    tags: tuple[str, ...]
    depends_on: tuple[str, ...]
    outcome: str | None = None
    """``done`` or ``dropped``; None while it is open."""
    result: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Entry):
    """A standing order: it is active in every session until it is lifted."""

    text: str
    outcome: str | None = None
    reason: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Entry):
    """A fact about the project."""

    text: str
    check: JsonObject | None
    """What must be true for the fact to hold."""
    anchors: tuple[JsonObject, ...] = ()
    """The places where it can be seen."""
    outcome: str | None = None
    reason: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(Entry):
    """A control that caught something."""

    control: str
    what: str
    caught_by: str
    outcome: str | None
    notes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """The last twenty catches, oldest first, and how many there have been."""

    recent: tuple[Control, ...]
    count: int
