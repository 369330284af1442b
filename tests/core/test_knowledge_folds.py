"""Folds of a session's and a project's knowledge: total, bounded, and without loss of concurrent additions."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.core import contested, fold
from holdfast.core.codec import Commit, Event
from holdfast.core.concepts import (
    backlog,
    budget,
    control,
    decision,
    fact,
    message,
    order,
    preference,
    reference,
    session,
)
from holdfast.core.ids import next_id
from holdfast.core.short_ids import Mint
from holdfast.errors import HoldfastError, Refused
from holdfast.workspace.setup import init

WRITERS = ("aaaaaaaa", "bbbbbbbb", "cccccccc")


class Clone:
    """One writer with the commits that it has seen."""

    def __init__(self, kind: str, writer: str) -> None:
        self.kind, self.writer = kind, writer
        self.commits: dict[str, Commit] = {}
        self.numbers: dict[str, int] = {}

    def state(self) -> dict[str, Any]:
        return fold.fold(fold.blank(self.kind), [self.commits[key] for key in sorted(self.commits)])

    def act(self, dice: random.Random) -> list[Event]:
        """Run one random command; a refused one writes nothing."""
        state = self.state()
        mint = Mint(state, self.writer, self.numbers)
        try:
            events = tuple(COMMANDS[self.kind](state, mint, dice))
        except HoldfastError:
            return []
        self.numbers |= mint.given
        commit_id = next_id(max(self.commits, default="0" * 16 + "-" + "0" * 8), 5, self.writer)
        at = f"2026-01-21T14:30:00.{len(self.commits) % 1000:03d}Z"
        self.commits[commit_id] = Commit(commit_id, at, self.writer, "agent", None, events, "0" * 32)
        return list(events)


def _session(state: dict[str, Any], mint: Mint, dice: random.Random) -> list[Event]:
    name = dice.choice(["a", "b", "c"])
    digest = dice.choice(["0" * 64, "1" * 64])
    file = message.ContextFile(f"session:context/{name}", 3, digest) if dice.random() < 0.3 else None
    choices = [
        lambda: reference.add(state, f"docs/{name}", 3, digest, dice.choice(reference.KINDS)),
        lambda: reference.drop(state, f"docs/{name}"),
        lambda: message.add(state, "user", name * 50, dice.choice([None, "grep"]), file),
        lambda: message.summarize(state, name, dice.randrange(3)),
        lambda: budget.set_total(state, dice.choice([10, 100]), dice.choice([None, [1, 2, 3]])),
        lambda: budget.add(state, name, dice.randrange(40), dice.random() < 0.7),
        lambda: budget.include(state, name),
        lambda: budget.exclude(state, name),
        lambda: budget.drop(state, name),
        lambda: session.set_goal(state, name),
    ]
    return dice.choice(choices)()


def _project(state: dict[str, Any], mint: Mint, dice: random.Random) -> list[Event]:
    def some(name: str, prefix: str) -> str:
        return dice.choice([*state[name]["open"], *(e["id"] for e in state[name]["closed"]), f"{prefix}-1"])

    text = dice.choice(["a", "b", "c"])
    before = [item for item in state["backlog"]["open"] if dice.random() < 0.4]
    choices = [
        lambda: backlog.add(state, mint, text, dice.choice(backlog.PRIORITIES), None, ["t"], before),
        lambda: backlog.edit(state, some("backlog", "BL"), {"title": text, "priority": "low"}),
        lambda: backlog.edit(state, some("backlog", "BL"), {"depends_on": before, "status": "blocked"}),
        lambda: backlog.start(state, some("backlog", "BL")),
        lambda: backlog.close(state, some("backlog", "BL"), dice.choice([None, text])),
        lambda: order.give(state, mint, text),
        lambda: order.lift(state, some("orders", "SO"), dice.choice([None, text])),
        lambda: control.fire(state, mint, text, text, dice.choice([None, text])),
        lambda: fact.add(state, mint, text, dice.choice([None, {"file-exists": text}])),
        lambda: fact.drop(state, some("facts", "F")),
        lambda: decision.decide(state, mint, text, text),
        lambda: decision.settle(state, dice.choice([*state["decisions"]["open"], "D-1"]), text),
    ]
    return dice.choice(choices)()


def _user(state: dict[str, Any], mint: Mint, dice: random.Random) -> list[Event]:
    key = dice.choice(["a", "b"])
    if dice.random() < 0.3:
        return preference.drop(state, key)
    return preference.prefer(state, key, dice.choice(["1", "2", "3"]))


COMMANDS = {"session": _session, "project": _project, "user": _user}


def play(kind: str, seed: int, steps: int) -> tuple[list[Clone], random.Random]:
    """Three clones that write and sometimes exchange commits."""
    dice = random.Random(seed)
    clones = [Clone(kind, writer) for writer in WRITERS]
    if kind == "session":
        events = tuple(session.start(clones[0].state(), "2026-01-21-a1b2c3d4", "alice", "go"))
        first = next_id("0" * 16 + "-" + "0" * 8, 5, WRITERS[0])
        start = Commit(first, "2026-01-21T14:00:00.000Z", "alice", "human", None, events, "0" * 32)
        for clone in clones:
            clone.commits[first] = start
    for _ in range(steps):
        if dice.random() < 0.15:
            one, other = dice.sample(clones, 2)
            one.commits |= other.commits
        dice.choice(clones).act(dice)
    return clones, dice


@given(st.sampled_from(sorted(COMMANDS)), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_clones_that_hold_the_same_commits_have_the_same_state(kind: str, seed: int) -> None:
    """However commits arrived, and however many are missing, the fold accepts them and gives the same state."""
    clones, dice = play(kind, seed, 60)
    everything = {key: commit for clone in clones for key, commit in clone.commits.items()}
    states = []
    for clone in clones:
        missing = [key for key in everything if key not in clone.commits]
        dice.shuffle(missing)
        for key in missing:  # one by one, in any order: each state on the way is a state
            clone.commits[key] = everything[key]
            if dice.random() < 0.1:
                clone.state()
        states.append(json.dumps(clone.state()))
    assert states[0] == states[1] == states[2]
    some = [everything[key] for key in sorted(everything) if dice.random() < 0.5]
    fold.fold(fold.blank(kind), some)


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_every_addition_stays_until_somebody_closes_it(seed: int) -> None:
    """After all clones met, each item, order and fact that was added is open or was closed by an event."""
    clones, _ = play("project", seed, 60)
    everything = {key: commit for clone in clones for key, commit in clone.commits.items()}
    merged = Clone("project", WRITERS[0])
    merged.commits = everything
    state = merged.state()
    events = [event for key in sorted(everything) for event in everything[key].events]
    for added, closed, part in (
        ("backlog.added", "backlog.closed", "backlog"),
        ("order.given", "order.lifted", "orders"),
        ("fact.added", "fact.dropped", "facts"),
    ):
        ended = {event.data["id"] for event in events if event.type == closed}
        expected = {event.data["id"] for event in events if event.type == added} - ended
        assert set(state[part]["open"]) == expected
    assert state["controls"]["count"] == sum(event.type == "control.fired" for event in events)
    ids = [
        event.data["id"] for event in events if event.type in ("backlog.added", "order.given", "fact.added")
    ]
    assert len(ids) == len(set(ids))


@given(st.sampled_from(sorted(COMMANDS)), st.integers(0, 2**32))
@settings(max_examples=9, deadline=None)
def test_the_state_does_not_grow_with_history(kind: str, seed: int) -> None:
    """Adding, setting and closing a few things a thousand times leaves a state as small as after the first hundred."""
    dice = random.Random(seed)
    state, largest = fold.blank(kind), [0, 0]
    last = "0" * 16 + "-" + "0" * 8
    for step in range(1000):
        mint = Mint(state, WRITERS[0], {})
        try:
            events = _close_some(state) or COMMANDS[kind](state, mint, dice)
        except HoldfastError:
            continue
        last = next_id(last, 5, WRITERS[0])
        commit = Commit(last, "2026-01-21T14:30:00.000Z", "a", "agent", None, tuple(events), "0" * 32)
        fold.fold(state, [commit])
        if step >= 50:
            largest[step >= 300] = max(largest[step >= 300], len(json.dumps(state)))
    assert largest[1] < 1.5 * largest[0] + 2000
    assert largest[1] < 60_000


def _close_some(state: dict[str, Any]) -> list[Event]:
    """Close the oldest of what is open, where more than a few things are."""
    if state["kind"] != "project":
        return []
    for part, close in (("backlog", backlog.close), ("orders", order.lift), ("facts", fact.drop)):
        if len(state[part]["open"]) > 5:
            return close(state, next(iter(state[part]["open"])))
    if len(state["decisions"]["open"]) > 5:
        return decision.settle(state, next(iter(state["decisions"]["open"])), "done")
    return []


def test_concurrent_values_are_all_shown() -> None:
    """Two clones that set the same preference, item field and budget keep both values until somebody sets it again."""
    one, two = Clone("user", WRITERS[0]), Clone("user", WRITERS[1])
    put(one, preference.prefer(one.state(), "tone", "short"))
    put(two, preference.prefer(two.state(), "tone", "long"))
    one.commits |= two.commits
    (contest,) = contested.contests(one.state()["registers"])
    assert {contest["value"], contest["rivals"][0]["value"]} == {"short", "long"}
    put(one, preference.prefer(one.state(), "tone", "short"))
    assert contested.contests(one.state()["registers"]) == []

    left = Clone("project", WRITERS[0])
    put(left, backlog.add(left.state(), Mint(left.state(), left.writer, {}), "first"))
    right = Clone("project", WRITERS[1])
    right.commits |= left.commits
    (item,) = left.state()["backlog"]["open"]
    put(left, backlog.edit(left.state(), item, {"title": "left", "priority": "high"}))
    put(right, backlog.edit(right.state(), item, {"title": "right"}))
    left.commits |= right.commits
    merged = left.state()["backlog"]["open"][item]
    assert merged["priority"] == "high"
    (contest,) = backlog.contests(merged)
    assert {merged["title"], contest["rivals"][0]["value"]} == {"left", "right"}
    put(left, backlog.edit(left.state(), item, {"title": merged["title"]}))
    assert backlog.contests(left.state()["backlog"]["open"][item]) == []


def test_a_drop_keeps_what_it_did_not_see() -> None:
    """Dropping a reference, a preference or a budget item keeps what another clone set concurrently."""
    one, two = Clone("session", WRITERS[0]), Clone("session", WRITERS[1])
    put(one, reference.add(one.state(), "a", 1, "0" * 64))
    put(one, budget.add(one.state(), "x", 5))
    two.commits |= one.commits
    put(two, reference.add(two.state(), "a", 2, "1" * 64))
    put(two, budget.add(two.state(), "x", 6))
    dropped = [reference.drop(one.state(), "a"), budget.drop(one.state(), "x")]
    one.commits |= two.commits
    for events in dropped:
        put(one, events)
    state = one.state()
    assert state["references"]["open"]["a"]["size"] == 2
    assert state["budget"]["items"]["x"]["tokens"] == 6


def put(clone: Clone, events: list[Event]) -> None:
    commit_id = next_id(max(clone.commits, default="0" * 16 + "-" + "0" * 8), 5, clone.writer)
    clone.commits[commit_id] = Commit(
        commit_id, "2026-01-21T14:30:00.000Z", clone.writer, "agent", None, tuple(events), "0" * 32
    )


def test_folders_that_were_merged_show_the_same(tmp_path: Path) -> None:
    """Two folders write apart and exchange their segments: both show the same."""
    left, right = tmp_path / "left", tmp_path / "right"
    init(str(left), given=True)
    with holdfast.open(str(left / ".state")) as workspace:
        common = workspace.project.add_item("common").id
    shutil.copytree(left, right, ignore=shutil.ignore_patterns("local"))
    here, there = holdfast.open(str(left / ".state")), holdfast.open(str(right / ".state"))
    one, other = here.project, there.project
    one.add_item("from left", depends_on=[common])
    other.add_item("from right")
    other.close_item(common, "done on the right")
    one.order("left order")
    here.me.prefer("tone", "left")
    there.me.prefer("tone", "right")
    for source, target in ((left, right), (right, left)):
        shutil.copytree(
            source / ".state", target / ".state", dirs_exist_ok=True, ignore=shutil.ignore_patterns("local")
        )
    here, there = holdfast.open(str(left / ".state")), holdfast.open(str(right / ".state"))
    one, other = here.project, there.project
    assert json.dumps(one.state) == json.dumps(other.state)
    assert json.dumps(here.me.state) == json.dumps(there.me.state)
    assert [item.title for item in one.ready()] == ["from left", "from right"]
    assert len(contested.contests(here.me.state["registers"])) == 1
    assert len({item.id for item in one.backlog.open}) == 2


def test_a_bare_number_must_be_unambiguous() -> None:
    """Where two clones each added a first item, BL-1 is refused with both; one character of the tag tells them
    apart."""
    clone = Clone("project", WRITERS[0])
    for writer in WRITERS[:2]:
        put(clone, backlog.add(clone.state(), Mint(clone.state(), writer, {}), f"by {writer}"))
    with pytest.raises(Refused, match=r"BL-1 can mean BL-1\.aaaaaaaa, BL-1\.bbbbbbbb"):
        backlog.start(clone.state(), "BL-1")
    assert backlog.start(clone.state(), "bl-1.b")[0].data["id"] == "BL-1.bbbbbbbb"
