"""Handoffs: one claimant, a second sees who it is, consumed by the first confirmed step."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import contested, fold
from holdfast.core.concepts import handoff
from holdfast.core.tokens import estimate
from holdfast.edge.cli import main
from holdfast.errors import NotFound, Refused
from holdfast.views import agents_md, brief, pages, state_json, state_md
from holdfast.workspace.session import Session

STEPS: dict[str, Callable[[Session], object]] = {
    "settle": lambda session: session.settle("D-1", "done"),
    "task": lambda session: session.complete_task("T-1"),
    "checkpoint": lambda session: session.checkpoint("half way"),
}


def handed_off() -> Session:
    session = holdfast.open(by="ann").start("Ship it")
    session.decide("Tag it", because="green", action="git tag")
    session.add_task("Write notes")
    session.hand_off("mind the gap")
    return session


def as_(name: str) -> Session:
    return holdfast.open(by=name).session()


@pytest.mark.parametrize("step", STEPS)
def test_the_first_confirmed_step_of_the_claimant_consumes_a_handoff(project: Path, step: str) -> None:
    """Others' steps and the claimant's notes do not; a settled decision, a completed task or a checkpoint does."""
    handed_off()
    bob, eve = as_("bob"), as_("eve")
    bob.claim()
    eve.checkpoint("not mine")
    bob.note("looking around")
    assert bob.state["handoff"]["consumed_at"] is None
    STEPS[step](bob)
    held = bob.state["handoff"]
    assert (held["claimed_by"], held["consumed_by"]) == ("bob", "bob")
    assert held["consumed_at"] == bob.state["updated"]


def test_a_second_claimant_is_refused_with_the_holders_name(project: Path) -> None:
    """The refusal names the holder and writes nothing; only `--take-over` takes it."""
    handed_off()
    first = as_("bob").claim()
    eve = as_("eve")
    version = eve.version
    with pytest.raises(Refused, match="claimed by bob"):
        eve.claim()
    assert eve.version == version
    again = as_("bob").claim()
    assert (again.repeated, again.commit, again.version) == (True, first.commit, version)
    eve.claim(take_over=True)
    assert eve.state["handoff"]["claimed_by"] == "eve"
    assert contested.contests(eve.state["registers"]) == []


def test_there_must_be_something_to_claim(project: Path) -> None:
    """A session without a handoff cannot be claimed; a new handoff can be claimed again."""
    session = holdfast.open(by="ann").start("Ship it")
    with pytest.raises(NotFound, match="has no handoff"):
        session.claim()
    session.hand_off()
    as_("bob").claim()
    as_("bob").hand_off("yours now")
    session.claim()
    assert session.state["handoff"]["claimed_by"] == "ann"


def test_of_eight_processes_one_wins(project: Path) -> None:
    """Processes that claim concurrently on one store: exactly one succeeds, all others see who."""
    handed_off()
    program = (
        "import sys, holdfast\n"
        "from holdfast.errors import Refused\n"
        "session = holdfast.open(by=sys.argv[1]).session()\n"
        "sys.stdin.readline()\n"
        "try: session.claim(); print('won')\n"
        "except Refused as refused: print(refused)\n"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, f"agent-{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(8)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    holder = as_("ann").state["handoff"]["claimed_by"]
    assert said.count("won") == 1
    assert said[int(holder.removeprefix("agent-"))] == "won"
    assert sum(f"claimed by {holder}" in line for line in said) == 7


def clone_of(project: Path, target: Path) -> Path:
    shutil.copytree(project, target)
    shutil.rmtree(target / ".state" / "local")
    return target


def exchange(one: Path, other: Path) -> None:
    """What a merge of two branches does: each gets the other's segments."""
    for source, target in ((one, other), (other, one)):
        for segment in (source / ".state").rglob("*.jsonl"):
            copy = target / ".state" / segment.relative_to(source / ".state")
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or len(copy.read_bytes()) < len(segment.read_bytes()):
                shutil.copy(segment, copy)


def test_two_clones_that_both_claim_are_contested_and_shown(project: Path, tmp_path: Path) -> None:
    """Claims of agents with the same name in two clones are two claims: shown in every view until one takes over."""
    session = handed_off()
    name = session.id
    other = clone_of(project, tmp_path / "clone")
    holdfast.open(project, by="claude").session(name).claim()
    holdfast.open(other, by="claude").session(name).claim()
    exchange(project, other)
    states = [holdfast.open(place, by="claude").session(name).state for place in (project, other)]
    assert states[0] == states[1]
    (contest,) = contested.contests(states[0]["registers"])
    assert contest["name"] == "claim"
    for text in _views(states[0]).values():
        assert "claim" in text
        assert text.count("H-1 by claude at") == 2
    mine = holdfast.open(project, by="claude").session(name)
    with pytest.raises(Refused, match="contested"):
        mine.claim()
    mine.claim(take_over=True)
    assert contested.contests(mine.state["registers"]) == []


def _views(state: dict[str, Any]) -> dict[str, str]:
    return {
        "STATE.md": state_md.render(state),
        "state.json": state_json.render(state),
        "handoff": pages.handoff_md(state),
        "brief": brief.brief(state, count=estimate).text,
    }


def test_an_unclaimed_handoff_is_no_rival() -> None:
    """Whatever the order of a concurrent older claim and a newer handoff, the newer one can be claimed."""
    for winner, rival in (
        ("H-1 by bob at aaaaaaaa", "H-2 by nobody"),
        ("H-2 by nobody", "H-1 by bob at aaaaaaaa"),
    ):
        state = fold.blank("session")
        state["handoff"] = {"id": "H-2", "claimed_by": None, "claimed_at": None, "consumed_at": None}
        entry = {"id": "c", "at": "", "by": "", "origin": "agent"}
        state["registers"]["claim"] = {**entry, "value": winner, "rivals": [{**entry, "value": rival}]}
        (event,) = handoff.claim(state, "eve")
        assert event.data["claimant"] == "eve"


def test_a_concurrent_claim_of_an_older_handoff_is_shown_and_blocks_nothing(
    project: Path, tmp_path: Path
) -> None:
    """One clone claims while the other hands off again: both are visible, and the new handoff can be claimed."""
    session = handed_off()
    name = session.id
    other = clone_of(project, tmp_path / "clone")
    holdfast.open(other, by="bob").session(name).claim()
    session.hand_off("a newer one")
    exchange(project, other)
    eve = holdfast.open(project, by="eve").session(name)
    (contest,) = contested.contests(eve.state["registers"])
    assert {contest["value"].split(" at ")[0], contest["rivals"][0]["value"].split(" at ")[0]} == {
        "H-2 by nobody",
        "H-1 by bob",
    }
    eve.claim()
    assert eve.state["handoff"]["claimed_by"] == "eve"


def test_the_command_line_claims_and_says_who_has_it(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`handoff`, `resume --claim` and a second `resume --claim` by another agent, as a user sees them."""
    handed_off().workspace.close()
    monkeypatch.setenv("HOLDFAST_AGENT", "bob")
    assert main(["resume", "--claim"]) == 0
    assert "You have H-1, claimed as bob" in capsys.readouterr().out
    monkeypatch.setenv("HOLDFAST_AGENT", "eve")
    assert main(["resume", "--claim"]) == 1
    assert "claimed by bob" in capsys.readouterr().err
    assert main(["resume", "--take-over"]) == 2
    assert main(["resume", "--claim", "--take-over"]) == 0
    assert main(["do", "/settle D-1 tagged"]) == 0
    assert as_("eve").state["handoff"]["consumed_by"] == "eve"


COMMANDS: list[Callable[[Session, int], object]] = [
    lambda s, n: s.note(f"note {n}"),
    lambda s, n: s.decide(f"decision {n}", because="b", action="a"),
    lambda s, n: s.set_goal(f"goal {n}"),
    lambda s, n: s.set_focus(f"focus {n}"),
    lambda s, n: s.add_loop(f"loop {n}"),
    lambda s, n: s.add_task(f"task {n}"),
    lambda s, n: s.start_task(),
    lambda s, n: s.complete_task(),
    lambda s, n: s.settle(next(iter(s.state["decisions"]["open"]), "D-1"), f"outcome {n}"),
    lambda s, n: s.close_loop(next(iter(s.state["loops"]["open"]), "LOOP-001"), f"answer {n}"),
    lambda s, n: s.checkpoint(f"checkpoint {n}"),
    lambda s, n: s.hand_off(f"handoff {n}"),
    lambda s, n: s.claim(take_over=True),
    lambda s, n: s.discuss(f"topic {n}"),
    lambda s, n: s.return_(),
    lambda s, n: s.propose_plan(f"plan {n}", "text"),
    lambda s, n: s.approve_plan(next(iter(s.state["plans"]["open"]), "PLAN-1")),
    lambda s, n: s.pause(f"pause {n}"),
    lambda s, n: s.continue_(),
    lambda s, n: s.enter_phase("build"),
    lambda s, n: s.enter_phase("plan"),
    lambda s, n: s.add_blocker(f"blocker {n}"),
]


@pytest.mark.parametrize("seed", range(6))
def test_clones_with_the_same_commits_show_the_same_bytes(project: Path, tmp_path: Path, seed: int) -> None:
    """Three clones make random changes, merge in different orders, and in the end all views are byte-identical."""
    import random

    dice = random.Random(seed)
    name = holdfast.open(project, by="ann").start("Ship it", phases=["plan", "build"]).id
    clones = [project, clone_of(project, tmp_path / "two"), clone_of(project, tmp_path / "three")]
    for n in range(60):
        place = dice.randrange(3)
        with holdfast.open(clones[place], by=f"agent-{place}") as workspace:
            try:
                dice.choice(COMMANDS)(workspace.session(name), n)
            except holdfast.HoldfastError:
                pass
        if dice.random() < 0.08:
            exchange(*dice.sample(clones, 2))
    for pair in ((0, 1), (1, 2), (0, 2)):
        exchange(clones[pair[0]], clones[pair[1]])
    shown = []
    for place in clones:
        state = holdfast.open(place).session(name).state
        views = _views(state) | {"loops": pages.loops_md(state), "context": pages.context_md(state)}
        shown.append(views | {"agents": agents_md.block(state), "continue": pages.continue_here(state)})
    assert shown[0] == shown[1] == shown[2]
