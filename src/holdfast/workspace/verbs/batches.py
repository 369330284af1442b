"""Batches: a list of items, each done once over any number of runs and deaths."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core import concepts
from holdfast.core.codec import Event
from holdfast.errors import NotFound
from holdfast.typed import Any
from holdfast.workspace.handle import Handle, Receipt


class Batches(Handle):
    def create_batch(
        self,
        items: Iterable[Any],
        *,
        title: str = "batch",
        retries: int = 0,
        sequence: bool = False,
        done: Iterable[int] = (),
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Begin a batch of items (texts or other plain JSON). In a ``sequence`` each item waits for the one before.

        A failed item is tried again up to ``retries`` times.
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
        """Note that a run of the batch begins, and with what; the command is shown to people and never run."""
        words = list(command)
        return self.commit(
            lambda state, mint: concepts.batch.begin(state, batch, words), op=op, expect=expect
        )

    def has_item(self, batch: str, *, dead: Iterable[dict[str, Any]] = ()) -> bool:
        """Whether ``claim_item`` would find an item now."""
        entry = concepts.batch.look(self.peek().state, batch)
        return "outcome" not in entry and concepts.batch.next_item(entry, list(dead)) is not None

    def claim_item(
        self, batch: str, claimant: dict[str, Any], *, dead: Iterable[dict[str, Any]] = ()
    ) -> int | None:
        """Take the next item for ``claimant``; None if there is none to take now.

        Claims whose claimants are in ``dead`` may be taken over: nobody else can have done so in between.
        """
        taken: list[int] = []
        gone = list(dead)
        if not self.has_item(batch, dead=gone):
            return None

        def rule(state: dict[str, Any], mint: Any) -> list[Event]:
            events, item = concepts.batch.claim(state, batch, claimant, gone)
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
        claimant: dict[str, Any],
        result: Any = None,
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Write down that a claimed item is done; its result is what later items can build on."""
        return self.commit(
            lambda state, mint: concepts.batch.finish(state, batch, item, claimant, result),
            op=op,
            expect=expect,
        )

    def fail_item(
        self,
        batch: str,
        item: int,
        claimant: dict[str, Any],
        reason: str,
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Write down that a claimed item failed, and why."""
        return self.commit(
            lambda state, mint: concepts.batch.fail(state, batch, item, claimant, reason),
            op=op,
            expect=expect,
        )

    def release_items(
        self, batch: str, host: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Give back the items that workers on a host hold which is gone for good."""
        return self.commit(
            lambda state, mint: concepts.batch.release(state, batch, host), op=op, expect=expect
        )

    def retry_failed(self, batch: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Give every failed item of a batch all its tries back."""
        return self.commit(lambda state, mint: concepts.batch.retry(state, batch), op=op, expect=expect)

    def abandon_batch(
        self, batch: str, reason: str, *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Close a batch that will not be completed."""
        return self.commit(
            lambda state, mint: concepts.batch.abandon(state, batch, reason), op=op, expect=expect
        )

    def batch(self, batch: str | None = None) -> dict[str, Any]:
        """A batch as the state has it, open or lately closed; without an id, the newest."""
        state = self.peek().state
        found = concepts.batch.look(state, batch)
        return {**found, "running": dict(found["running"]), "done": list(found["done"])}

    def batch_items(self, batch: str) -> list[Any]:
        """The items of a batch, from the log."""
        for commit in self.log():
            for event in commit.events:
                if event.type == "batch.created" and event.data["id"] == batch:
                    items: list[Any] = event.data["items"]
                    return items
        raise NotFound(f"There is no batch {batch[:80]} in the log.")

    def item_result(self, batch: str, item: int) -> Any:
        """The result of an item that is done, in full, from the log."""
        # The result is normally near the end. Where clones did items twice, the first in the log counts.
        backwards = not self.batch(batch)["repeated"]
        for commit in self.log(newest_first=backwards):
            for event in commit.events:
                data = event.data
                if event.type == "batch.item-done" and data["id"] == batch and data["item"] == item:
                    return data["result"]
        raise NotFound(f"Item {item} of {batch[:80]} has no result.")
