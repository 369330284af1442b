"""The work of a session: goal, phases, tasks, plans and batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.core import concepts
from holdfast.core.codec import Event
from holdfast.errors import NotFound
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.model_builders import batch as batch_model
from holdfast.workspace.receipt import Receipt

if TYPE_CHECKING:
    from holdfast.workspace.handle import Handle as Base
    from holdfast.workspace.models import Batch, Json
else:
    Base = object  # the class that mixes this in is a handle


class Work(Base):
    """What is to be done, and its progress."""

    # -- goal and status ---------------------------------------------------------------------------------

    def set_goal(self, goal: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Change what the session is for."""
        return self.commit(lambda state, mint: concepts.session.set_goal(state, goal), op=op, expect=expect)

    def set_focus(self, focus: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Say what is being worked on right now."""
        return self.commit(lambda state, mint: concepts.session.set_focus(state, focus), op=op, expect=expect)

    def mark(self, status: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Set the status: working, blocked or awaiting-input. The others are set by their own commands."""
        return self.commit(lambda state, mint: concepts.session.mark(state, status), op=op, expect=expect)

    # -- phases ------------------------------------------------------------------------------------------

    def declare_phases(
        self,
        phases: list[str],
        *,
        transitions: dict[str, list[str]] | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Name the phases, in order, and enter the first if none was entered yet.

        ``transitions`` says for each phase which ones may follow; without it, the next one and all earlier ones.
        """
        return self.commit(
            lambda state, mint: concepts.phase.declare(state, phases, transitions), op=op, expect=expect
        )

    def enter_phase(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Enter another phase; refused with the list of what is allowed if the transitions forbid it."""
        return self.commit(lambda state, mint: concepts.phase.enter(state, name), op=op, expect=expect)

    def complete_phase(self, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Complete the present phase and enter the next."""
        return self.commit(lambda state, mint: concepts.phase.complete(state), op=op, expect=expect)

    def skip_to_phase(
        self, name: str, because: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Jump to any declared phase, with a reason."""
        return self.commit(
            lambda state, mint: concepts.phase.skip_to(state, name, because), op=op, expect=expect
        )

    # -- tasks -------------------------------------------------------------------------------------------

    def add_task(
        self,
        title: str,
        *,
        depends_on: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Add a task at the end; it can depend on others."""
        needs = list(depends_on)
        return self.commit(
            lambda state, mint: concepts.task.add(state, mint, title, needs), op=op, expect=expect
        )

    def start_task(
        self, task: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Start a task, which makes it the current one; without an id, the next that is ready."""
        return self.commit(lambda state, mint: concepts.task.start(state, task), op=op, expect=expect)

    def complete_task(
        self,
        task: str | None = None,
        result: str | None = None,
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Complete a task (default: the current one); the next that is ready becomes the current one."""
        return self.commit(
            lambda state, mint: concepts.task.complete(state, task, result), op=op, expect=expect
        )

    def skip_task(
        self, task: str | None = None, *, reason: str, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Skip a task (default: the current one), with a reason."""
        return self.commit(lambda state, mint: concepts.task.skip(state, task, reason), op=op, expect=expect)

    def block_task(
        self, task: str | None = None, *, reason: str, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Mark a task as blocked."""
        return self.commit(lambda state, mint: concepts.task.block(state, task, reason), op=op, expect=expect)

    def unblock_task(
        self, task: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Mark a task as no longer blocked."""
        return self.commit(lambda state, mint: concepts.task.unblock(state, task), op=op, expect=expect)

    def results(self, of: str | None = None) -> dict[str, str]:
        """The results of the completed tasks, in full, in the order of completion.

        With ``of``, only of the tasks that this one depends on. If two clones completed a task, the first result
        counts, as in the state.
        """
        wanted: set[str] | None = None
        found: dict[str, str | None] = {}
        needs: dict[str, list[str]] = {}
        for commit in self.stored_commits():
            for event in commit.events:
                if event.type == "task.added":
                    needs[event.data["id"]] = event.data.get("depends_on", [])
                elif event.type == "task.completed":
                    found.setdefault(event.data["id"], event.data.get("result"))
                elif event.type == "task.skipped":
                    found.setdefault(event.data["id"], None)
        if of is not None:
            from holdfast.core import short_ids

            if not needs:
                raise NotFound(f"There is no task {of[:80]}.")
            wanted = set(needs[short_ids.resolve(of, needs, "task")])
        return {
            short_id: result
            for short_id, result in found.items()
            if result is not None and (wanted is None or short_id in wanted)
        }

    # -- plans -------------------------------------------------------------------------------------------

    def propose_plan(
        self,
        title: str,
        text: str | None = None,
        *,
        supersedes: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Propose a plan for approval; it may replace one that is pending."""
        return self.commit(
            lambda state, mint: concepts.plan.propose(state, mint, title, text, supersedes),
            op=op,
            expect=expect,
        )

    def edit_plan(
        self, plan: str | None, text: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Change the text of a plan; None is the only pending one."""
        return self.commit(lambda state, mint: concepts.plan.edit(state, plan, text), op=op, expect=expect)

    def approve_plan(
        self,
        plan: str | None = None,
        *,
        reason: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Approve a plan; without an id, the only pending one."""
        return self.commit(
            lambda state, mint: concepts.plan.approve(state, plan, reason), op=op, expect=expect
        )

    def reject_plan(
        self, plan: str | None, reason: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Reject a plan, with a reason; None is the only pending one."""
        return self.commit(
            lambda state, mint: concepts.plan.reject(state, plan, reason), op=op, expect=expect
        )

    # -- batches -----------------------------------------------------------------------------------------

    def create_batch(
        self,
        items: Iterable[object],
        *,
        title: str = "batch",
        retries: int = 0,
        sequence: bool = False,
        done: Iterable[int] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Create a batch of items (texts or other plain JSON). In a ``sequence`` each item waits for the one before.

        A failed item is retried up to ``retries`` times.
        """
        listed, finished = list(items), list(done)
        return self.commit(
            lambda state, mint: concepts.batch.create(
                state, mint, listed, title, retries, sequence, finished
            ),
            op=op,
            expect=expect,
        )

    def begin_batch(
        self, batch: str, command: Iterable[str] = (), *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Record that a run of the batch begins, and its command, which is shown to people and never run."""
        words = list(command)
        return self.commit(
            lambda state, mint: concepts.batch.begin(state, batch, words), op=op, expect=expect
        )

    def has_item(self, batch: str, *, dead: Iterable[Mapping[str, object]] = ()) -> bool:
        """Whether ``claim_item`` would find an item now."""
        gone: list[dict[str, Any]] = [dict(one) for one in dead]

        def free(state: dict[str, Any]) -> bool:
            entry = concepts.batch.look(state, batch)
            return "outcome" not in entry and concepts.batch.next_item(entry, gone) is not None

        return self._look(free)

    def claim_item(
        self, batch: str, claimant: Mapping[str, object], *, dead: Iterable[Mapping[str, object]] = ()
    ) -> int | None:
        """Claim the next item for ``claimant``; None if no item is free now.

        Claims of claimants in ``dead`` may be taken over; this is atomic.
        """
        taken: list[int] = []
        gone = [dict(one) for one in dead]
        if not self.has_item(batch, dead=gone):
            return None

        def rule(state: dict[str, Any], mint: Any) -> list[Event]:
            events, item = concepts.batch.claim(state, batch, dict(claimant), gone)
            taken[:] = [item]
            return events

        try:
            self.commit(rule)
        except concepts.batch.NothingToClaim:
            return None
        return taken[0]

    def finish_item(
        self,
        batch: str,
        item: int,
        claimant: Mapping[str, object],
        result: object = None,
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record that a claimed item is done; later items can use its result."""
        return self.commit(
            lambda state, mint: concepts.batch.finish(state, batch, item, dict(claimant), result),
            op=op,
            expect=expect,
        )

    def fail_item(
        self,
        batch: str,
        item: int,
        claimant: Mapping[str, object],
        reason: str,
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record that a claimed item failed, and why."""
        return self.commit(
            lambda state, mint: concepts.batch.fail(state, batch, item, dict(claimant), reason),
            op=op,
            expect=expect,
        )

    def release_items(
        self, batch: str, host: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Release the items held by workers on a host that is gone for good."""
        return self.commit(
            lambda state, mint: concepts.batch.release(state, batch, host), op=op, expect=expect
        )

    def retry_failed(self, batch: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Reset the tries of every failed item of a batch."""
        return self.commit(lambda state, mint: concepts.batch.retry(state, batch), op=op, expect=expect)

    def abandon_batch(
        self, batch: str, reason: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Close a batch that will not be completed."""
        return self.commit(
            lambda state, mint: concepts.batch.abandon(state, batch, reason), op=op, expect=expect
        )

    def batch(self, batch: str | None = None) -> Batch:
        """A batch, open or lately closed; without an id, the newest."""
        return self._look(lambda state: batch_model(concepts.batch.look(state, batch)))

    def batch_items(self, batch: str) -> list[Json]:
        """The items of a batch, from the log."""
        for commit in self.stored_commits():
            for event in commit.events:
                if event.type == "batch.created" and event.data["id"] == batch:
                    items: list[Json] = event.data["items"]
                    return items
        raise NotFound(f"There is no batch {batch[:80]} in the log.")

    def item_result(self, batch: str, item: int) -> Json:
        """The result of an item that is done, in full, from the log."""
        # The result is normally near the end. If clones did items twice, the first in the log counts.
        backwards = not self.batch(batch).repeated
        for commit in self.stored_commits(newest_first=backwards):
            for event in commit.events:
                data = event.data
                if event.type == "batch.item-done" and data["id"] == batch and data["item"] == item:
                    result: Json = data["result"]
                    return result
        raise NotFound(f"Item {item} of {batch[:80]} has no result.")
