"""The rule that says which session an event of a conversation belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.continuation import FOLLOW, HOUR_MS, NEW, STAY, TAKE, Facts, Limits, Standing, decide

S = Standing("alice/1")
LONG = 9 * HOUR_MS
AGES = 8 * 24 * HOUR_MS
TABLE = [
    # a conversation that has a session
    (Facts(own=S), STAY, "", False),
    (Facts(own=S._replace(idle=LONG)), STAY, "", False),
    (Facts(own=S._replace(new_topic=True)), STAY, "", False),
    (Facts(own=S._replace(other_branch=True)), STAY, "", False),
    (Facts(own=S._replace(idle=AGES)), STAY, "", False),
    (Facts(own=S._replace(finished=True)), NEW, "alice/1", False),
    (Facts(own=S._replace(occupied=True)), NEW, "alice/1", False),
    (Facts(own=S._replace(occupied=True), joined=True), STAY, "", False),
    (Facts(own=S._replace(new_topic=True, idle=LONG)), NEW, "alice/1", False),
    (Facts(own=S._replace(new_topic=True, other_branch=True)), NEW, "alice/1", False),
    (Facts(own=S, cleared=True), NEW, "alice/1", False),
    (Facts(own=S, chosen=Standing("alice/2")), FOLLOW, "", False),
    (Facts(own=S, chosen=Standing("alice/2"), followable=False), STAY, "", False),
    (Facts(own=S, chosen=Standing("alice/2", occupied=True)), STAY, "", False),
    (Facts(own=S, chosen=Standing("alice/2", finished=True)), STAY, "", False),
    # a new conversation
    (Facts(), NEW, "", False),
    (Facts(offered=S), TAKE, "", False),
    (Facts(offered=S._replace(idle=LONG)), TAKE, "", False),
    (Facts(offered=S._replace(new_topic=True)), TAKE, "", False),
    (Facts(offered=S._replace(finished=True)), NEW, "", False),
    (Facts(offered=S._replace(occupied=True)), NEW, "", False),
    (Facts(offered=S._replace(other_branch=True)), NEW, "alice/1", False),
    (Facts(offered=S._replace(new_topic=True, idle=LONG)), NEW, "alice/1", False),
    (Facts(offered=S._replace(idle=AGES)), NEW, "alice/1", True),
    (Facts(offered=S, cleared=True), NEW, "alice/1", False),
    (Facts(offered=S, fresh=True), NEW, "", False),
    (Facts(offered=S, chosen=Standing("alice/2"), followable=False), FOLLOW, "", False),
    (Facts(offered=S._replace(idle=AGES), chosen=S._replace(idle=AGES)), FOLLOW, "", False),
]


@pytest.mark.parametrize(("facts", "act", "previous", "close"), TABLE)
def test_the_table(facts: Facts, act: str, previous: str, close: bool) -> None:
    """Each line of the table in the decision record."""
    verdict = decide(facts, Limits())
    assert (verdict.act, verdict.previous, verdict.close) == (act, previous, close)
    assert verdict.why


_standings = st.none() | st.builds(
    Standing,
    st.sampled_from(["alice/1", "alice/2"]),
    finished=st.booleans(),
    occupied=st.booleans(),
    idle=st.sampled_from([0, LONG, AGES]),
    other_branch=st.booleans(),
    new_topic=st.booleans(),
)


@given(
    st.builds(
        Facts,
        own=_standings,
        joined=st.booleans(),
        cleared=st.booleans(),
        fresh=st.booleans(),
        chosen=_standings,
        followable=st.booleans(),
        offered=_standings,
    )
)
def test_nobody_enters_an_occupied_or_closed_session(facts: Facts) -> None:
    """Whatever the facts are: a conversation never takes, follows to or stays in a session that is closed, or that
    another one works on, unless it joined it."""
    verdict = decide(facts, Limits())
    chosen = {STAY: facts.own, TAKE: facts.offered, FOLLOW: facts.chosen}.get(verdict.act)
    if verdict.act == NEW:
        return
    assert chosen is not None
    assert not chosen.finished
    assert not chosen.occupied or (verdict.act == STAY and facts.joined)
