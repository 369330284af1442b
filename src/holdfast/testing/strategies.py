"""Hypothesis strategies: random work on one stream by several writers that exchange commits.

``histories()`` draws a list of steps; ``World(writers).run(steps)`` lets each writer work on what it has seen so far,
like clones: rules see the writer's own state, ids come from its own clock and the commits it has read. Nothing here
touches a disk, so thousands of histories can be tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from hypothesis import strategies as st

from holdfast.core import codec, fold, ids
from holdfast.core.codec import Commit, Draft, Event
from holdfast.core.concepts import session as session_concept
from holdfast.core.short_ids import Mint
from holdfast.core.timestamps import iso
from holdfast.errors import Forbidden, HoldfastError
from holdfast.testing.commands import BY_KIND, FAMILIES_BY_KIND, TEXTS, Choice, Step
from holdfast.workspace.handle import Handle, Receipt, Rule
from holdfast.workspace.person import Person
from holdfast.workspace.project import Project
from holdfast.workspace.session import Session


def histories(writers: int, longest: int = 60, kind: str = "session") -> st.SearchStrategy[list[Step]]:
    """A history of the work of several writers on a stream of that kind."""

    def steps(families: list[tuple[str, ...]]) -> st.SearchStrategy[list[Step]]:
        names = sorted({name for family in families for name in family})
        command = st.integers(0, 3).flatmap(lambda n: st.sampled_from(names) if n else st.none())
        number = st.integers(0, 4) | st.integers(0, 60)
        step = st.builds(Step, st.integers(0, writers - 1), command, number, st.sampled_from(TEXTS))
        # Hypothesis prefers short lists; two writers need longer ones to interact.
        return st.lists(step, min_size=longest // 2, max_size=longest)

    return st.lists(st.sampled_from(FAMILIES_BY_KIND[kind]), min_size=1, max_size=2, unique=True).flatmap(
        steps
    )


T = TypeVar("T")


class Copy(Handle):
    """A stream as one writer has it: its own commits and those it received."""

    KIND = ""
    STREAM = ""
    writer: str

    def __init__(self, writer: str, clock: Callable[[], int]) -> None:
        self.writer = writer
        self.stream = self.STREAM
        self.commits: dict[str, Commit] = {}
        self.folded = fold.blank(self.KIND)
        self.refused = 0
        self._clock = clock
        self._numbers: dict[str, int] = {}
        self._sum = codec.GENESIS
        self._update = None
        self._versions = {}

    def _look(self, question: Callable[[dict[str, Any]], T]) -> T:
        return question(self.folded)

    @property
    def state(self) -> dict[str, Any]:
        return self.folded

    @property
    def version(self) -> int:
        return len(self.commits)

    def peek(self) -> Any:
        """State and version are all that a command reads."""
        return self

    def commit(
        self,
        rule: Rule | list[Event],
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Apply the rule to what this writer has seen; the commit is encoded and decoded, as for a file."""
        mint = Mint(self.folded, self.writer, self._numbers)
        events = rule if isinstance(rule, list) else rule(self.folded, mint)
        if self.folded.get("archived") and any(event.type != "session.restored" for event in events):
            raise Forbidden("The session is archived and read-only; nothing was written.")
        draft = Draft(tuple(events), f"agent-{self.writer[:2]}", "agent", op)
        now = self._clock()
        head = max(self.commits, default=ids.ZERO)
        line, _ = codec.encode(draft, ids.next_id(head, now, self.writer), iso(now), self._sum)
        commit = codec.decode(line[:-1])
        self._sum = commit.sum
        for prefix, number in mint.given.items():
            self._numbers[prefix] = max(number, self._numbers.get(prefix, 0))
        self.commits[commit.id] = commit
        fold.fold(self.folded, [commit])
        return Receipt("", len(self.commits), commit.id, commit.at, repeated=False)

    def take_in(self, arrived: Iterable[Commit]) -> None:
        """Receive another writer's commits: if they are the newest, fold them in, otherwise refold everything.

        In between the state goes through JSON, as in a snapshot.
        """
        new: list[Commit] = sorted((c for c in arrived if c.id not in self.commits), key=lambda c: c.id)
        if not new:
            return
        newest = new[0].id > max(self.commits, default=ids.ZERO)
        self.commits.update((commit.id, commit) for commit in new)
        if newest:
            self.folded = fold.fold(json.loads(json.dumps(self.folded)), new)
        else:
            self.folded = fold_all(self.commits.values(), self.KIND)


class Replica(Copy, Session):
    """A session as one writer has it."""

    KIND = "session"
    STREAM = "sessions/alice/2026-01-21-a1b2c3d4"

    def _shown(self, receipt: Receipt) -> Receipt:
        return receipt


class ProjectReplica(Copy, Project):
    """The project as one writer has it."""

    KIND = "project"
    STREAM = "project"


class PersonReplica(Copy, Person):
    """A user as one writer has it."""

    KIND = "user"
    STREAM = "users/alice"


def fold_all(commits: Iterable[Commit], kind: str = "session") -> dict[str, Any]:
    """The state of a stream that has exactly these commits."""
    ordered: list[Commit] = sorted(commits, key=lambda commit: commit.id)
    return fold.fold(fold.blank(kind), ordered)


C = TypeVar("C", bound=Copy)


class Shared(Generic[C]):
    """Several writers of one stream."""

    def __init__(self, kind: type[C], writers: int) -> None:
        self._now = 1_768_999_800_000
        self._commands = BY_KIND[kind.KIND]
        self.replicas = [kind(letter * ids.WRITER_LENGTH, self._clock) for letter in "kmnp"[:writers]]

    def _clock(self) -> int:
        """A clock that sometimes stands still, so that the counter and the writer decide the order."""
        self._now += 1 if self._now % 3 else 0
        self._now += 1 if len(self.everything()) % 2 else 0
        return self._now

    def run(self, history: list[Step]) -> None:
        for step in history:
            self.step(step)

    def step(self, step: Step) -> None:
        replica = self.replicas[step.writer]
        if step.command is None:
            other = self.replicas[step.pick % len(self.replicas)]
            replica.take_in(other.commits.values())
            return
        before = json.dumps(replica.state)
        count = len(replica.commits)
        try:
            self._commands[step.command](replica, Choice(replica, step))
        except HoldfastError:
            # A refused command changes nothing.
            assert len(replica.commits) == count
            assert json.dumps(replica.state) == before
            replica.refused += 1

    def meet(self) -> None:
        """Exchange all commits between all writers."""
        everything = list(self.everything().values())
        for replica in self.replicas:
            replica.take_in(everything)

    def everything(self) -> dict[str, Commit]:
        """The commits of all writers."""
        found: dict[str, Commit] = {}
        for replica in getattr(self, "replicas", ()):
            found.update(replica.commits)
        return found

    def events(self) -> Iterable[tuple[Commit, Event]]:
        """Every event of every writer, in canonical order."""
        for _, commit in sorted(self.everything().items()):
            for event in commit.events:
                yield commit, event


class World(Shared[Replica]):
    """Several writers of one session, which the first of them has started."""

    def __init__(self, writers: int) -> None:
        super().__init__(Replica, writers)
        first = self.replicas[0]
        start = session_concept.start(first.state, "2026-01-21-a1b2c3d4", "alice", "The goal")
        first.commit(lambda state, mint: start)
        for replica in self.replicas[1:]:
            replica.take_in(first.commits.values())
