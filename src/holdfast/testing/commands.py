"""Every command of every kind of stream, with arguments derived from a number and a text.

A command works on a replica without a store (``strategies``) as well as on a handle of a real workspace. A command that
would need a project file calls the concept's rule directly, with a made-up path and hash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from holdfast.core.concepts import (
    backlog,
    batch,
    budget,
    capture,
    git_commits,
    imports,
    message,
    note,
    reference,
    secret,
)
from holdfast.core.concepts import session as session_concept
from holdfast.workspace.handle import Handle

T = TypeVar("T")

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
    """One step: a writer runs a command, or (no command) receives another writer's commits."""

    writer: int
    command: str | None
    pick: int
    text: str


class Choice:
    """The arguments of one command, derived from a number and a text."""

    def __init__(self, session: Handle, step: Step) -> None:
        self.text = step.text
        self.number = step.pick
        self._state = session.peek().state
        self.unique = f"{step.writer} after {self._state['head']}: {step.text}"
        """A unique text."""

    def id_in(self, name: str) -> str:
        """An id of a collection: usually open, sometimes closed or unknown."""
        collection = self._state[name]
        known = [*collection["open"], *(entry["id"] for entry in collection["closed"][-2:]), "T-999"]
        chosen: str = known[self.number % len(known)]
        return chosen

    def id_with(self, name: str, field: str) -> str:
        """An open entry with a non-empty field, if there is one."""
        entries = self._state[name]["open"].values()
        return next((entry["id"] for entry in entries if entry[field]), None) or self.id_in(name)

    def maybe_id_in(self, name: str) -> str | None:
        return self.id_in(name) if self.number % 3 else None

    def held_item(self, host: str) -> tuple[str, int, dict[str, str]]:
        """A batch item that this writer holds, with its claim; an unclaimed item if it holds none."""
        me = {"host": host}
        held = [
            (batch["id"], int(item), me)
            for batch in self._state["batches"]["open"].values()
            for item, claim in batch["running"].items()
            if claim["claimant"] == me
        ]
        return held[self.number % len(held)] if held else (self.id_in("batches"), 0, me)

    def one_of(self, options: Iterable[str]) -> str:
        return self.one_of_these(tuple(options))

    def one_of_these(self, options: tuple[T, ...]) -> T:
        return options[self.number % len(options)]

    def maybe_text(self) -> str | None:
        return self.text if self.number % 2 else None


Run = Callable[[Any, Choice], object]


def _holder(session: Any) -> str:
    """The claimant of batch items: the writer of a replica, the folder of a real session."""
    return str(getattr(session, "writer", None) or os.path.basename(session.workspace.where))


FILES = ("a.py", "docs/b c.md", "ünï.txt")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _context_file(text: str) -> message.ContextFile:
    digest = _digest(text)
    return message.ContextFile(f"context/message-{digest[:20]}.txt", len(text.encode()), digest)


def _import(handle: Any, choice: Choice) -> object:
    """A part of an import: a stored text, an imported record, or its end."""
    digest = _digest(choice.text)
    return handle.commit(
        choice.one_of_these(
            (
                imports.keep("old.md", digest, 1, 1, choice.text, "utf-8"),
                [imports.took([digest[:12]] * (choice.number % 3))],
                imports.end("old.md", digest, "markdown", choice.number, 0),
            )
        )
    )


COMMANDS: dict[str, Run] = {
    "goal": lambda s, c: s.set_goal(c.unique),
    "focus": lambda s, c: s.set_focus(c.unique),
    "mark": lambda s, c: s.mark(c.one_of((*session_concept.MARKS, "paused"))),
    "pause": lambda s, c: s.pause(c.maybe_text()),
    "continue": lambda s, c: s.continue_(),
    "complete": lambda s, c: s.complete(c.maybe_text()),
    "abandon": lambda s, c: s.commit(session_concept.abandon(s.state)),
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
    "capture": lambda s, c: s.commit(
        lambda state, mint: (
            capture.propose(
                state,
                mint,
                [capture.Candidate(c.one_of(capture.KINDS), c.unique, c.maybe_text() or "")],
                capture.Lineage(c.one_of(capture.SOURCES), "claude"),
            )
            or note.add(state, c.text)
        )
    ),
    "capture confirm": lambda s, c: s.confirm_capture(c.id_in("captures"), text=c.maybe_text()),
    "capture drop": lambda s, c: s.drop_capture(c.id_in("captures"), c.maybe_text()),
    "commits": lambda s, c: s.commit(
        lambda state, mint: git_commits.add(
            state, [git_commits.Made(_digest(c.unique)[:40], c.text)], "main" if c.number % 2 else ""
        )
    ),
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
    "record": lambda s, c: s.record("x.build", {"n": c.number, "text": c.text}),
    "import": lambda s, c: _import(s, c),
    "secret": lambda s, c: s.commit(
        [*note.add(s.state, c.text), secret.allow([("token", "text")] * (c.number % 3 + 1), "flag")]
    ),
    "budget set": lambda s, c: s.set_budget(
        c.number * 50 + 1, zones=[10, 30, 60] if c.number % 3 == 0 else None
    ),
    "budget spend": lambda s, c: s.spend(c.one_of(FILES), c.number * 7, included=c.number % 4 > 0),
    "budget measure": lambda s, c: s.commit(
        budget.measure(s.state, 1 + c.number * 31, 1_000 * (c.number % 3)) or note.add(s.state, c.text)
    ),
    "budget start-over": lambda s, c: s.commit(budget.start_over(s.state) or note.add(s.state, c.text)),
    "budget include": lambda s, c: s.include(c.one_of(FILES)),
    "budget exclude": lambda s, c: s.exclude(c.one_of(FILES)),
    "budget drop": lambda s, c: s.unspend(c.one_of(FILES)),
    "message": lambda s, c: s.add_message(
        c.one_of(("user", "assistant", "tool")),
        c.text[: message.LONG],
        tool="Read" if c.number % 3 == 2 else None,
    ),
    "message long": lambda s, c: s.commit(
        lambda state, mint: message.add(state, "user", c.unique, None, _context_file(c.unique))
    ),
    "message summarize": lambda s, c: s.summarize(c.text, keep=c.number % 4),
    "reference": lambda s, c: s.commit(
        lambda state, mint: reference.add(
            state, c.one_of(FILES), c.number, _digest(c.text), c.one_of(reference.KINDS)
        )
    ),
    "reference drop": lambda s, c: s.commit(lambda state, mint: reference.drop(state, c.one_of(FILES))),
    "handoff": lambda s, c: s.hand_off(c.maybe_text()),
    "handoff claim": lambda s, c: s.claim(_holder(s), take_over=c.number % 3 == 0),
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


SHELF: dict[str, Run] = {
    "archive": lambda s, c: s.commit(lambda state, mint: session_concept.archive(state)),
    "restore": lambda s, c: s.commit(lambda state, mint: session_concept.restore(state)),
}
"""Separate from the others: an archived session refuses everything else, so most of a history would be refusals."""


def _item_changes(choice: Choice) -> dict[str, Any]:
    changes: tuple[dict[str, Any], ...] = (
        {"title": choice.unique},
        {"priority": choice.one_of(backlog.PRIORITIES)},
        {"status": choice.one_of(backlog.STATUSES), "epic": choice.text},
        {"tags": [f"t{choice.number % 5}"]},
    )
    return choice.one_of_these(changes)


PROJECT: dict[str, Run] = {
    "item add": lambda s, c: s.add_item(
        c.text,
        priority=c.one_of(backlog.PRIORITIES),
        epic=c.maybe_text(),
        tags=["tag", f"t{c.number % 3}"],
        depends_on=[c.id_in("backlog")] if c.number % 2 else [],
    ),
    "item edit": lambda s, c: s.edit_item(c.id_in("backlog"), **_item_changes(c)),
    "item start": lambda s, c: s.start_item(c.id_in("backlog")),
    "item close": lambda s, c: s.close_item(
        c.id_in("backlog"), c.maybe_text(), outcome=c.one_of(backlog.OUTCOMES)
    ),
    "order": lambda s, c: s.order(c.text),
    "lift": lambda s, c: s.lift(c.id_in("orders"), c.maybe_text()),
    "caught": lambda s, c: s.caught(
        c.one_of(FILES), c.text, outcome=c.maybe_text(), caught_by=c.one_of(("ann", "bob")), notes=c.text
    ),
    "fact add": lambda s, c: s.add_fact(
        c.text, check={"file-exists": c.one_of(FILES)} if c.number % 2 else None
    ),
    "fact drop": lambda s, c: s.drop_fact(c.id_in("facts"), c.maybe_text()),
    "decide": lambda s, c: s.decide(
        c.text, because=c.text, supersedes=c.id_in("decisions") if c.number % 2 else None
    ),
    "settle": COMMANDS["settle"],
    "note": COMMANDS["note"],
    "record": COMMANDS["record"],
    "import": COMMANDS["import"],
    "secret": COMMANDS["secret"],
}

PERSON: dict[str, Run] = {
    "prefer": lambda s, c: s.prefer(c.one_of(("tone", "tests", "language")), c.unique),
    "unprefer": lambda s, c: s.unprefer(c.one_of(("tone", "tests", "language"))),
    "note": COMMANDS["note"],
    "record": COMMANDS["record"],
    "secret": COMMANDS["secret"],
}

BY_KIND = {"session": COMMANDS | SHELF, "project": PROJECT, "user": PERSON}
"""Every command, by the kind of stream."""

FAMILIES = (
    ("goal", "focus", "mark", "pause", "continue", "complete", "abandon", "stopped"),
    ("discuss", "return", "pause", "continue", "focus", "task start", "task add", "phases", "phase"),
    ("phases", "phase", "complete-phase", "skip-to"),
    ("task add", "task start", "task done", "task skip", "task block", "task unblock"),
    ("plan propose", "plan edit", "plan approve", "plan reject"),
    ("decide", "settle", "loop add", "loop explore", "loop close"),
    ("risk add", "risk close"),
    ("capture", "capture confirm", "capture drop", "decide", "commits"),
    ("blocker add", "blocker close", "next add", "next done"),
    ("error", "remedy", "legal", "compaction", "checkpoint", "note", "record", "import", "secret"),
    tuple(name for name in COMMANDS if name.startswith("budget ")),
    tuple(name for name in COMMANDS if name.startswith(("message", "reference"))),
    ("handoff", "handoff claim", "decide", "settle", "task add", "task start", "task done", "checkpoint"),
    ("archive", "restore", "goal", "note", "decide", "settle"),
    tuple(name for name in COMMANDS if name.startswith("batch ")),
    tuple(COMMANDS),
)
"""Commands that interact. A history draws from one or two families: with all of them at once, two writers would rarely
touch the same entry."""

FAMILIES_BY_KIND: dict[str, tuple[tuple[str, ...], ...]] = {
    "session": FAMILIES,
    "project": (
        ("item add", "item edit", "item start", "item close"),
        ("order", "lift", "fact add", "fact drop"),
        ("caught", "decide", "settle", "note", "record", "import", "secret"),
        tuple(PROJECT),
    ),
    "user": (tuple(PERSON), ("prefer", "unprefer")),
}
