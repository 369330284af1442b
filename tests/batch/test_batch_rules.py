"""Batches: rules and state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast import batch
from holdfast.core.concepts import batch as rules
from holdfast.errors import Refused, TooLarge
from holdfast.workspace import entries

ME = {"host": "here", "worker": [1, "a"]}
YOU = {"host": "there", "worker": [2, "b"]}


@pytest.fixture
def session(project: Path) -> holdfast.Session:
    """A session in an empty workspace."""
    return holdfast.open(project).start("Work through a list")


def test_items_are_taken_in_order_and_never_twice(session: holdfast.Session) -> None:
    """Two workers get different items, and a third finds none."""
    made = session.create_batch(["a", "b"])
    assert session.claim_item(made.id, ME) == 0
    assert session.claim_item(made.id, YOU) == 1
    assert session.claim_item(made.id, {"host": "third"}) is None


def test_a_dead_claim_is_taken_over_once(session: holdfast.Session) -> None:
    """Two successors that both found a claim dead: the first takes the item over, the second gets nothing."""
    made = session.create_batch(["a"])
    session.claim_item(made.id, ME)
    assert session.claim_item(made.id, YOU, dead=[ME]) == 0
    assert session.claim_item(made.id, {"host": "third"}, dead=[ME]) is None


def test_only_the_holder_can_finish(session: holdfast.Session) -> None:
    """A worker whose item was taken over can no longer record an outcome."""
    made = session.create_batch(["a"])
    session.claim_item(made.id, ME)
    session.claim_item(made.id, YOU, dead=[ME])
    with pytest.raises(Refused, match="not held"):
        session.finish_item(made.id, 0, ME, "mine")
    session.finish_item(made.id, 0, YOU, "yours")
    assert session.item_result(made.id, 0) == "yours"


def test_failures_keep_reason_and_count(session: holdfast.Session) -> None:
    """A failed item is retried as often as allowed, after the new ones, and its last reason stays."""
    made = session.create_batch(["a", "b"], retries=1)
    session.claim_item(made.id, ME)
    session.fail_item(made.id, 0, ME, "first reason")
    assert session.claim_item(made.id, ME) == 1
    session.finish_item(made.id, 1, ME)
    assert session.claim_item(made.id, ME) == 0
    session.fail_item(made.id, 0, ME, "second reason")
    assert session.claim_item(made.id, ME) is None
    found = entries.batch(session, made.id)
    assert [(f["item"], f["tries"], f["reason"]) for f in found["failures"]] == [(0, 2, "second reason")]
    assert found["failed"] == {"2": [[0, 0]]}
    session.retry_failed(made.id)
    assert session.claim_item(made.id, ME) == 0


def test_a_sequence_stops_at_a_failure(session: holdfast.Session) -> None:
    """In a sequence no item is started after one that is in progress or out of retries."""
    made = session.create_batch(["a", "b", "c"], sequence=True)
    assert session.claim_item(made.id, ME) == 0
    assert session.claim_item(made.id, YOU) is None
    session.fail_item(made.id, 0, ME, "no")
    assert session.claim_item(made.id, ME) is None


def test_the_last_item_closes_the_batch(session: holdfast.Session) -> None:
    """A batch is complete with its last item, and stays visible."""
    made = session.create_batch(["a"])
    ended = batch.run(session, made.id, lambda item, previous: item * 2)
    assert ended.outcome == "complete"
    assert session.state["batches"]["open"] == {}
    assert session.batch().id == made.id


def test_state_stays_small_with_many_items(session: holdfast.Session) -> None:
    """20,000 items, most of them done: the state tracks each of them and stays under 10 KB."""
    total = 20_000
    state = session.state
    made = rules.create(state, lambda prefix: f"{prefix}-1", [f"item {n}" for n in range(total)], "many")
    from holdfast.core import fold
    from holdfast.core.codec import Commit

    events = [*made]
    for number in range(total - 5):
        kind = "batch.item-failed" if number % 1000 == 999 else "batch.item-done"
        data = {"id": "BATCH-1", "item": number, "result": "r" * 500, "reason": "x" * 500}
        events.append(type(made[0])(kind, data))
    fold.fold(state, [Commit("0" * 25, "2026-01-01T00:00:00.000Z", "a", "agent", None, tuple(events), "")])
    entry = state["batches"]["open"]["BATCH-1"]
    assert entry["failed"] == {"1": [[n, n] for n in range(999, total - 5, 1000)]}
    assert rules.next_item(entry, []) == total - 5
    assert len(json.dumps(state["batches"])) < 10_000


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ([], Refused),
        (["x"] * (rules.MAX_ITEMS + 1), TooLarge),
        (["x" * (rules.ITEM_CAP + 1)], TooLarge),
        (["x" * rules.ITEM_CAP] * 400, TooLarge),
        ([{1, 2}], Refused),
    ],
)
def test_sizes_are_limited_at_write(
    session: holdfast.Session, items: list[object], error: type[Exception]
) -> None:
    """What is over a limit is refused, and nothing is written."""
    before = session.version
    with pytest.raises(error):
        session.create_batch(items)
    assert session.version == before


def test_a_result_over_its_limit_is_refused(session: holdfast.Session) -> None:
    """A huge result is refused with a hint to use a file; the item stays claimed."""
    made = session.create_batch(["a"])
    session.claim_item(made.id, ME)
    with pytest.raises(TooLarge, match="result"):
        session.finish_item(made.id, 0, ME, "x" * (rules.RESULT_CAP + 1))
    assert [claim.item for claim in session.batch(made.id).running] == [0]


def test_a_lost_host_is_released_by_name(session: holdfast.Session) -> None:
    """Claims of another machine are never checked from here; a person releases them."""
    made = session.create_batch(["a"])
    far = {**batch.claimant(1), "host": "far-away"}
    session.claim_item(made.id, far)
    assert batch.dead_claims(session, made.id) == []
    session.release_items(made.id, "far-away")
    assert session.claim_item(made.id, ME) == 0


def test_liveness_needs_pid_and_start_time() -> None:
    """A reused pid with another start time is not the same process."""
    import os

    me = batch.claimant(os.getpid())
    assert batch._alive(me)
    reused = {**me, "worker": [os.getpid(), "1"], "runner": [os.getpid(), "1"]}
    assert not batch._alive(reused)
    assert not batch._alive({**me, "boot": "another"})
    assert batch._alive({**me, "space": "another", "worker": [2**22, "1"], "runner": [2**22, "1"]})
