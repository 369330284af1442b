"""Durable working memory for AI agents.

    import holdfast

    with holdfast.open() as workspace:
        session = workspace.start("Ship the release")
        with session.acting("Tag v1.0", because="all checks are green", action="git tag v1.0"):
            ...

The names in ``__all__`` are the public API; docs/reference/api.md describes them. Everything else is internal.
"""

from __future__ import annotations

from holdfast.typed import TYPE_CHECKING
from holdfast.version import __version__

__all__ = [
    "Acting",
    "Activity",
    "BacklogItem",
    "Batch",
    "BatchClaim",
    "BatchFailure",
    "BatchResult",
    "Blocker",
    "Budget",
    "BudgetItem",
    "Capture",
    "Change",
    "Checkpoint",
    "Closing",
    "Collection",
    "Commit",
    "Compaction",
    "Compactions",
    "Completion",
    "Conflict",
    "Contested",
    "Control",
    "Controls",
    "Damaged",
    "Decided",
    "Decision",
    "Decisions",
    "Discussion",
    "Entry",
    "ErrorEntry",
    "Event",
    "Fact",
    "Fault",
    "Forbidden",
    "GitCommit",
    "Handoff",
    "Held",
    "Hit",
    "HoldfastError",
    "InvalidName",
    "Json",
    "JsonObject",
    "Lease",
    "LeaseLost",
    "LegalReview",
    "LegalReviews",
    "Loop",
    "Message",
    "Messages",
    "Newer",
    "NextAction",
    "NoSession",
    "NoWorkspace",
    "NotFound",
    "Note",
    "Notes",
    "Order",
    "Pause",
    "Person",
    "PersonState",
    "PhaseVisit",
    "Phases",
    "Plan",
    "Project",
    "ProjectState",
    "Projection",
    "Receipt",
    "Recovery",
    "Reference",
    "Refused",
    "Risk",
    "Rival",
    "SearchResult",
    "SecretFound",
    "Session",
    "SessionState",
    "StaleFile",
    "Summary",
    "Task",
    "TooLarge",
    "Unavailable",
    "UnknownOutcome",
    "Unsettled",
    "Usage",
    "Workspace",
    "__version__",
    "batch",
    "checkpoint",
    "connect",
    "init",
    "kit",
    "open",
]

if TYPE_CHECKING:
    from holdfast import batch, kit
    from holdfast.checkpointing import checkpoint
    from holdfast.errors import (
        Conflict,
        Damaged,
        Forbidden,
        HoldfastError,
        InvalidName,
        Newer,
        NoSession,
        NotFound,
        NoWorkspace,
        Refused,
        SecretFound,
        TooLarge,
        Unavailable,
        UnknownOutcome,
        Usage,
    )
    from holdfast.store.protocol import Fault
    from holdfast.workspace.connect import connect
    from holdfast.workspace.decisions import Acting
    from holdfast.workspace.models import (
        Activity,
        BacklogItem,
        Batch,
        BatchClaim,
        BatchFailure,
        BatchResult,
        Blocker,
        Budget,
        BudgetItem,
        Capture,
        Change,
        Checkpoint,
        Closing,
        Collection,
        Commit,
        Compaction,
        Compactions,
        Completion,
        Contested,
        Control,
        Controls,
        Decided,
        Decision,
        Decisions,
        Discussion,
        Entry,
        ErrorEntry,
        Event,
        Fact,
        GitCommit,
        Handoff,
        Hit,
        Json,
        JsonObject,
        LegalReview,
        LegalReviews,
        Loop,
        Message,
        Messages,
        NextAction,
        Note,
        Notes,
        Order,
        Pause,
        Phases,
        PhaseVisit,
        Plan,
        Recovery,
        Reference,
        Risk,
        Rival,
        SearchResult,
        StaleFile,
        Summary,
        Task,
        Unsettled,
    )
    from holdfast.workspace.person import Person
    from holdfast.workspace.presence import Held, Lease, LeaseLost
    from holdfast.workspace.project import Project
    from holdfast.workspace.projections import Projection
    from holdfast.workspace.reading import PersonState, ProjectState, SessionState
    from holdfast.workspace.receipt import Receipt
    from holdfast.workspace.session import Session
    from holdfast.workspace.setup import init_workspace as init
    from holdfast.workspace.workspace import Workspace
    from holdfast.workspace.workspace import open_workspace as open

_ERRORS = frozenset(
    [
        "Conflict",
        "Damaged",
        "Forbidden",
        "HoldfastError",
        "InvalidName",
        "Newer",
        "NoSession",
        "NoWorkspace",
        "NotFound",
        "Refused",
        "SecretFound",
        "TooLarge",
        "Unavailable",
        "UnknownOutcome",
        "Usage",
    ]
)
_HOMES = {
    "Acting": "holdfast.workspace.decisions",
    "Fault": "holdfast.store.protocol",
    "Held": "holdfast.workspace.presence",
    "Lease": "holdfast.workspace.presence",
    "LeaseLost": "holdfast.workspace.presence",
    "Person": "holdfast.workspace.person",
    "PersonState": "holdfast.workspace.reading",
    "Project": "holdfast.workspace.project",
    "ProjectState": "holdfast.workspace.reading",
    "Projection": "holdfast.workspace.projections",
    "Receipt": "holdfast.workspace.receipt",
    "Session": "holdfast.workspace.session",
    "SessionState": "holdfast.workspace.reading",
    "Workspace": "holdfast.workspace.workspace",
    "checkpoint": "holdfast.checkpointing",
    "connect": "holdfast.workspace.connect",
    "init": "holdfast.workspace.setup",
    "open": "holdfast.workspace.workspace",
}
"""The module of each name that is neither an error nor a read model."""
_ATTRIBUTES = {"init": "init_workspace", "open": "open_workspace"}


def __getattr__(name: str) -> object:
    """Names load when they are first used: a hook that needs little must not wait for the rest."""
    if name not in __all__:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module

    if name in ("batch", "kit"):
        return import_module(f"holdfast.{name}")
    home = "holdfast.errors" if name in _ERRORS else _HOMES.get(name, "holdfast.workspace.models")
    value: object = getattr(import_module(home), _ATTRIBUTES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
