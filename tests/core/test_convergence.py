"""All concepts of all streams together: several writers, any order of arrival, one state."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.core import concepts
from holdfast.testing.commands import BY_KIND, COMMANDS, FAMILIES_BY_KIND, Step
from holdfast.testing.strategies import (
    Copy,
    PersonReplica,
    ProjectReplica,
    Replica,
    Shared,
    World,
    fold_all,
    histories,
)

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
COLLECTIONS = ("tasks", "plans", "loops", "risks", "blockers", "next", "errors")
OPENING = {
    "tasks": "task.added",
    "plans": "plan.proposed",
    "loops": "loop.added",
    "risks": "risk.added",
    "blockers": "blocker.added",
    "next": "next.added",
    "errors": "error.met",
}
CLOSING = {
    "loops": "loop.closed",
    "risks": "risk.closed",
    "blockers": "blocker.closed",
    "next": "next.done",
    "errors": "error.remedied",
}
KEPT_RIVALS = 10


def shared(kind: str, writers: int) -> Shared[Any]:
    """Several writers of a stream of that kind."""
    others: dict[str, type[Copy]] = {"project": ProjectReplica, "user": PersonReplica}
    return World(writers) if kind == "session" else Shared(others[kind], writers)


def worked(history: list[Step], writers: int = 3) -> World:
    world = World(writers)
    world.run(history)
    return world


@pytest.mark.parametrize("kind", BY_KIND)
@SETTINGS
@given(data=st.data(), chance=st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_state(
    kind: str, data: st.DataObject, chance: random.Random
) -> None:
    """However the commits reach a writer, one by one or together, its state is the fold of them all."""
    world = shared(kind, 3)
    world.run(data.draw(histories(3, kind=kind)))
    commits = list(world.everything().values())
    expected = json.dumps(fold_all(commits, kind), sort_keys=True)
    for replica in world.replicas:
        assert json.dumps(replica.state, sort_keys=True) == json.dumps(
            fold_all(replica.commits.values(), kind), sort_keys=True
        )
        missing = [commit for commit in commits if commit.id not in replica.commits]
        chance.shuffle(missing)
        while missing:
            count = chance.randint(1, len(missing))
            replica.take_in(missing[:count])
            del missing[:count]
        assert json.dumps(replica.state, sort_keys=True) == expected


@pytest.mark.parametrize("kind", BY_KIND)
@SETTINGS
@given(data=st.data())
def test_a_state_is_plain_json(kind: str, data: st.DataObject) -> None:
    """The state survives a round trip through JSON: snapshots and other engines lose nothing."""
    world = shared(kind, 3)
    world.run(data.draw(histories(3, kind=kind)))
    for replica in world.replicas:
        assert json.loads(json.dumps(replica.state)) == replica.state


@pytest.mark.parametrize("kind", BY_KIND)
@SETTINGS
@given(data=st.data())
def test_the_fold_is_total_where_commits_are_missing(kind: str, data: st.DataObject) -> None:
    """A clone that got only some writers' commits (a partial merge) still folds them."""
    world = shared(kind, 3)
    world.run(data.draw(histories(3, kind=kind)))
    commits = world.everything().values()
    writers = {commit.id[-8:] for commit in commits}
    for absent in writers:
        fold_all((commit for commit in commits if not commit.id.endswith(absent)), kind)
    for place in range(len(commits)):
        fold_all(list(commits)[place:], kind)


@SETTINGS
@given(histories(3))
def test_additions_all_stay_and_closings_keep_the_rival(history: list[Step]) -> None:
    """No addition is lost, and of two concurrent closings both are shown."""
    world = worked(history)
    state = fold_all(world.everything().values())
    added = Counter(event.type for _, event in world.events())
    for name in COLLECTIONS:
        collection = state[name]
        assert collection["opened"] == added[OPENING[name]]
        assert len(collection["open"]) + collection["done"] == collection["opened"]
    closings = Counter((event.type, event.data["id"]) for _, event in world.events() if "id" in event.data)
    for name, closing in CLOSING.items():
        for entry in state[name]["closed"]:
            assert 1 + len(entry["rivals"]) == min(closings[closing, entry["id"]], 1 + KEPT_RIVALS)


@SETTINGS
@given(histories(3))
def test_no_value_that_nobody_overwrote_is_dropped(history: list[Step]) -> None:
    """A register shows the newest value, and as rivals exactly the other values that no set has seen."""
    world = worked(history)
    state = fold_all(world.everything().values())
    sets = [("goal.set", "goal"), ("focus.set", "focus")]
    for event_type, name in sets:
        found = [(c.id, e.data[name], e.data["saw"]) for c, e in world.events() if e.type == event_type]
        if not found or (
            name == "focus" and any(e.type.startswith("discussion.") for _, e in world.events())
        ):
            continue  # a return also sets the focus
        seen = {commit_id for _, _, saw in found for commit_id in saw}
        register = state["registers"][name]
        newest = found[-1][1]
        standing = [value[:600] for commit_id, value, _ in found[:-1] if commit_id not in seen]
        assert register["value"][:600] == newest[:600]
        assert [rival["value"][:600] for rival in register["rivals"]] == standing[-8:]


def test_the_commands_are_those_of_every_kind_of_stream() -> None:
    """No kind of stream is left out."""
    assert set(BY_KIND) == set(FAMILIES_BY_KIND) == set(concepts.KINDS)


@pytest.mark.parametrize("kind", concepts.KINDS)
def test_every_event_is_reached_by_the_histories(kind: str) -> None:
    """The random work reaches every event type of every concept, so that the properties above cover them all."""
    chance = random.Random(7)
    families = FAMILIES_BY_KIND[kind]
    reached: set[str] = set()
    for turn in range(max(80, 6 * len(families))):
        # Half of the worlds keep to one family: chains of commands on one thing are rare among all of them.
        names = [*(families[turn // 2 % len(families)] if turn % 2 else families[-1]), None]
        world = shared(kind, 2)
        world.run(
            [
                Step(chance.randrange(2), chance.choice(names), chance.randrange(60), "text")
                for _ in range(120)
            ]
        )
        reached |= {event.type for _, event in world.events()}
    own = {event for name in concepts.KINDS[kind] for event in concepts.load(name).EVENTS}
    assert own - reached == set()
    assert "x.build" in reached, "a program's own events have no list, so one of them stands for all"


def test_a_long_history_leaves_a_state_of_the_same_size() -> None:
    """Twice the history, the same size: closed entries are counted, not kept."""
    sizes = []
    for rounds in (12, 24):
        world = World(2)
        long = "x" * 5_000
        for number in range(rounds):
            for name in sorted(COMMANDS):
                for writer in (0, 1):
                    # 0 names the first open entry: everything that is opened is closed again soon.
                    world.step(
                        Step(writer, name, 0 if name.split()[-1] in ("close", "done", "settle") else 3, long)
                    )
            for replica in world.replicas:
                for name, entries in (
                    (n, list(replica.state[n]["open"])) for n in (*COLLECTIONS, "decisions", "batches")
                ):
                    close(replica, name, entries)
            if number % 2:
                world.step(Step(0, None, 1, ""))
                world.step(Step(1, None, 0, ""))
        sizes.append(len(json.dumps(world.replicas[0].state)))
    assert sizes[1] < sizes[0] * 1.05, sizes
    assert sizes[1] < 200_000, sizes


def close(replica: Replica, name: str, entries: list[str]) -> None:
    """Close all that is open."""
    for short_id in entries:
        if name == "tasks":
            replica.skip_task(short_id, reason="enough")
        elif name == "plans":
            replica.reject_plan(short_id, "enough")
        elif name == "loops":
            replica.close_loop(short_id, "enough")
        elif name == "risks":
            replica.close_risk(short_id, "enough")
        elif name == "blockers":
            replica.close_blocker(short_id, "enough")
        elif name == "next":
            replica.finish_next(short_id)
        elif name == "batches":
            replica.abandon_batch(short_id, "enough")
        elif name == "errors":
            replica.remedy_error(short_id, "enough")
        else:
            replica.settle(short_id, "enough")
