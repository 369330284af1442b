"""The history checker itself: it accepts what is possible and rejects what is not."""

from __future__ import annotations

import random

import pytest

from holdfast.testing.history.checker import CONFLICT, OK, UNKNOWN, Operation, check


def _append(
    client: int, mark: str, began: int, ended: int | None, version: int, expect: int | None = None
) -> Operation:
    outcome = OK if ended is not None else UNKNOWN
    return Operation(client, "append", mark, expect, began, ended, outcome, version)


def _read(client: int, began: int, ended: int, version: int, head: str) -> Operation:
    return Operation(client, "read", "", None, began, ended, OK, version, head)


def test_overlapping_calls_may_take_effect_in_any_order() -> None:
    """Two appends at the same time can come in either order, as their versions say."""
    both = [_append(1, "a", 0, 10, 2), _append(2, "b", 0, 10, 1), _read(1, 11, 12, 2, "a")]
    assert check(both).legal


def test_a_stale_read_is_rejected() -> None:
    """A read that begins after an append ended must see it."""
    verdict = check([_append(1, "a", 0, 1, 1), _read(2, 2, 3, 0, "")])
    assert not verdict.legal
    assert "read" in verdict.stuck_at


def test_a_dead_clients_append_may_have_happened_or_not() -> None:
    """A call without an answer can take effect at any later time, or never, but not both."""
    open_call = _append(1, "a", 0, None, -1)
    assert check([open_call, _read(2, 5, 6, 0, "")]).legal
    assert check([open_call, _read(2, 5, 6, 1, "a")]).legal
    assert check([open_call, _read(2, 5, 6, 0, ""), _read(2, 7, 8, 1, "a")]).legal
    assert not check([open_call, _read(2, 5, 6, 1, "a"), _read(2, 7, 8, 0, "")]).legal


def test_a_conflict_needs_another_version() -> None:
    """A conflict is only valid while the stream is not at the expected version."""
    conflict = Operation(2, "append", "b", 0, 2, 3, CONFLICT)
    assert check([_append(1, "a", 0, 1, 1), conflict]).legal
    assert not check([_append(1, "a", 4, 5, 1), conflict]).legal


def test_two_appends_cannot_have_one_version() -> None:
    """Two acknowledged appends with the same version mean that one was lost."""
    assert not check([_append(1, "a", 0, 1, 1, 0), _append(2, "b", 0, 1, 1, 0)]).legal


def _legal_history(rng: random.Random, count: int) -> list[Operation]:
    """A history of an ideal register: each call takes effect at one point between its start and its end."""
    version, head, history = 0, "", []
    for number in range(count):
        moment = number * 10
        began, ended = moment - rng.randrange(60), moment + rng.randrange(60)
        kind = rng.randrange(4)
        if kind == 0:
            history.append(_read(number, began, ended, version, head))
        elif kind == 1 and version:
            history.append(Operation(number, "append", f"m{number}", version - 1, began, ended, CONFLICT))
        else:
            version, head = version + 1, f"m{number}"
            lost = rng.random() < 0.05
            history.append(_append(number, head, began, None if lost else ended, version))
    return history


@pytest.mark.parametrize("seed", range(20))
def test_ideal_histories_are_legal_and_damaged_ones_are_not(seed: int) -> None:
    """400 calls of an ideal register are accepted; one wrong answer anywhere in them is found."""
    rng = random.Random(seed)
    history = _legal_history(rng, 400)
    assert check(history).legal
    reads = [index for index, call in enumerate(history) if call.kind == "read" and call.version > 20]
    index = rng.choice(reads)
    damaged = list(history)
    damaged[index] = damaged[index]._replace(version=damaged[index].version - 15, head=f"m{seed}")
    assert not check(damaged).legal
