"""The properties that handles and past states share, of a session, a project or a person.

``Session.goal`` reads the newest state; ``Session.read().goal`` reads the state of one version, so that several values
are consistent.
"""

from __future__ import annotations

from holdfast.core import contested
from holdfast.typed import TYPE_CHECKING
from holdfast.workspace import model_builders as builders
from holdfast.workspace.model_builders import State, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import TypeVar

    from holdfast.workspace import models
    from holdfast.workspace.models import JsonObject

    T = TypeVar("T")


class Reading:
    """What can be read from any stream."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _look(self, question: Callable[[State], T]) -> T:
            """The result of ``question`` on the state. It must not keep a reference to any part of the state."""
            ...

    @property
    def version(self) -> int:
        """How many commits are in the state."""
        return self._look(lambda state: int(state["commits"]))

    @property
    def state(self) -> JsonObject:
        """The whole state as plain JSON: a copy, for programs that store or compare it."""
        state: JsonObject = self._look(builders.copy)
        return state

    @property
    def created(self) -> datetime | None:
        """When the first commit was made; None if nothing was written yet."""
        return self._look(lambda state: timestamp(state["created"]) if state["created"] else None)

    @property
    def updated(self) -> datetime | None:
        """When the last commit was made."""
        return self._look(lambda state: timestamp(state["updated"]) if state["updated"] else None)

    @property
    def updated_by(self) -> str | None:
        """Who made the last commit."""
        by: str | None = self._look(lambda state: state["by"])
        return by

    @property
    def notes(self) -> models.Notes:
        """The last notes."""
        return self._look(builders.notes)

    @property
    def contested(self) -> tuple[models.Contested, ...]:
        """Values that two clones set without seeing each other."""
        return self._look(builders.contests)

    @property
    def activity(self) -> tuple[models.Activity, ...]:
        """The last ten things that happened, one line each, oldest first."""
        return self._look(builders.activity)

    @property
    def own_events(self) -> int:
        """How many events of the program's own were recorded."""
        return self._look(lambda state: int(state["own"]))


if TYPE_CHECKING:
    Base = Reading
else:
    Base = object  # the class that mixes this in is a Reading


class SessionReading(Base):
    """What can be read from a session."""

    __slots__ = ()

    @property
    def decisions(self) -> models.Decisions:
        """Decisions: the unsettled ones, and the last ten that were settled."""
        return self._look(builders.decisions)

    @property
    def goal(self) -> str:
        """What the session is for."""
        return self._look(lambda state: str(contested.value(state["registers"], "goal", "")))

    @property
    def focus(self) -> str | None:
        """What is being worked on right now."""
        focus: str | None = self._look(builders.value("focus"))
        return focus

    @property
    def status(self) -> str:
        """``working``, ``blocked``, ``awaiting-input``, ``discussion``, ``paused`` or ``complete``."""
        return self._look(lambda state: str(contested.value(state["registers"], "status", "working")))

    @property
    def phase(self) -> str | None:
        """The present phase."""
        phase: str | None = self._look(builders.value("phase"))
        return phase

    @property
    def phases(self) -> models.Phases:
        """The workflow: declared phases, what may be entered now, and the history."""
        return self._look(builders.phases)

    @property
    def task(self) -> models.Task | None:
        """The current task."""
        return self._look(builders.task)

    @property
    def tasks(self) -> models.Collection[models.Task]:
        """Tasks, in the order in which they were added."""
        tasks: models.Collection[models.Task] = self._look(builders.collected("tasks", "Task"))
        return tasks

    @property
    def plans(self) -> models.Collection[models.Plan]:
        """Plans: ``open`` are the pending ones."""
        plans: models.Collection[models.Plan] = self._look(builders.collected("plans", "Plan"))
        return plans

    @property
    def loops(self) -> models.Collection[models.Loop]:
        """Open questions, and the last ten that were answered."""
        loops: models.Collection[models.Loop] = self._look(builders.collected("loops", "Loop"))
        return loops

    @property
    def captures(self) -> models.Collection[models.Capture]:
        """What hooks took from conversations and nobody has confirmed, and the last ten that were settled."""
        captures: models.Collection[models.Capture] = self._look(builders.collected("captures", "Capture"))
        return captures

    @property
    def git_commits(self) -> tuple[models.GitCommit, ...]:
        """The last commits of the project that were made during the session, oldest first."""
        return self._look(builders.git_commits)

    @property
    def risks(self) -> models.Collection[models.Risk]:
        """What may go wrong."""
        risks: models.Collection[models.Risk] = self._look(builders.collected("risks", "Risk"))
        return risks

    @property
    def blockers(self) -> models.Collection[models.Blocker]:
        """What blocks the session."""
        blockers: models.Collection[models.Blocker] = self._look(builders.collected("blockers", "Blocker"))
        return blockers

    @property
    def next_actions(self) -> models.Collection[models.NextAction]:
        """What to do first when the work continues."""
        actions: models.Collection[models.NextAction] = self._look(builders.collected("next", "NextAction"))
        return actions

    @property
    def errors(self) -> models.Collection[models.ErrorEntry]:
        """What went wrong: ``open`` are those without a remedy."""
        errors: models.Collection[models.ErrorEntry] = self._look(builders.collected("errors", "ErrorEntry"))
        return errors

    @property
    def batches(self) -> models.Collection[models.Batch]:
        """Lists of items that are done one by one."""
        return self._look(builders.batches)

    @property
    def discussion(self) -> models.Discussion | None:
        """The discussion that the session is in."""
        discussion: models.Discussion | None = self._look(builders.of("discussion", "Discussion"))
        return discussion

    @property
    def paused(self) -> models.Pause | None:
        """The pause; None if the session is not paused."""
        pause: models.Pause | None = self._look(builders.of("paused", "Pause"))
        return pause

    @property
    def completed(self) -> models.Completion | None:
        """How the session ended; None if it has not."""
        completion: models.Completion | None = self._look(builders.of("completed", "Completion"))
        return completion

    @property
    def archived_at(self) -> datetime | None:
        """When the session was archived; None if it was not."""
        return self._look(lambda state: timestamp(state["archived"]["at"]) if state["archived"] else None)

    @property
    def recovery(self) -> models.Recovery:
        """What a successor needs to know after a break."""
        recovery: models.Recovery = self._look(builders.of("recovery", "Recovery"))
        return recovery

    @property
    def last_checkpoint(self) -> models.Checkpoint | None:
        """The last checkpoint; older ones are in the log."""
        checkpoint: models.Checkpoint | None = self._look(builders.of("checkpoint", "Checkpoint"))
        return checkpoint

    @property
    def handoff(self) -> models.Handoff | None:
        """The last handoff; older ones are in the log."""
        handoff: models.Handoff | None = self._look(builders.of("handoff", "Handoff"))
        return handoff

    @property
    def messages(self) -> models.Messages:
        """The end of the conversation; ``recent`` returns long messages in full."""
        return self._look(builders.messages)

    @property
    def references(self) -> tuple[models.Reference, ...]:
        """The files that the session refers to."""
        return self._look(builders.references)

    @property
    def budget(self) -> models.Budget:
        """The token budget."""
        return self._look(builders.budget)

    @property
    def legal_reviews(self) -> models.LegalReviews:
        """The last legal reviews."""
        return self._look(builders.legal)

    @property
    def compactions(self) -> models.Compactions:
        """How often an agent's context was compacted."""
        return self._look(builders.compactions)


class ProjectReading(Base):
    """What can be read from a project."""

    __slots__ = ()

    @property
    def decisions(self) -> models.Decisions:
        """Decisions: the unsettled ones, and the last ten that were settled."""
        return self._look(builders.decisions)

    @property
    def backlog(self) -> models.Collection[models.BacklogItem]:
        """What the project wants done; ``open`` is sorted by priority, the most urgent first."""
        return self._look(builders.backlog)

    @property
    def orders(self) -> models.Collection[models.Order]:
        """Standing orders: ``open`` are those that are active."""
        orders: models.Collection[models.Order] = self._look(builders.collected("orders", "Order"))
        return orders

    @property
    def facts(self) -> models.Collection[models.Fact]:
        """Facts about the project: ``open`` are those that hold."""
        facts: models.Collection[models.Fact] = self._look(builders.collected("facts", "Fact"))
        return facts

    @property
    def controls(self) -> models.Controls:
        """Controls that caught something."""
        return self._look(builders.controls)


class PersonReading(Base):
    """What can be read from a person."""

    __slots__ = ()

    @property
    def preferences(self) -> Mapping[str, str]:
        """Every preference, by key."""
        return self._look(builders.preferences)


class SessionState(SessionReading, Reading):
    """The state of a session at one version."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def _look(self, question: Callable[[State], T]) -> T:
        return question(self._state)


class ProjectState(ProjectReading, Reading):
    """The state of a project at one version."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def _look(self, question: Callable[[State], T]) -> T:
        return question(self._state)


class PersonState(PersonReading, Reading):
    """The state of a person at one version."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def _look(self, question: Callable[[State], T]) -> T:
        return question(self._state)
