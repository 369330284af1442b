"""Tasks and their results."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.errors import NotFound
from holdfast.workspace.handle import Handle, Receipt


class Tasks(Handle):
    def add_task(
        self,
        title: str,
        *,
        depends_on: Iterable[str] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Add a task at the end; it can wait for others."""
        needs = list(depends_on)
        return self.commit(
            lambda state, mint: concepts.task.add(state, mint, title, needs), op=op, expect=expect
        )

    def start_task(
        self, task: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Begin a task, which makes it the current one; without an id, the next that is ready."""
        return self.commit(lambda state, mint: concepts.task.start(state, task), op=op, expect=expect)

    def complete_task(
        self,
        task: str | None = None,
        result: str | None = None,
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """A task (the current one, if none is named) is done; the next that is ready becomes the current one."""
        return self.commit(
            lambda state, mint: concepts.task.complete(state, task, result), op=op, expect=expect
        )

    def skip_task(
        self, task: str | None = None, *, reason: str, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """A task (the current one, if none is named) will not be done, and why."""
        return self.commit(lambda state, mint: concepts.task.skip(state, task, reason), op=op, expect=expect)

    def block_task(
        self, task: str | None = None, *, reason: str, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Something keeps a task from going on."""
        return self.commit(lambda state, mint: concepts.task.block(state, task, reason), op=op, expect=expect)

    def unblock_task(
        self, task: str | None = None, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Nothing keeps a task from going on any more."""
        return self.commit(lambda state, mint: concepts.task.unblock(state, task), op=op, expect=expect)

    def results(self, of: str | None = None) -> dict[str, str]:
        """What the completed tasks left behind, in full, in the order in which they were completed.

        With ``of``, only of the tasks that this one depends on. If two clones completed a task, the first result
        counts, as in the state.
        """
        wanted: set[str] | None = None
        found: dict[str, str | None] = {}
        needs: dict[str, list[str]] = {}
        for commit in self.log():
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
