"""What every handle on a stream can do: read the state, commit a command, read history.

A command runs ``rule → event → store``: the rule sees the newest state while no other append can happen, so what it
allows is still allowed when it is written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from holdfast.core import concepts, fold, timestamps, validation
from holdfast.core.codec import Commit, Draft, Event
from holdfast.core.short_ids import Mint
from holdfast.errors import Conflict, Forbidden, Hint, NotFound, Usage, Use
from holdfast.store.protocol import AppendContext, Plan, PrebuiltCommit, PreparedCommit
from holdfast.typed import TYPE_CHECKING, Any, Self, new_record
from holdfast.workspace import secrets_filter
from holdfast.workspace.receipt import Receipt
from holdfast.workspace.snapshot import WorkingSet
from holdfast.workspace.thread_lock import ThreadLock

if TYPE_CHECKING:
    from typing import TypeVar, overload

    from holdfast.workspace import models
    from holdfast.workspace.models import JsonObject
    from holdfast.workspace.presence import Lease
    from holdfast.workspace.projections import Kept, Projection
    from holdfast.workspace.workspace import Workspace

    T = TypeVar("T")

__all__ = ["Handle", "Receipt"]

Rule = Callable[[dict[str, Any], Mint], list[Event]]
_OP_CAP = 200
_NONE: dict[str, int] = {}


class _Update:
    """The one command of an ``update``: held until the function has returned, then written."""

    __slots__ = ("after", "handle", "op", "over", "receipt", "rule", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self.handle: Handle | None = None
        self.rule: Rule | list[Event] = []
        self.op: str | None = None
        self.receipt = Receipt.unwritten()
        self.after: list[Callable[[], None]] = []
        self.over = False


class Handle:
    """A stream of a workspace, with its state. It may be shared by threads.

    Methods whose description begins with "Internal" are for the edges and adapters of this package.
    """

    secrets: str | None = None
    """The policy for secrets, if this handle has its own; see ``with_secrets``."""

    def __init__(self, workspace: Workspace, stream: str) -> None:
        self.workspace = workspace
        self.stream = stream
        self._set = WorkingSet(workspace.store, stream)
        self._update: _Update | None = None
        self._lease: Lease | None = None
        self._versions = workspace.upcasters.versions
        self.kept_projections: dict[str, Kept] = {}
        """Internal: projections of this stream as this handle last folded them, by name."""

    # -- the present --------------------------------------------------------------------------------------

    def _look(self, question: Callable[[dict[str, Any]], T]) -> T:
        """The result of ``question`` on the newest state, while no other thread changes it."""
        working_set = self._set
        with working_set.lock:
            working_set.refresh()
            return question(working_set.state)

    @property
    def state(self) -> JsonObject:
        """The whole state as plain JSON: a copy, for programs that store or compare it.

        Its keys may change between releases; the properties of the handle do not.
        """
        from holdfast.workspace.model_builders import copy

        state: JsonObject = self._look(copy)
        return state

    @property
    def version(self) -> int:
        """How many commits the stream has; compared with ``expect=``."""
        if self._update is not None:
            return self._update.version
        with self._set.lock:
            self._set.refresh()
            return self._set.version

    @property
    def lock(self) -> ThreadLock:
        """Internal: held to read or change the working set."""
        return self._set.lock

    def peek(self) -> WorkingSet:
        """Internal: the working set, refreshed. Its state is not a copy: hold its lock if threads share the handle."""
        self._set.refresh()
        return self._set

    def knows_durable(self, version: int, head: str) -> bool:
        """Internal: whether the first ``version`` commits, up to ``head``, are durable as far as this handle knows."""
        return self._set.is_durable(version, head)

    def settle_down(self) -> None:
        """Internal: save a snapshot if this handle has committed something since the last one."""
        self._set.settle()

    # -- commands -----------------------------------------------------------------------------------------

    def note(self, text: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Record a note."""
        return self.commit(lambda state, mint: concepts.note.add(state, text), op=op, expect=expect)

    def record(
        self, event_type: str, data: Mapping[str, object], *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Record a program's own event; its type begins with ``x.``. Read back with ``project``."""
        return self.commit(concepts.own.record(event_type, data, self._versions), op, expect)

    def record_all(
        self,
        events: Iterable[tuple[str, Mapping[str, object]]],
        *,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record several of a program's own events, each a type and its data, as one commit: all of them or none.

        However many there are, the disk is synced once.
        """
        new = [
            event
            for event_type, data in events
            for event in concepts.own.record(event_type, data, self._versions)
        ]
        if not new:
            raise Usage("There is no event to record; nothing was written.")
        return self.commit(new, op=op, expect=expect)

    def commit(self, rule: Rule | list[Event], op: str | None = None, expect: int | None = None) -> Receipt:
        """Internal: run one command. The rule sees the newest state; its events become one durable commit.

        Events that no rule has to check can be passed directly.
        """
        if op is not None and not (
            isinstance(op, str) and 0 < len(op) <= _OP_CAP and validation.is_one_line(op)
        ):
            raise Usage(f"An operation id is one line of 1 to {_OP_CAP} characters.")
        if self._update is not None:
            return self._deferred(self._update, rule, op)
        return self._append(rule, op, expect)

    def _append(self, rule: Rule | list[Event], op: str | None, expect: int | None) -> Receipt:
        working_set, workspace = self._set, self.workspace
        plan: Plan
        # Threads that share the handle take turns: each commit is in the state before the next rule runs.
        with working_set.lock:
            if not isinstance(rule, list):
                plan = self._rule_plan(rule, op)
            else:
                if working_set.is_archived():
                    working_set.refresh_only()  # somebody may have restored it
                    if working_set.state.get("archived"):
                        raise _archived(self.stream)
                prepared = self._prepared(rule, op, _NONE)
                if self._lease is None:
                    plan = new_record(PrebuiltCommit, (prepared, self._on_tail))
                else:
                    plan = self._under_lease(prepared)
            commit, cursor, version, repeated = workspace.store.append(
                self.stream, plan, working_set.cursor, expect, op
            )
            if not repeated:
                working_set.took(commit, cursor, version)
        if not repeated:
            workspace.changed(self)  # without the lock: views of other sessions may be written here
        commit_id, at, _, _, _, events, _ = commit
        return Receipt(_short_id(events), version, commit_id, at, repeated)

    def _deferred(self, update: _Update, rule: Rule | list[Event], op: str | None) -> Receipt:
        """Check the command of an update as far as possible; it is written when the update's function returns."""
        if update.over:
            raise Usage("The update is over; use the handle that it was called on.")
        if update.handle is not None:
            raise Usage("One update makes one commit; call one command in it. Nothing was written.")
        if isinstance(rule, list):
            self._prepared(rule, op, _NONE)
        else:
            check = rule
            self._look(lambda state: check(state, Mint(state, state["starter"], {})))
        update.handle, update.rule, update.op = self, rule, op
        return update.receipt

    def _follow_up(self, action: Callable[[], None]) -> None:
        """Run a command's follow-up once it is written."""
        if self._update is None:
            action()
        else:
            self._update.after.append(action)

    def _under_lease(self, prepared: PreparedCommit) -> Plan:
        """The plan for events that no rule has to check, but only while the lease is held."""

        def plan(context: AppendContext) -> PreparedCommit:
            self._on_tail(context)
            return prepared

        return plan

    def _on_tail(self, context: AppendContext) -> None:
        """Fold new commits before something is written after them."""
        if self._lease is not None:
            self._lease.check()  # under the stream's lock: no new holder can have written yet
        working_set, tail = self._set, context.tail
        # Others wait for the lock: commits that cannot change what may be written are folded later.
        fold_now = not tail.restarted and not all(map(concepts.own.is_all_own, tail.lines))
        working_set.take(tail)
        if fold_now:
            _ = working_set.state  # refuses, before writing, what this release cannot read
        if working_set.is_archived():
            raise _archived(self.stream)

    def _rule_plan(self, rule: Rule, op: str | None) -> Plan:
        """The plan that runs a rule on the newest state."""
        working_set = self._set

        def plan(context: AppendContext) -> PreparedCommit:
            if self._lease is not None:
                self._lease.check()
            working_set.take(context.tail)
            state = working_set.state
            mint = Mint(state, context.writer, context.numbers)
            events = rule(state, mint)
            if working_set.is_archived() and any(event.type != "session.restored" for event in events):
                raise _archived(self.stream)
            return self._prepared(events, op, mint.given)

        return plan

    def _prepared(self, events: list[Event], op: str | None, numbers: dict[str, int]) -> PreparedCommit:
        """The commit to write, as far as it does not depend on its position in the stream."""
        workspace = self.workspace
        draft = new_record(Draft, (tuple(events), workspace.by, workspace.origin, op))
        passed, content = secrets_filter.passed(self, draft)
        return new_record(PreparedCommit, (passed, numbers, content))

    def _sibling(self) -> Self:
        """Another handle with the same working set."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def under(self, lease: Lease) -> Self:
        """This handle under a lease: its commands are refused once another process has taken the lease."""
        held = self._sibling()
        held._lease = lease
        return held

    def with_secrets(self, policy: str) -> Self:
        """This handle with its own policy: ``refuse``, ``redact`` or ``allow`` secrets in what it writes."""
        other = self._sibling()
        other.secrets = secrets_filter.checked(policy, "secrets")
        return other

    def update(self, change: Callable[[Self], T], *, tries: int = 100) -> T:
        """Read, decide, write; retried if another commit arrived in between.

        ``change`` gets its own handle and calls at most one command on it. That command is written after ``change``
        has returned, and only if the stream has not changed since; then its receipt is filled in.
        A second command is refused, and nothing is written.
        """
        for attempt in range(tries):
            pinned = self._sibling()
            pinned._update = update = _Update(self.version)
            try:
                result = change(pinned)
                update.over = True
                if update.handle is not None:
                    update.handle._write(update)
                return result
            except Conflict:
                update.over = True
                # Processes that failed together must not retry together.
                time.sleep(int.from_bytes(os.urandom(1)) / 256 * min(0.05, 0.0005 * 2**attempt))
        raise Conflict(f"{self.stream}: somebody else wrote in between {tries} times; nothing was written.")

    def _write(self, update: _Update) -> None:
        receipt = self._append(update.rule, update.op, update.version)
        update.receipt.fill(receipt.id, receipt.version, receipt.commit, receipt.timestamp, receipt.repeated)
        for action in update.after:
            action()

    # -- the past -----------------------------------------------------------------------------------------

    def log(self, *, newest_first: bool = False) -> Iterator[models.Commit]:
        """Every commit, oldest first, with every text in full."""
        from holdfast.workspace.model_builders import commit_model

        return map(commit_model, self.stored_commits(newest_first=newest_first))

    def stored_commits(self, *, newest_first: bool = False) -> Iterator[Commit]:
        """Internal: every valid commit, decoded, in canonical order."""
        return validation.commits_in(self._lines(newest_first=newest_first))

    def _lines(self, *, newest_first: bool = False) -> Iterable[bytes]:
        return self.workspace.store.read(self.stream, None, newest_first=newest_first).lines

    def search(
        self,
        words: str = "",
        *,
        kind: str | Iterable[str] = (),
        by: str | None = None,
        since: str | None = None,
        until: str | None = None,
        status: str | None = None,
        path: str | None = None,
        limit: int = 20,
        semantic: bool | None = None,
    ) -> models.SearchResult:
        """The best matches in this stream; see ``Workspace.search``, which looks into all of them."""
        from holdfast.workspace.searching import find, result_of

        found = find(
            self.workspace,
            words,
            self.stream,
            kind=kind,
            by=by,
            since=since,
            until=until,
            status=status,
            path=path,
            limit=limit,
            semantic=semantic,
        )
        return result_of(found)

    def anchored(self, at: Iterable[str]) -> list[dict[str, Any]]:
        """Internal: the anchors that texts name, as they are now."""
        texts = list(at)
        if not texts:
            return []
        from holdfast.workspace.anchors import take

        return take(self.workspace, self.stream, texts)

    def at(self, when: int | str) -> JsonObject:
        """The whole state as it was, as plain JSON: at a version (the first N commits) or a timestamp (ISO 8601, UTC).

        ``read(at=when)`` returns the same with typed properties.
        """
        state: JsonObject = self._state_at(when)
        return state

    def _state_at(self, when: int | str | None) -> dict[str, Any]:
        if when is None:
            from holdfast.workspace.model_builders import copy

            newest: dict[str, Any] = self._look(copy)
            return newest
        return fold.fold(fold.blank(self._set.kind), self.commits_until(when))

    def commits_until(self, when: int | str) -> Iterator[bytes | Commit]:
        """Internal: the commits up to a version or a timestamp, as lines or decoded."""
        if isinstance(when, int):
            if not 0 <= when <= self.version:
                raise NotFound(f"There is no version {when}; the stream has versions 0 to {self.version}.")
            return islice(iter(self._lines()), when)
        if not isinstance(when, str):
            raise Usage(f"{when!r} is neither a version nor a timestamp.")
        until = timestamps.iso(timestamps.parse(when))
        return (commit for commit in self.stored_commits() if commit.at <= until)

    def diff(self, before: int | str, after: int | str) -> list[models.Change]:
        """What changed in the state between two versions or timestamps, without the bookkeeping."""
        from holdfast.workspace.models import Change

        return [Change(**change) for change in self.differences(before, after)]

    def differences(self, before: int | str, after: int | str) -> list[dict[str, Any]]:
        """Internal: ``diff`` as plain JSON."""
        from holdfast.core.difference import difference

        return difference(self._state_at(before), self._state_at(after))

    if TYPE_CHECKING:

        @overload
        def project(self, projection: Projection[T], *, at: int | str | None = None) -> T: ...

        @overload
        def project(
            self,
            projection: Callable[[T, models.Event], T],
            initial: T,
            *,
            at: int | str | None = None,
        ) -> T: ...

    def project(
        self,
        projection: Projection[T] | Callable[[T, models.Event], T],
        initial: T | None = None,
        *,
        at: int | str | None = None,
    ) -> T:
        """Fold every event, oldest first, with a program's own function.

        A ``Projection`` is kept: it costs one step per new event, at any length. A plain function with an initial
        value is folded from the first event on. ``at`` is a version (the first N commits) or a timestamp (ISO 8601,
        UTC).
        """
        from holdfast.workspace.projections import project

        return project(self, projection, initial, at)


def _archived(stream: str) -> Forbidden:
    return Forbidden(
        f"{stream} is archived and read-only; nothing was written.",
        hint=Hint(Use("restore", session=stream.partition("/")[2]), " restores it."),
    )


def _short_id(events: tuple[Event, ...]) -> str:
    for _, data, _ in events:
        if "id" in data and isinstance(data["id"], str):
            return data["id"]
    return ""
