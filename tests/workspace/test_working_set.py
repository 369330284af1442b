"""The snapshot's first line answers the most frequent queries, and always agrees with the whole state."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import holdfast
from holdfast.edge.cli import main
from holdfast.errors import HoldfastError
from holdfast.testing.commands import COMMANDS, TEXTS, Choice, Step
from holdfast.views.state_json import contract
from holdfast.workspace import upkeep
from holdfast.workspace.session import Session
from holdfast.workspace.snapshot import WorkingSet


def opened(session: Session) -> WorkingSet:
    """The working set as the next process would open it."""
    fresh = WorkingSet(session.workspace.store, session.stream)
    fresh.refresh()
    return fresh


def check(session: Session) -> None:
    state = session.state
    quick = opened(session)
    assert quick.shown == contract(state)
    assert (quick.commits["head"], quick.commits["mix"]) == (state["head"], state["mix"])
    assert quick.is_archived() == bool(state.get("archived"))
    assert quick.state == state
    assert quick.shown == contract(state)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_line_says_what_the_state_says(project: Path, seed: int) -> None:
    """After any commands, with and without commits since the snapshot, both give the same answer."""
    dice = random.Random(seed)
    workspace = holdfast.open()
    session = workspace.start("Work")
    for number in range(120):
        name = dice.choice(list(COMMANDS))
        try:
            COMMANDS[name](session, Choice(session, Step(0, name, dice.randrange(50), dice.choice(TEXTS))))
        except HoldfastError:
            continue
        if number % 7 == 0:
            session.settle_down()
        if number % 5 == 0:
            check(session)
    session.settle_down()
    check(session)
    workspace.close()


def test_an_archived_session_is_known_by_the_first_line(project: Path) -> None:
    """Commands refuse an archived session even before they have parsed its state."""
    with holdfast.open() as workspace:
        session = workspace.start("Work")
        session.note("one")
        upkeep.archive(workspace, session.id)
        check(workspace.session(session.id))


def test_status_does_not_parse_the_state(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status costs the same however much is open: it shows what the snapshot's first line holds."""
    with holdfast.open() as workspace:
        session = workspace.start("Work")
        session.add_task("Write it down")
    asked = []
    state = WorkingSet.state

    def counted(self: WorkingSet) -> object:
        asked.append(self)
        return state.fget(self)  # type: ignore[attr-defined]

    monkeypatch.setattr(WorkingSet, "state", property(counted))
    assert main(["status"]) == 0
    assert not asked
    assert "Work" in capsys.readouterr().out
    assert main(["note", "something new"]) == 0
    assert asked
