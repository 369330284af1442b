"""The project handle: what belongs to all sessions of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.core import collection, concepts
from holdfast.core.codec import Event
from holdfast.errors import Forbidden, HoldfastError
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace import accepted
from holdfast.workspace.decisions import DecisionCommands
from holdfast.workspace.handle import Handle, Rule
from holdfast.workspace.model_builders import build
from holdfast.workspace.reading import ProjectReading, ProjectState, Reading
from holdfast.workspace.receipt import Receipt

if TYPE_CHECKING:
    from holdfast.workspace.models import BacklogItem


class Project(DecisionCommands, Handle, ProjectReading, Reading):
    """Backlog, standing orders, controls, facts and decisions of a workspace. It may be shared by threads."""

    def _append(self, rule: Rule | list[Event], op: str | None, expect: int | None) -> Receipt:
        """Append; an order that a person gives here applies here."""
        receipt = super()._append(rule, op, expect)
        given = receipt.id.startswith("SO-") and self.workspace.origin in ("human", "import")
        if given and accepted.is_needed(self.workspace):
            try:
                accepted.accept(self.workspace, [receipt.commit])
            except HoldfastError:
                pass  # the order is stored; a person can accept it like one from others
        return receipt

    def add_item(
        self,
        title: str,
        *,
        priority: str = "medium",
        epic: str | None = None,
        tags: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Add an item to the backlog."""
        labels, before = list(tags), list(depends_on)
        return self.commit(
            lambda state, mint: concepts.backlog.add(state, mint, title, priority, epic, labels, before),
            op=op,
            expect=expect,
        )

    def edit_item(
        self, item: str, *, op: str | None = None, expect: int | None = None, **changes: object
    ) -> Receipt:
        """Change fields of an item: title, priority, status, epic, tags, depends_on."""
        return self.commit(
            lambda state, mint: concepts.backlog.edit(state, item, changes), op=op, expect=expect
        )

    def start_item(self, item: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Start an item that nothing blocks."""
        return self.commit(lambda state, mint: concepts.backlog.start(state, item), op=op, expect=expect)

    def close_item(
        self,
        item: str,
        result: str | None = None,
        *,
        outcome: str = "done",
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Close a backlog item, done or dropped."""
        return self.commit(
            lambda state, mint: concepts.backlog.close(state, item, result, outcome), op=op, expect=expect
        )

    def ready(self) -> list[BacklogItem]:
        """What can be started now, most urgent first."""
        from holdfast.workspace.models import BacklogItem

        return self._look(lambda state: [build(BacklogItem, item) for item in concepts.backlog.ready(state)])

    def order(self, text: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Add a standing order: it is active in every session until it is lifted."""
        return self.commit(lambda state, mint: concepts.order.give(state, mint, text), op=op, expect=expect)

    def accept(self, order_id: str) -> str:
        """Let a standing order of an agent or from another clone apply here; returns its id. Only a person can."""
        if self.workspace.origin != "human":
            raise Forbidden(
                "Only a person can accept an order from others; nothing was changed.",
                hint="Ask the user to run it.",
            )
        order = collection.find(self.peek().state, "orders", order_id, "standing order")
        accepted.accept(self.workspace, [order["commit"]])
        return str(order["id"])

    def lift(
        self, order_id: str, reason: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """End a standing order."""
        return self.commit(
            lambda state, mint: concepts.order.lift(state, order_id, reason), op=op, expect=expect
        )

    def caught(
        self,
        control_name: str,
        what: str,
        *,
        outcome: str | None = None,
        caught_by: str | None = None,
        notes: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record that a control caught something."""
        return self.commit(
            lambda state, mint: concepts.control.fire(
                state, mint, control_name, what, outcome, caught_by, notes
            ),
            op=op,
            expect=expect,
        )

    def add_fact(
        self,
        text: str,
        *,
        check: Mapping[str, object] | None = None,
        at: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record a fact about the project; ``check`` is what must be true for it to hold, ``at`` where it is seen."""
        wanted: Any = dict(check) if isinstance(check, Mapping) else check
        places = self.anchored(at)
        return self.commit(
            lambda state, mint: concepts.fact.add(state, mint, text, wanted, places),
            op=op,
            expect=expect,
        )

    def drop_fact(
        self, fact_id: str, reason: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Drop a fact."""
        return self.commit(
            lambda state, mint: concepts.fact.drop(state, fact_id, reason), op=op, expect=expect
        )

    def read(self, at: int | str | None = None) -> ProjectState:
        """The state at one version, so that values read from it are consistent; see ``Session.read``."""
        return ProjectState(self._state_at(at))

    def __repr__(self) -> str:
        return f"<Project in {self.workspace.where}>"
