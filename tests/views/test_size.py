"""state.json and the brief stay small whatever a session did."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.views.example import mid_task

from holdfast.core import fold
from holdfast.core.codec import Commit, Event
from holdfast.core.timestamps import iso
from holdfast.core.tokens import estimate
from holdfast.edge.cli import load
from holdfast.errors import Usage
from holdfast.views import brief, state_json, state_md
from holdfast.views.brief_sections import Known, sections

ORDER = {"id": "SO-1", "text": "x", "at": "2026-01-21T14:00:00.000Z", "by": "ann", "origin": "human"}
WORST = ["\x00", "\U000e0041", "\U0001f468\u200d", '"', "\\", "\u202e", "\x9b", "<a>", "»", "é", "a "]


def largest(text: str, entries: int = 1000) -> dict[str, Any]:
    """A state with as much of everything as it can hold."""
    state = fold.blank("session")
    stamp = {"at": "2026-01-21T14:00:00.000Z", "by": text[:200], "origin": "import", "commit": "c" * 25}
    state.update(
        session="2026-01-21-a1b2c3d4", user="u" * 64, updated=stamp["at"], created=stamp["at"], by=text[:200]
    )
    register = {"value": text, "id": "c" * 25, **stamp, "rivals": [{"value": text, "id": "d", **stamp}] * 8}
    names = ["goal", "phase", "focus", "status", *(f"{text[:180]}{n}" for n in range(200))]
    state["registers"] = {name: dict(register) for name in names}
    state["registers"]["task"] = {**register, "value": "T-1", "rivals": []}
    for name in ("tasks", "plans", "loops", "risks", "blockers", "next", "errors"):
        entry = {"title": text, "text": text, "status": "open", "context": text, "tried": text, **stamp}
        state[name]["open"] = {f"T-{n}": {"id": f"T-{n}", **entry} for n in range(1, entries)}
    decision = {
        "text": text,
        "because": text,
        "action": text,
        "alternatives": [text] * 5,
        "revisit_when": text,
        **stamp,
    }
    state["decisions"]["open"] = {f"D-{n}": {"id": f"D-{n}", **decision} for n in range(entries)}
    closed = {**decision, "id": "D-0", "outcome": text, "ok": False, "rivals": [{"outcome": text}] * 10}
    state["decisions"]["closed"] = [closed] * 10
    state["phases"].update(declared=[f"{n}{text[:190]}" for n in range(50)])
    state["phases"]["history"] = [{"phase": text[:200], "entered": stamp["at"], "exited": stamp["at"]}] * 20
    state["notes"] = {"count": entries, "last": [{"text": text, **stamp}] * 5}
    steps = {
        "message": text,
        "last_completed": text,
        "instruction": text,
        "pending": [text] * 20,
        "can_resume": True,
    }
    state["checkpoint"] = {**steps, **stamp}
    state["discussion"] = {
        "topic": text,
        "return_to": dict.fromkeys(("task", "focus", "status", "phase"), text),
        **stamp,
    }
    state["recovery"] = dict.fromkeys(("last_agent", "last_action", "interrupted_at", "notes"), text)
    claim = {"claimed_by": text[:200], "claimed_at": stamp["at"], "consumed_at": None}
    state["handoff"] = {"id": "H-1", "message": text, **claim, **stamp}
    files = {
        f"{n}{text}": {"path": text, "kind": "context", "size": 1, "hash": "h" * 64, **stamp}
        for n in range(500)
    }
    state["references"] = {"open": files, "count": 500}
    state["recent"] = [{"text": text, **stamp}] * 10
    return state


@pytest.mark.parametrize("letter", WORST)
def test_the_largest_state_fits_into_ten_kilobytes(letter: str) -> None:
    """A full state of the characters that take the most bytes still gives a small file that names the totals."""
    state = largest(letter * (600 // len(letter)))
    text = state_json.render(state)
    assert len(text.encode()) < 10_000
    assert '"unsettled_count": 1000' in text
    assert '"contested_count": 204' in text


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=600), st.integers(1, 300))
def test_any_text_fits(text: str, entries: int) -> None:
    """Whatever the text, state.json is below its limit and the brief below its own."""
    state = largest(text.encode("utf-8", "replace").decode(), entries)
    assert len(state_json.render(state).encode()) < 10_000
    packet = brief.brief(state, count=estimate)
    assert packet.tokens == estimate(packet.text) <= brief.DEFAULT
    assert len(packet.text) <= brief.CHARACTERS
    assert len(state_md.render(state)) < 200_000


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400), st.integers(8, 200))
def test_a_text_is_cut_by_its_bytes_in_the_file(text: str, size: int) -> None:
    """A cut text never takes more bytes in the file than it may, and a short one is not cut."""
    shown = state_json.fit(text, size)
    assert state_json.size_in_file(shown) <= size
    line = " ".join(text.split())
    if state_json.size_in_file(line) <= size:
        assert shown == line


def test_a_hundred_thousand_commits_of_everything() -> None:
    """After 100,000 commits of all kinds both packets are as small as promised and the counts are right."""
    dice = random.Random(7)
    state = fold.fold(fold.blank("session"), _history(dice, 100_000))
    assert state["commits"] == 100_001
    assert len(state_json.render(state).encode()) < 10_000
    packet = brief.brief(state, count=estimate)
    assert packet.tokens <= brief.DEFAULT
    assert len(packet.text) <= brief.CHARACTERS
    assert packet.left_out["unsettled decisions"] + packet.text.count("because «") >= 900


def _history(dice: random.Random, commits: int) -> Any:
    def commit(n: int, *events: Event) -> Commit:
        at = iso(1_769_000_000_000 + n)
        return Commit(
            f"{1_769_000_000_000 + n:012x}0000-aaaaaaaa", at, f"agent-{n % 7}", "agent", None, events, ""
        )

    yield commit(
        0, Event("session.started", {"session": "2026-01-21-a1b2c3d4", "user": "alice", "goal": "g" * 9_000})
    )
    for n in range(1, commits + 1):
        text = dice.choice(WORST) * dice.choice([3, 200, 5_000])
        kind = n % 10
        number = n // 10
        if kind == 0:
            yield commit(n, Event("note.added", {"text": text}))
        elif kind == 1:
            yield commit(n, Event("decision.made", {"id": f"D-{number}", "text": text, "because": text}))
        elif kind == 2 and number > 900:
            yield commit(
                n, Event("decision.settled", {"id": f"D-{number - 900}", "outcome": text, "ok": True})
            )
        elif kind == 3:
            yield commit(n, Event("loop.added", {"id": f"LOOP-{number}", "title": text}))
        elif kind == 4 and number > 900:
            yield commit(n, Event("loop.closed", {"id": f"LOOP-{number - 900}", "outcome": text}))
        elif kind == 5:
            yield commit(n, Event("goal.set", {"goal": text, "saw": []}))
        elif kind == 6:
            yield commit(n, Event("task.added", {"id": f"T-{number}", "title": text}))
        elif kind == 7 and number > 900:
            yield commit(n, Event("task.completed", {"id": f"T-{number - 900}", "result": text}))
        elif kind == 8:
            yield commit(n, Event("checkpoint.saved", {"message": text, "can_resume": True, "saw": []}))
        else:
            yield commit(n, Event("phase.entered", {"phase": text[:200], "saw": []}))


def test_what_was_cut_is_counted_and_the_command_is_named() -> None:
    """The packet says how many of each kind it leaves out and how to see them; the counts are complete."""
    state = largest("word " * 100, 50)
    packet = brief.brief(state, count=estimate, budget=600)
    assert packet.left_out
    for name, count in packet.left_out.items():
        assert f"{count:,} {name} (`holdfast " in packet.text
    assert packet.text.rstrip().endswith(".")


@pytest.mark.parametrize("budget", [300, 400, 700, 1_200, 2_000, 5_000, 100_000])
def test_a_budget_holds_and_the_first_sections_survive(budget: int) -> None:
    """At every budget the packet fits, and a section is there only if those before it got their first lines."""
    state = largest("some words of a text ", 40)
    packet = brief.brief(state, count=estimate, budget=budget, alerts=["DAMAGED segment"])
    assert estimate(packet.text) <= budget
    assert len(packet.text) <= brief.CHARACTERS
    order = [
        "## Look at this first", "## Goal", "## Where it stands", "## In flight", "## Decided, never confirmed",
        "## Still failing", "## Tasks", "## Blockers", "## Next", "## Checkpoint", "## Decided in this session",
        "## Open loops", "## Risks", "## Files", "## Notes",
    ]  # fmt: skip
    found = [line for line in packet.text.splitlines() if line.startswith("## ")]
    assert found == [title for title in order if title in found]
    assert "DAMAGED segment" in packet.text


def test_every_command_that_a_brief_names_exists() -> None:
    """Each command that a packet names exists, with that verb."""
    project = {"orders": {"open": {"SO-1": ORDER}}}
    named = {section.command for section in sections(largest("x", 3), Known(project), ["alert"])}
    assert len(named) >= 11
    for command in named:
        _, name, *more = command.split()
        loaded = load(name)
        if loaded.verbs:
            assert more[0] in loaded.verbs, command


def test_a_budget_that_is_too_small_is_refused() -> None:
    """A budget below the minimum is refused with an error."""
    with pytest.raises(Usage, match="at least 300"):
        brief.brief(mid_task().peek().state, count=estimate, budget=299)
