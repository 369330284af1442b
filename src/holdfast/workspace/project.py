"""The project handle: one method for each command on what belongs to all sessions."""

from __future__ import annotations

from holdfast.workspace.handle import Handle
from holdfast.workspace.verbs.backlogs import Backlogs
from holdfast.workspace.verbs.decisions import Decisions
from holdfast.workspace.verbs.notes import Notes
from holdfast.workspace.verbs.rules import Rules


class Project(Backlogs, Decisions, Notes, Rules, Handle):
    """Backlog, standing orders, controls, facts and decisions of a workspace. A handle belongs to one thread."""

    def __repr__(self) -> str:
        return f"<Project in {self.workspace.where}>"
