"""Views over all concepts: the same bytes for the same commits, and a view for any set of commits."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.views.test_goldens import RENDERS

from holdfast.core import concepts, fold
from holdfast.core.concepts import preference
from holdfast.core.tokens import estimate
from holdfast.testing.commands import Step
from holdfast.testing.strategies import (
    Copy,
    PersonReplica,
    ProjectReplica,
    Shared,
    World,
    fold_all,
    histories,
)
from holdfast.views import agents_md, brief, pages
from holdfast.views.brief_sections import Known
from holdfast.views.exports import backlog_yaml, catch_log, decision_index, events_yaml, session_state

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def views(state: dict[str, Any]) -> dict[str, str]:
    return {name: render(state) for name, render in RENDERS.items()}


def of_session(copy: Copy) -> dict[str, str]:
    """Everything that is shown of a session."""
    commits = [commit for _, commit in sorted(copy.commits.items())]
    return {
        **views(copy.state),
        "session-state.json": session_state.render(copy.state, commits),
        "events.yaml": events_yaml.render((copy.stream, commit) for commit in commits),
        "decisions.yaml": decision_index.render(fold.blank("project"), copy.state),
    }


def of_project(copy: Copy) -> dict[str, str]:
    """Everything that is shown of a project, also within the views of a session."""
    commits = [commit for _, commit in sorted(copy.commits.items())]
    empty = fold.blank("session")
    return {
        "backlog.yaml": backlog_yaml.render(copy.state),
        "catch-log.tsv": catch_log.render(commits),
        "events.yaml": events_yaml.render((copy.stream, commit) for commit in commits),
        "decisions.yaml": decision_index.render(copy.state),
        "agents-block.md": agents_md.block(None, copy.state),
        "handoff.md": pages.handoff_md(empty, copy.state),
        "brief.txt": brief.brief(empty, Known(copy.state), count=estimate).text,
    }


def of_person(copy: Copy) -> dict[str, str]:
    """What is shown of a user: preferences, and the log."""
    commits = [commit for _, commit in sorted(copy.commits.items())]
    return {
        "preferences": json.dumps(preference.all_of(copy.state)),
        "events.yaml": events_yaml.render((copy.stream, commit) for commit in commits),
    }


KINDS: dict[str, tuple[Callable[[], Shared[Any]], Callable[[Copy], dict[str, str]]]] = {
    "session": (lambda: World(3), of_session),
    "project": (lambda: Shared(ProjectReplica, 3), of_project),
    "user": (lambda: Shared(PersonReplica, 3), of_person),
}


def test_no_kind_of_stream_is_left_out() -> None:
    """The property below is about all kinds."""
    assert set(KINDS) == set(concepts.KINDS)


@pytest.mark.parametrize("kind", KINDS)
@SETTINGS
@given(data=st.data(), chance=st.randoms(use_true_random=False))
def test_any_order_of_arrival_shows_the_same_bytes(
    kind: str, data: st.DataObject, chance: random.Random
) -> None:
    """Three writers who received commits in different orders see byte-identical views."""
    make, shown = KINDS[kind]
    world = make()
    world.run(data.draw(histories(3, kind=kind)))
    commits = list(world.everything().values())
    whole = type(world.replicas[0])("z" * 8, lambda: 0)
    whole.take_in(commits)
    expected = shown(whole)
    for replica in world.replicas:
        missing = [commit for commit in commits if commit.id not in replica.commits]
        chance.shuffle(missing)
        while missing:
            count = chance.randint(1, len(missing))
            replica.take_in(missing[:count])
            del missing[:count]
        assert shown(replica) == expected


@SETTINGS
@given(histories(2), st.data())
def test_views_of_partial_streams(history: list[Step], data: st.DataObject) -> None:
    """A partial merge, or a stream whose first lines are damaged, still has all its views."""
    world = World(2)
    world.run(history)
    commits = list(world.everything().values())
    views(fold_all(commits[data.draw(st.integers(0, len(commits))) :]))
    views(fold_all([commit for commit in commits if data.draw(st.booleans())]))


def test_an_empty_stream_has_views() -> None:
    """A session of which nothing could be read is shown as empty, without an error."""
    shown = views(fold.blank("session"))
    assert "- **Status:** Working" in shown["STATE.md"]
    assert "Active Loops" not in shown["STATE.md"]
