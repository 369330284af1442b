"""Read models of a search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One match of a search: an entry such as a decision, or a commit that has no id of its own."""

    kind: str
    """``decision``, ``task``, ``note``, ``session``, ``own`` and so on."""
    id: str
    """Such as ``D-3``; empty if it has none."""
    session: str
    """``user/id``; empty for what belongs to the project or to a user."""
    stream: str
    commit: str
    """The commit's id, for what has no id of its own; otherwise empty."""
    at: datetime
    by: str
    origin: str
    status: str | None
    text: str
    """Everything that was recorded about it, in full."""
    snippet: str
    """The part of the text around the first match, on one line."""
    marks: tuple[tuple[int, int], ...]
    """Where the snippet matches: start and end of each match."""
    places: tuple[str, ...] = ()
    """What it is about, and what became of that: ``src/db.py:40-60 (moved to 52-72)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The matches of a search, best first, and where it looked."""

    hits: tuple[Hit, ...]
    total: int
    """How many match; if ``more``, at least so many."""
    more: bool
    some: bool
    """No text has all words; these have some of them, or are near in meaning."""
    ranking: str
    """``words``, or ``hybrid``: by words and meaning."""
    without: int
    """Texts that could only be ranked by words, because another process is making their vectors."""
    commits: int
    """Commits that were looked at."""
    sessions: int
    """Sessions that were looked at, with ``archived`` ones."""
    archived: int
    behind: int
    """Streams with changes that are not in the index yet, because another process is writing it."""
    unreadable: tuple[tuple[str, str], ...]
    """Streams that could not be read, and why."""
