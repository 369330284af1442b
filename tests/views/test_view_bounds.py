"""100,000 commits with every event of every concept: what is shown stays small, and so does the work to show it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core import concepts, fold
from holdfast.core.codec import Commit, Event
from holdfast.core.concepts.message import ContextFile
from holdfast.core.short_ids import Mint
from holdfast.core.timestamps import iso
from holdfast.core.tokens import estimate
from holdfast.edge.cli.sessions import _status_text
from holdfast.errors import HoldfastError
from holdfast.testing import commands
from holdfast.testing.commands import Choice, Step
from holdfast.views import brief, pages, state_json, state_md
from holdfast.views.brief_sections import Known
from holdfast.workspace.handle import Receipt, Rule
from holdfast.workspace.session import Session

DIGEST = "0123456789abcdef" * 4
WRITER = "kkkkkkkk"
TEXTS = ("plain words", "é" * 300, '"\\' * 900, "x" * 2_000, "\U0001f468\u200d" * 50, "<a>\x00\u202e")


class Quick(Session):
    """A stream in memory: rules and folds as they are, without codec, store and views."""

    def __init__(self, kind: str) -> None:
        self.kind, self.writer = kind, WRITER
        self.folded = fold.blank(kind)
        self.seen: set[str] = set()
        self.commits = 0
        self._numbers: dict[str, int] = {}
        self._versions: dict[str, int] = {}

    @property
    def state(self) -> dict[str, Any]:
        return self.folded

    def peek(self) -> Any:
        return self

    def _look(self, question: Callable[[dict[str, Any]], Any]) -> Any:
        return question(self.folded)

    def commit(
        self,
        rule: Rule | list[Event],
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        mint = Mint(self.folded, WRITER, self._numbers)
        events = rule if isinstance(rule, list) else rule(self.folded, mint)
        for prefix, number in mint.given.items():
            self._numbers[prefix] = max(number, self._numbers.get(prefix, 0))
        self.commits += 1
        now = 1_769_000_000_000 + self.commits
        commit = Commit(
            f"{now:012x}0000-{WRITER}", iso(now), f"agent-{now % 7}", "agent", op, tuple(events), ""
        )
        fold.fold(self.folded, [commit])
        self.seen.update("x." if event.type.startswith("x.") else event.type for event in events)
        return Receipt("", self.commits, commit.id, commit.at, repeated=False)

    def _shown(self, receipt: Receipt) -> Receipt:
        return receipt


Act = Callable[[Quick, Choice], object]


def rule(made: Callable[[dict[str, Any], Any, Choice], list[Event]]) -> Act:
    return lambda s, c: s.commit(lambda state, mint: made(state, mint, c))


IMPORTS = {
    "import": rule(
        lambda state, mint, c: [
            *concepts.imports.keep(c.text[:200], DIGEST[:32], 1, 1, c.text, "utf-8"),
            concepts.imports.took([DIGEST[:16]] * 200),
            *concepts.imports.end(c.text[:200], DIGEST[:32], "state-md", 200, c.number),
        ]
    ),
    "secret": lambda s, c: s.commit([concepts.secret.allow([("npm-token", "note.added.text")], "asked")]),
    "own": lambda s, c: s.record(f"x.kind-{c.number}", {"text": c.text}),
}
MORE: dict[str, dict[str, Act]] = {
    "session": {
        **{name: run for name, run in commands.COMMANDS.items() if name != "handoff claim"},  # type: ignore[dict-item]
        **IMPORTS,
        "hand off": lambda s, c: s.hand_off(c.maybe_text()),
        "claim": rule(
            lambda state, mint, c: concepts.handoff.claim(state, f"agent-{c.number}", take_over=True)
        ),
        "message": lambda s, c: s.add_message("user", c.text, tool=c.text[:50] if c.number % 2 else None),
        "long message": rule(
            lambda state, mint, c: concepts.message.add(
                state, "tool", c.text * 5, None, ContextFile(f"session/context/{c.number}.txt", 9, DIGEST)
            )
        ),
        "summary": lambda s, c: s.summarize(c.text, keep=c.number % 5),
        "budget": lambda s, c: s.set_budget(c.number * 1000 + 1000),
        "spend": lambda s, c: s.spend(
            f"item {c.number} {c.text[:80]}", c.number * 100, included=c.number % 2 == 0
        ),
        "include": lambda s, c: s.include(c.one_of(s.state["budget"]["items"] or ["x"])),
        "exclude": lambda s, c: s.exclude(c.one_of(s.state["budget"]["items"] or ["x"])),
        "unspend": lambda s, c: s.unspend(c.one_of(s.state["budget"]["items"] or ["x"])),
        "refer": rule(lambda state, mint, c: concepts.reference.add(state, f"docs/{c.number}.md", 9, DIGEST)),
        "unrefer": rule(
            lambda state, mint, c: concepts.reference.drop(
                state, c.one_of(state["references"]["open"] or ["x"])
            )
        ),
        "archive": lambda s, c: s.commit([Event("session.archived", {}), Event("session.restored", {})]),
    },
    "project": {
        **{name: commands.COMMANDS[name] for name in ("decide", "settle", "note")},  # type: ignore[dict-item]
        **IMPORTS,
        "decide": rule(lambda state, mint, c: concepts.decision.decide(state, mint, c.text, c.text)),
        "item": rule(
            lambda state, mint, c: concepts.backlog.add(
                state,
                mint,
                c.text[:200],
                "high",
                None,
                ["t"],
                [c.id_in("backlog")] if c.number % 3 == 0 else [],
            )
        ),
        "edit item": rule(
            lambda state, mint, c: concepts.backlog.edit(state, c.id_in("backlog"), {"title": c.text[:200]})
        ),
        "start item": rule(lambda state, mint, c: concepts.backlog.start(state, c.id_in("backlog"))),
        "close item": rule(
            lambda state, mint, c: concepts.backlog.close(state, c.id_in("backlog"), c.text, "done")
        ),
        "control": rule(
            lambda state, mint, c: concepts.control.fire(state, mint, f"gate-{c.number}", c.text)
        ),
        "fact": rule(lambda state, mint, c: concepts.fact.add(state, mint, c.text)),
        "drop fact": rule(lambda state, mint, c: concepts.fact.drop(state, c.id_in("facts"), c.text)),
        "order": rule(lambda state, mint, c: concepts.order.give(state, mint, c.text[:300])),
        "lift": rule(lambda state, mint, c: concepts.order.lift(state, c.id_in("orders"), c.text)),
    },
    "user": {
        "note": commands.COMMANDS["note"],  # type: ignore[dict-item]
        **{name: IMPORTS[name] for name in ("own", "secret")},
        "prefer": rule(
            lambda state, mint, c: concepts.preference.prefer(state, f"key-{c.number}", c.text[:500])
        ),
        "unprefer": rule(lambda state, mint, c: concepts.preference.drop(state, f"key-{c.number}")),
    },
}


CLOSING = frozenset(["done", "close", "skip", "abandon", "settle", "reject", "approve", "remedy"])


def worked(stream: Quick, commits: int, dice: random.Random) -> Quick:
    """The stream after that many commits of every event that its kind knows."""
    names = list(MORE[stream.kind])
    while stream.commits < commits:
        name = dice.choice(names)
        if name.split()[-1] in CLOSING and dice.random() < 0.9:
            continue  # what is opened mostly stays open, so that every collection gets full
        step = Step(0, name, dice.randrange(2_000), dice.choice(TEXTS))
        try:
            MORE[stream.kind][name](stream, Choice(stream, step))
        except (HoldfastError, concepts.handoff.Yours):
            continue
    return stream


def known(kind: str) -> set[str]:
    """Every event type of a kind of stream."""
    return {event for name in concepts.KINDS[kind] for event in concepts.load(name).EVENTS} | {"x."}


def steps_of(act: Callable[[], object]) -> int:
    """How many lines of Python an action takes: work that does not depend on the machine."""
    count = 0

    def trace(frame: object, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def shown(state: dict[str, Any]) -> Callable[[], object]:
    """What `status` does with a loaded state."""

    class Faultless:
        faults: tuple[()] = ()
        version = 1

    class Shown:
        user, id = "alice", "2026-01-21-a1b2c3d4"

        def peek(self) -> Faultless:
            return Faultless()

    return lambda: (_status_text(Shown(), state_json.contract(state)), state_json.render(state))  # type: ignore[arg-type]


SAMPLES = range(0, 8_001, 1_000)


@pytest.mark.timeout(600)
def test_a_hundred_thousand_commits_of_every_concept() -> None:
    """All concepts' events were folded; state.json, brief and `status` are as small as promised."""
    dice = random.Random(11)
    session = Quick("session")
    session.commit(
        lambda state, mint: concepts.session.start(state, "2026-01-21-a1b2c3d4", "alice", "g" * 500)
    )
    session.add_task("the only one")
    session.start_task("T-1")
    session.complete_task("T-1")  # nothing is left to turn to
    # How much there is to show changes from commit to commit: several states are compared with several.
    early_steps = [steps_of(shown(worked(session, 42_000 + many, dice).folded)) for many in SAMPLES]
    early = json.loads(json.dumps(session.folded))
    late_steps = [steps_of(shown(worked(session, 92_000 + many, dice).folded)) for many in SAMPLES]
    project = worked(Quick("project"), 5_000, dice)
    assert session.seen == known("session")
    assert project.seen == known("project")
    state = session.folded
    assert state["commits"] == 100_000
    assert len(state_json.render(state).encode()) < 10_000
    packet = brief.brief(state, Known(project.folded), count=estimate)
    assert packet.tokens <= brief.DEFAULT
    assert len(packet.text) <= brief.CHARACTERS
    for page in (state_md.render, *pages.PAGES.values(), pages.handoff_md):
        assert len(page(state)) < 1_000_000
    # Everything is full: with twice the history neither the state nor the work of showing it grows.
    assert len(json.dumps(state)) < 1.5 * len(json.dumps(early))
    assert sum(late_steps) < 1.5 * sum(early_steps)
    assert max(late_steps) < 200_000


def test_project_and_user_stay_bounded() -> None:
    """20,000 commits of everything that a project and a user know: each state is below a few megabytes."""
    dice = random.Random(12)
    for kind in ("project", "user"):
        stream = worked(Quick(kind), 20_000, dice)
        assert stream.seen == known(kind)
        assert len(json.dumps(stream.folded)) < 3_000_000
