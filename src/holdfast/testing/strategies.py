"""Random work on one session by several writers that exchange commits now and then, for Hypothesis.

``histories()`` draws a list of steps; ``World(writers).run(steps)`` lets each writer work on what it has seen so
far, exactly as clones do: rules see the writer's own state, ids come from its own clock and the commits it has
read. Nothing here touches a disk, so thousands of histories can be tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from holdfast.core import commit as codec
from holdfast.core import fold, ids
from holdfast.core.commit import Commit, Draft, Event
from holdfast.core.concepts import batch
from holdfast.core.concepts import session as session_concept
from holdfast.core.moment import iso
from holdfast.core.numbers import Mint
from holdfast.errors import HoldfastError
from holdfast.workspace.handle import Receipt, Rule
from holdfast.workspace.session import Session

TEXTS = (
    "plain",
    "$2 \\1 | `x`",
    "---",
    "<<<<<<< ours",
    "two\nlines\r\n",
    "émoji 🦀",
    "\u202ebidi",
    "x" * 700,
)
PHASES = ("look", "fix", "prove")


class Step(NamedTuple):
    """What happens next: a writer runs a command, or (no command) takes in what another one has."""

    writer: int
    command: str | None
    pick: int
    text: str


class Choice:
    """The arguments of one command, out of a number and a text."""

    def __init__(self, session: Session, step: Step) -> None:
        self.text = step.text
        self.number = step.pick
        self._state = session.state
        self.unique = f"{step.writer} after {self._state['head']}: {step.text}"
        """A text that nobody else writes."""

    def id_in(self, name: str) -> str:
        """An id of a collection: mostly an open one, sometimes a closed one or one that never was."""
        collection = self._state[name]
        known = [*collection["open"], *(entry["id"] for entry in collection["closed"][-2:]), "T-999"]
        chosen: str = known[self.number % len(known)]
        return chosen

    def id_with(self, name: str, field: str) -> str:
        """An open entry in which the field holds something, if there is one."""
        entries = self._state[name]["open"].values()
        return next((entry["id"] for entry in entries if entry[field]), None) or self.id_in(name)

    def maybe_id_in(self, name: str) -> str | None:
        return self.id_in(name) if self.number % 3 else None

    def held_item(self, host: str) -> tuple[str, int, dict[str, str]]:
        """An item of a batch that this writer holds, with its claim; one that nobody holds if there is none."""
        me = {"host": host}
        held = [
            (batch["id"], int(item), me)
            for batch in self._state["batches"]["open"].values()
            for item, claim in batch["running"].items()
            if claim["claimant"] == me
        ]
        return held[self.number % len(held)] if held else (self.id_in("batches"), 0, me)

    def one_of(self, options: Iterable[str]) -> str:
        listed = list(options)
        return listed[self.number % len(listed)]

    def maybe_text(self) -> str | None:
        return self.text if self.number % 2 else None


Run = Callable[["Replica", Choice], object]


def _holder(session: Any) -> str:
    """Who takes items of a batch: the writer of a replica, the place of a real session."""
    return str(getattr(session, "writer", None) or session.workspace.where)


COMMANDS: dict[str, Run] = {
    "goal": lambda s, c: s.set_goal(c.unique),
    "focus": lambda s, c: s.set_focus(c.unique),
    "mark": lambda s, c: s.mark(c.one_of((*session_concept.MARKS, "paused"))),
    "pause": lambda s, c: s.pause(c.maybe_text()),
    "continue": lambda s, c: s.continue_(),
    "complete": lambda s, c: s.complete(c.maybe_text()),
    "stopped": lambda s, c: s.stopped(c.text),
    "discuss": lambda s, c: s.discuss(c.text),
    "return": lambda s, c: s.return_(c.maybe_text()),
    "phases": lambda s, c: s.declare_phases(
        list(PHASES), transitions={"look": ["fix"], "fix": ["prove", "look"]} if c.number % 2 else None
    ),
    "phase": lambda s, c: s.enter_phase(c.one_of(PHASES)),
    "complete-phase": lambda s, c: s.complete_phase(),
    "skip-to": lambda s, c: s.skip_to_phase(c.one_of(PHASES), c.text),
    "task add": lambda s, c: s.add_task(c.text, depends_on=[c.id_in("tasks")] if c.number % 2 else []),
    "task start": lambda s, c: s.start_task(c.maybe_id_in("tasks")),
    "task done": lambda s, c: s.complete_task(c.maybe_id_in("tasks"), c.maybe_text()),
    "task skip": lambda s, c: s.skip_task(c.maybe_id_in("tasks"), reason=c.text),
    "task block": lambda s, c: s.block_task(c.maybe_id_in("tasks"), reason=c.text),
    "task unblock": lambda s, c: s.unblock_task(c.maybe_id_in("tasks")),
    "plan propose": lambda s, c: s.propose_plan(
        c.text, c.maybe_text(), supersedes=c.id_in("plans") if c.number % 3 == 0 else None
    ),
    "plan edit": lambda s, c: s.edit_plan(c.maybe_id_in("plans"), c.text),
    "plan approve": lambda s, c: s.approve_plan(c.maybe_id_in("plans")),
    "plan reject": lambda s, c: s.reject_plan(c.maybe_id_in("plans"), c.text),
    "decide": lambda s, c: s.decide(
        c.text,
        because=c.text,
        task=c.id_in("tasks") if c.number % 3 == 0 else None,
        supersedes=c.id_in("decisions") if c.number % 2 else None,
    ),
    "settle": lambda s, c: s.settle(c.id_in("decisions"), c.text, ok=c.number % 2 == 0),
    "loop add": lambda s, c: s.add_loop(c.text, context=c.maybe_text()),
    "loop explore": lambda s, c: s.explore_loop(c.id_in("loops")),
    "loop close": lambda s, c: s.close_loop(c.id_in("loops"), c.text, decide=c.maybe_text()),
    "risk add": lambda s, c: s.add_risk(c.text, severity=c.one_of(("low", "critical"))),
    "risk close": lambda s, c: s.close_risk(c.id_in("risks"), c.text),
    "blocker add": lambda s, c: s.add_blocker(c.text),
    "blocker close": lambda s, c: s.close_blocker(c.id_in("blockers"), c.text),
    "next add": lambda s, c: s.add_next(c.text),
    "next done": lambda s, c: s.finish_next(c.id_in("next"), c.maybe_text()),
    "error": lambda s, c: s.add_error(c.text, remedy=c.maybe_text()),
    "remedy": lambda s, c: s.remedy_error(c.id_in("errors"), c.text),
    "legal": lambda s, c: s.legal_review(c.text, outcome=c.text),
    "compaction": lambda s, c: s.compacted(c.maybe_text(), trigger="auto"),
    "checkpoint": lambda s, c: s.checkpoint(c.text, pending=[c.text] * (c.number % 30), tools=["Read"]),
    "note": lambda s, c: s.note(c.text),
    "batch create": lambda s, c: s.create_batch([c.text] * (c.number % 4 + 1), retries=c.number % 2),
    "batch begin": lambda s, c: s.begin_batch(c.id_in("batches"), ["echo", "{item}"]),
    "batch claim": lambda s, c: s.commit(
        lambda state, mint: batch.claim(state, c.id_in("batches"), {"host": _holder(s)}, [])[0]
    ),
    "batch finish": lambda s, c: s.finish_item(*c.held_item(_holder(s)), c.text),
    "batch fail": lambda s, c: s.fail_item(*c.held_item(_holder(s)), c.text),
    "batch release": lambda s, c: s.release_items(c.id_in("batches"), _holder(s)),
    "batch retry": lambda s, c: s.retry_failed(c.id_with("batches", "failed")),
    "batch abandon": lambda s, c: s.abandon_batch(c.id_in("batches"), c.text),
}


FAMILIES = (
    ("goal", "focus", "mark", "pause", "continue", "complete", "stopped"),
    ("discuss", "return", "pause", "continue", "focus", "task start", "task add", "phases", "phase"),
    ("phases", "phase", "complete-phase", "skip-to"),
    ("task add", "task start", "task done", "task skip", "task block", "task unblock"),
    ("plan propose", "plan edit", "plan approve", "plan reject"),
    ("decide", "settle", "loop add", "loop explore", "loop close"),
    ("risk add", "risk close"),
    ("blocker add", "blocker close", "next add", "next done"),
    ("error", "remedy", "legal", "compaction", "checkpoint", "note"),
    tuple(name for name in COMMANDS if name.startswith("batch ")),
    tuple(COMMANDS),
)
"""Commands that act on each other. A history draws from one or two families: with all of them at once, two writers
would hardly ever touch the same thing."""


def histories(writers: int, longest: int = 60) -> st.SearchStrategy[list[Step]]:
    """A history of the work of several writers."""

    def steps(families: list[tuple[str, ...]]) -> st.SearchStrategy[list[Step]]:
        names = sorted({name for family in families for name in family})
        command = st.integers(0, 3).flatmap(lambda n: st.sampled_from(names) if n else st.none())
        number = st.integers(0, 4) | st.integers(0, 60)
        step = st.builds(Step, st.integers(0, writers - 1), command, number, st.sampled_from(TEXTS))
        # Hypothesis makes short lists unless told otherwise; two writers need some room to meet.
        return st.lists(step, min_size=longest // 2, max_size=longest)

    return st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=2, unique=True).flatmap(steps)


class Replica(Session):
    """A session as one writer has it: its own commits, and those it has taken in."""

    writer: str

    def __init__(self, writer: str, clock: Callable[[], int]) -> None:
        self.writer = writer
        self.stream = "sessions/alice/2026-01-21-a1b2c3d4"
        self.commits: dict[str, Commit] = {}
        self.folded = fold.blank("session")
        self.refused = 0
        self._clock = clock
        self._numbers: dict[str, int] = {}
        self._sum = codec.GENESIS

    @property
    def state(self) -> dict[str, Any]:
        return self.folded

    def commit(
        self, rule: Rule | list[Event], *, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Decide on what this writer has seen; the commit goes through the codec, as it would to a file."""
        mint = Mint(self.folded, self.writer, self._numbers)
        events = rule if isinstance(rule, list) else rule(self.folded, mint)
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
        """Take in another writer's commits: behind all others they are folded in, otherwise all is folded anew.

        In between the state goes through JSON, as it does in a snapshot.
        """
        new: list[Commit] = sorted((c for c in arrived if c.id not in self.commits), key=lambda c: c.id)
        if not new:
            return
        behind = new[0].id > max(self.commits, default=ids.ZERO)
        self.commits.update((commit.id, commit) for commit in new)
        if behind:
            self.folded = fold.fold(json.loads(json.dumps(self.folded)), new)
        else:
            self.folded = fold_all(self.commits.values())

    def _shown(self, receipt: Receipt) -> Receipt:
        return receipt


def fold_all(commits: Iterable[Commit]) -> dict[str, Any]:
    """The state of a session that has exactly these commits."""
    ordered: list[Commit] = sorted(commits, key=lambda commit: commit.id)
    return fold.fold(fold.blank("session"), ordered)


class World:
    """Several writers of one session."""

    def __init__(self, writers: int) -> None:
        self._now = 1_768_999_800_000
        self.replicas = [Replica(letter * ids.WRITER_LENGTH, self._clock) for letter in "kmnp"[:writers]]
        first = self.replicas[0]
        start = session_concept.start(first.state, "2026-01-21-a1b2c3d4", "alice", "The goal")
        first.commit(lambda state, mint: start)
        for replica in self.replicas[1:]:
            replica.take_in(first.commits.values())

    def _clock(self) -> int:
        """Stands still now and then, so that the counter and the writer decide the order."""
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
            COMMANDS[step.command](replica, Choice(replica, step))
        except HoldfastError:
            # What a rule refuses changes nothing.
            assert len(replica.commits) == count
            assert json.dumps(replica.state) == before
            replica.refused += 1

    def meet(self) -> None:
        """Everybody takes in everything."""
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
