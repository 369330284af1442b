"""Views over all concepts: the same bytes for the same commits, and something to show whatever arrived."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.views.test_goldens import RENDERS

from holdfast.core import fold
from holdfast.testing.strategies import Step, World, fold_all, histories

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def views(state: dict[str, Any]) -> dict[str, str]:
    return {name: render(state) for name, render in RENDERS.items()}


@SETTINGS
@given(histories(3), st.randoms(use_true_random=False))
def test_any_order_of_arrival_shows_the_same_bytes(history: list[Step], chance: random.Random) -> None:
    """Three writers who got each other's commits in different orders see byte-identical views."""
    world = World(3)
    world.run(history)
    commits = list(world.everything().values())
    expected = views(fold_all(commits))
    for replica in world.replicas:
        missing = [commit for commit in commits if commit.id not in replica.commits]
        chance.shuffle(missing)
        while missing:
            count = chance.randint(1, len(missing))
            replica.take_in(missing[:count])
            del missing[:count]
        assert views(replica.state) == expected


@SETTINGS
@given(histories(2), st.data())
def test_a_view_can_be_made_of_whatever_is_there(history: list[Step], data: st.DataObject) -> None:
    """A partial merge, or a stream whose first lines are damaged, still has all its views."""
    world = World(2)
    world.run(history)
    commits = list(world.everything().values())
    views(fold_all(commits[data.draw(st.integers(0, len(commits))) :]))
    views(fold_all([commit for commit in commits if data.draw(st.booleans())]))


def test_an_empty_stream_has_views() -> None:
    """A session of which nothing could be read is shown as empty, not as an error."""
    shown = views(fold.blank("session"))
    assert "**Total active:** 0 loops" in shown["STATE.md"]
