"""Read models of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from holdfast.workspace.models.base import Closing, Entry, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Entry):
    """A step of the work."""

    title: str
    status: str
    """``pending``, ``working`` or ``blocked``; the last one before it was closed."""
    depends_on: tuple[str, ...]
    blocked_by: str | None
    """Why it is blocked."""
    started: datetime | None
    outcome: str | None = None
    """``done`` or ``skipped``; None while it is open."""
    result: str | None = None
    reason: str | None = None
    """Why it was skipped."""
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Entry):
    """A plan that is pending, or was approved, rejected or superseded."""

    title: str
    text: str
    revision: int
    outcome: str | None = None
    """``approved``, ``rejected`` or ``superseded``; None while it is pending."""
    reason: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Entry):
    """An open question, or one that was answered."""

    title: str
    status: str
    """``open``, or ``clarifying`` once somebody explores it."""
    context: str | None
    outcome: str | None = None
    """The answer."""
    decision: str | None = None
    """The id of the decision that the answer became."""
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(Entry):
    """What a hook took from a conversation: a proposal until somebody confirms, corrects or drops it."""

    kind: str
    """``decision``, ``constraint``, ``open`` or ``in-flight``."""
    text: str
    because: str | None
    source: str
    """Where the words stood: ``summary``, ``message``, ``prompt`` (the user's own words) or ``subagent``."""
    host: str | None
    agent: str | None
    outcome: str | None = None
    """``confirmed`` or ``dropped``; None while it is open."""
    became: str | None = None
    """The id of the record that it became."""
    reason: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCommit:
    """A commit of the project's repository that was made during the session."""

    sha: str
    subject: str
    at: datetime
    by: str
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk(Entry):
    """What may go wrong."""

    text: str
    severity: str | None
    """``low``, ``medium``, ``high`` or ``critical``."""
    outcome: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker(Entry):
    """What blocks the whole session."""

    text: str
    outcome: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAction(Entry):
    """What to do first when the work continues."""

    text: str
    outcome: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEntry(Entry):
    """What went wrong in the work, and what was done about it."""

    text: str
    tried: str | None
    anchors: tuple[JsonObject, ...] = ()
    """The places where it was met."""
    remedy: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    rivals: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseVisit:
    """A phase that the session entered."""

    phase: str
    entered: datetime
    exited: datetime | None
    by: str
    because: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """The workflow of a session: its phases and history."""

    current: str | None
    declared: tuple[str, ...]
    allowed: tuple[str, ...]
    """The phases that can be entered now."""
    transitions: Mapping[str, tuple[str, ...]] | None
    """For each phase those that may follow; None if the next one and all earlier ones may."""
    history: tuple[PhaseVisit, ...]
    """The last twenty visits, oldest first."""
    entered: int
    """How many visits there have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discussion:
    """A discussion, and the place in the work that it returns to."""

    topic: str
    return_to: Mapping[str, str | None]
    """``task``, ``focus``, ``status`` and ``phase`` as they were."""
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A session that was paused."""

    status: str
    """The status before."""
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A session that was completed."""

    outcome: str | None
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a successor needs to know after a break."""

    last_agent: str | None
    last_action: str | None
    interrupted_at: datetime | None
    notes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The progress of the work at one time."""

    message: str
    last_completed: str | None
    pending: tuple[str, ...]
    """The first twenty pending steps."""
    can_resume: bool
    instruction: str | None
    tools: tuple[str, ...]
    at: datetime
    by: str
    origin: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff(Entry):
    """Work that was handed off, and who has claimed it."""

    message: str | None
    claimed_by: str | None
    claimed_at: datetime | None
    consumed_by: str | None
    consumed_at: datetime | None
    """When the claimant first confirmed a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the conversation, or a tool's answer."""

    role: str
    text: str
    """The first 2,000 characters; ``Session.recent`` returns the whole text."""
    at: datetime
    by: str
    origin: str
    commit: str
    tool: str | None = None
    file: str | None = None
    """The file with the whole text, if it is long."""
    size: int | None = None
    hash: str | None = None
    cut: bool = False
    """The file with the whole text is missing or was changed: this is the first part of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A text that replaces the messages before it."""

    text: str
    covers: int
    """How many messages it replaces."""
    at: datetime
    by: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The end of the conversation."""

    recent: tuple[Message, ...]
    """The last twenty messages after the summary, oldest first."""
    summary: Summary | None
    count: int
    """How many messages there have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A file that matters to the session, with its size and hash when it was referred to."""

    path: str
    kind: str
    """``context`` or ``artifact``."""
    size: int
    hash: str
    at: datetime
    by: str
    origin: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleFile:
    """A referenced file that has changed."""

    path: str
    kind: str
    problem: str
    """``changed``, ``gone``, or what went wrong."""
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetItem:
    """One thing that is loaded into the context."""

    name: str
    tokens: int
    included: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The token budget."""

    total: int | None
    """None if no total was set."""
    used: int
    zone: str
    """``comfortable``, ``deliberate``, ``warning`` or ``stop``."""
    limits: tuple[int, ...]
    """Percent of the total at which the second, third and fourth zone begin."""
    items: tuple[BudgetItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClaim:
    """An item of a batch that a worker has claimed."""

    item: int
    claimant: JsonObject
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """An item of a batch that is done; the first 200 characters of its result."""

    item: int
    result: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFailure:
    """An item of a batch that failed."""

    item: int
    tries: int
    reason: str
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Entry):
    """A list of items, each to be done once."""

    title: str
    total: int
    done: int
    """How many items are done."""
    done_items: tuple[range, ...]
    """Which items are done."""
    failed: int
    """How many items have failed and were not done since."""
    retries: int
    sequence: bool
    runs: int
    command: tuple[str, ...] | None
    """The words of the last run's command: stored to be shown, never run."""
    repeated: int
    """How many items were done twice, by two clones."""
    running: tuple[BatchClaim, ...]
    results: tuple[BatchResult, ...]
    """The last few."""
    failures: tuple[BatchFailure, ...]
    """The last few."""
    outcome: str | None = None
    """``complete`` or ``abandoned``; None while it is open."""
    reason: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LegalReview:
    """What was reviewed, and the result."""

    id: str
    text: str
    outcome: str
    at: datetime
    by: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LegalReviews:
    """The last twenty legal reviews, oldest first, and how many there have been."""

    recent: tuple[LegalReview, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The last compaction of an agent's context."""

    summary: str | None
    trigger: str | None
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactions:
    """How often an agent's context was compacted, and the last compaction."""

    last: Compaction | None
    count: int
