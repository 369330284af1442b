"""What every handle on a stream can do: read the state, commit a command, look back.

A command runs ``rule → event → store``: the rule sees the newest state while nobody else can append, so what
it allows is still allowed when it is written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator

from holdfast.core import fold, timestamps, validation
from holdfast.core.codec import Commit, Draft, Event
from holdfast.core.short_ids import Mint
from holdfast.errors import Conflict, Forbidden, Hint, NotFound, Usage, Use
from holdfast.store.protocol import AppendContext, Plan, PrebuiltCommit, PreparedCommit
from holdfast.typed import TYPE_CHECKING, Any, Record, Self, made
from holdfast.workspace import secrets_filter
from holdfast.workspace.snapshot import WorkingSet

if TYPE_CHECKING:
    from holdfast.workspace.presence import Lease
    from holdfast.workspace.workspace import Workspace

Rule = Callable[[dict[str, Any], Mint], list[Event]]
_OP_CAP = 200
_NONE: dict[str, int] = {}


class Receipt(Record):
    """What a command left behind."""

    id: str
    """The short id of the thing that the command is about, such as ``D-12``; empty if it has none."""
    version: int
    commit: str
    at: str
    repeated: bool
    """The same ``op`` had been committed before: this is the first commit, and nothing was added."""


class Handle:
    """A stream of a workspace, with its state."""

    secrets: str | None = None
    """What becomes of secrets, if this handle has a policy of its own; see ``with_secrets``."""

    def __init__(self, workspace: Workspace, stream: str) -> None:
        self.workspace = workspace
        self.stream = stream
        self._set = WorkingSet(workspace.store, stream)
        self._pinned: int | None = None
        self._lease: Lease | None = None

    # -- the present --------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """The state as of now: a copy that the caller may keep and change."""
        self._set.refresh()
        state: dict[str, Any] = json.loads(json.dumps(self._set.state))
        return state

    @property
    def version(self) -> int:
        """How many commits the stream has; what ``expect=`` is compared with."""
        if self._pinned is not None:
            return self._pinned
        self._set.refresh()
        return self._set.version

    def peek(self) -> WorkingSet:
        """The working set, refreshed: state without a copy, faults, head. For reading only."""
        self._set.refresh()
        return self._set

    def settle_down(self) -> None:
        """Keep a snapshot if this handle has committed something since the last one."""
        self._set.settle()

    # -- commands -----------------------------------------------------------------------------------------

    def commit(
        self,
        rule: Rule | list[Event],
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Run one command: the rule decides on the newest state, its events become one durable commit.

        Events that no rule has to judge can be given as they are.
        """
        if op is not None and not (isinstance(op, str) and 0 < len(op) <= _OP_CAP):
            raise Usage(f"An operation id is a text of 1 to {_OP_CAP} characters.")
        if self._pinned is not None:
            if self._pinned < 0:
                raise Usage("One update makes one commit; call one command in it.")
            expect, self._pinned = self._pinned, -1
        working_set = self._set
        plan: Plan
        if isinstance(rule, list):
            if working_set.is_archived():
                raise _archived(self.stream)
            prepared = self._prepared(rule, op, _NONE)
            if self._lease is None:
                plan = made(PrebuiltCommit, (prepared, self._on_tail))
            else:
                plan = self._under_lease(prepared)
        else:
            plan = self._judging(rule, op)
        workspace = self.workspace
        commit, cursor, version, repeated = workspace.store.append(
            self.stream, plan, working_set.cursor, expect, op
        )
        if not repeated:
            working_set.took(commit, cursor, version)
            workspace.changed(self)
        commit_id, at, _, _, _, events, _ = commit
        return made(Receipt, (_short_id(events), version, commit_id, at, repeated))

    def _under_lease(self, prepared: PreparedCommit) -> Plan:
        """The plan for events that no rule has to judge, but only as long as the lease is held."""

        def plan(context: AppendContext) -> PreparedCommit:
            self._on_tail(context)
            return prepared

        return plan

    def _on_tail(self, context: AppendContext) -> None:
        """Take in what is new before something is written after it."""
        if self._lease is not None:
            self._lease.check()  # the stream is held: nobody who took the lease since can have written yet
        working_set, tail = self._set, context.tail
        working_set.take(tail)
        if tail.lines:
            _ = working_set.state  # refuses, before writing, what this release cannot read
        if working_set.is_archived():
            raise _archived(self.stream)

    def _judging(self, rule: Rule, op: str | None) -> Plan:
        """The plan for what a rule makes of the newest state."""
        working_set = self._set

        def plan(context: AppendContext) -> PreparedCommit:
            if self._lease is not None:
                self._lease.check()
            working_set.take(context.tail)
            mint = Mint(working_set.state, context.writer, context.numbers)
            events = rule(working_set.state, mint)
            if working_set.is_archived() and any(event.type != "session.restored" for event in events):
                raise _archived(self.stream)
            return self._prepared(events, op, mint.given)

        return plan

    def _prepared(self, events: list[Event], op: str | None, numbers: dict[str, int]) -> PreparedCommit:
        """What is to be written, as far as it does not depend on its place in the stream."""
        workspace = self.workspace
        draft = made(Draft, (tuple(events), workspace.by, workspace.origin, op))
        passed, content = secrets_filter.passed(self, draft)
        return made(PreparedCommit, (passed, numbers, content))

    def under(self, lease: Lease) -> Self:
        """This handle under a lease: its commands are refused once somebody else has taken the lease."""
        held = object.__new__(type(self))
        held.__dict__.update(self.__dict__)
        held._lease = lease
        return held

    def with_secrets(self, policy: str) -> Self:
        """This handle with a policy of its own: ``refuse``, ``redact`` or ``allow`` secrets in what it writes."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.secrets = secrets_filter.checked(policy, "secrets")
        return other

    def update(self, change: Callable[[Self], Any], *, tries: int = 100) -> Any:
        """Read, decide, write, and do it all again if somebody wrote in between.

        ``change`` gets a handle whose one command is written only if the stream is still as ``change`` saw it.
        """
        for attempt in range(tries):
            pinned = object.__new__(type(self))
            pinned.__dict__.update(self.__dict__)
            pinned._set.refresh()
            pinned._pinned = pinned._set.version
            try:
                return change(pinned)
            except Conflict:
                # Processes that failed together must not retry together.
                time.sleep(int.from_bytes(os.urandom(1)) / 256 * min(0.05, 0.0005 * 2**attempt))
        raise Conflict(f"{self.stream}: somebody else wrote in between {tries} times; nothing was written.")

    # -- the past -----------------------------------------------------------------------------------------

    def log(self, *, newest_first: bool = False) -> Iterator[Commit]:
        """Every commit that makes sense, decoded, in canonical order."""
        return validation.commits_in(self._lines(newest_first=newest_first))

    def _lines(self, *, newest_first: bool = False) -> Iterable[bytes]:
        return self.workspace.store.read(self.stream, None, newest_first=newest_first).lines

    def at(self, when: int | str) -> dict[str, Any]:
        """The state as it was: at a version (the first N commits), or at a moment (ISO-8601 UTC)."""
        state = fold.blank(self._set.state["kind"])
        if isinstance(when, int):
            if not 0 <= when <= self.version:
                raise NotFound(f"There is no version {when}; the stream has versions 0 to {self.version}.")
            return fold.fold(state, (line for line, _ in zip(self._lines(), range(when), strict=False)))
        if not isinstance(when, str):
            raise Usage(f"{when!r} is neither a version nor a timestamp.")
        until = timestamps.iso(timestamps.parse(when))
        return fold.fold(state, (commit for commit in self.log() if commit.at <= until))

    def diff(self, before: int | str, after: int | str) -> list[dict[str, Any]]:
        """What changed in the state between two versions or moments, without the bookkeeping."""
        from holdfast.core.difference import difference

        return difference(self.at(before), self.at(after))

    def project(self, step: Callable[[Any, Event], Any], initial: Any) -> Any:
        """Fold the program's own events (types ``x.…``) with the program's own function."""
        value = initial
        for commit in self.log():
            for event in commit.events:
                if event.type.startswith("x."):
                    value = step(value, event)
        return value


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
