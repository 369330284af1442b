"""The session handle: one method for each command on a session."""

from __future__ import annotations

from holdfast.core.stream import last_part, owner
from holdfast.workspace.handle import Handle
from holdfast.workspace.verbs.actions import Actions
from holdfast.workspace.verbs.batches import Batches
from holdfast.workspace.verbs.breaks import Breaks
from holdfast.workspace.verbs.budgets import Budgets
from holdfast.workspace.verbs.checkpoints import Checkpoints
from holdfast.workspace.verbs.concerns import Concerns
from holdfast.workspace.verbs.decisions import Decisions
from holdfast.workspace.verbs.goals import Goals
from holdfast.workspace.verbs.handoffs import Handoffs
from holdfast.workspace.verbs.loops import Loops
from holdfast.workspace.verbs.messages import Messages
from holdfast.workspace.verbs.notes import Notes
from holdfast.workspace.verbs.phases import Phases
from holdfast.workspace.verbs.plans import Plans
from holdfast.workspace.verbs.tasks import Tasks


class Session(
    Actions,
    Batches,
    Breaks,
    Budgets,
    Checkpoints,
    Concerns,
    Decisions,
    Goals,
    Handoffs,
    Loops,
    Messages,
    Notes,
    Phases,
    Plans,
    Tasks,
    Handle,
):
    """One piece of work. A handle belongs to one thread; make one per thread."""

    @property
    def id(self) -> str:
        return last_part(self.stream)

    @property
    def user(self) -> str:
        return owner(self.stream)

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.user} in {self.workspace.where}>"
