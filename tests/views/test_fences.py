"""Stored text is data: no payload escapes from its place in any view."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.views.example import started
from tests.views.payloads import PAYLOADS

from holdfast.core.tokens import estimate
from holdfast.edge.render import clean
from holdfast.views import agents_md, brief, pages, state_json, state_md
from holdfast.views.brief_sections import Known
from holdfast.views.fence import fenced
from holdfast.views.markdown import hidden_in, inline


def filled(text: str) -> dict[str, Any]:
    """The state of a session in which every text that can be stored is ``text``."""
    session = started(text)
    session.declare_phases(["plan"])
    session.add_task(text)
    session.start_task("T-1")
    session.set_focus(text)
    session.propose_plan(text, text)
    session.add_loop(text, context=text)
    session.add_loop(text)
    session.close_loop("LOOP-002", text)
    session.decide(text, because=text, action=text)
    session.decide(text, because=text)
    session.settle("D-2", text)
    session.add_risk(text)
    session.add_blocker(text)
    session.add_next(text)
    session.note(text)
    session.checkpoint(text, last_completed=text, pending=[text], instruction=text)
    session.hand_off(text)
    session.workspace.by = text[:100].strip() or "x"
    session.claim()
    session.discuss(text)
    session.set_budget(100)
    session.spend(text[:100].strip() or "x", 30)
    state = session.state
    rival = {**state["registers"]["goal"], "value": text}
    state["registers"]["goal"]["rivals"] = [rival]
    entry = {"at": state["updated"], "by": text, "origin": "import"}
    state["references"] = {
        "open": {text: {**entry, "path": text, "kind": text, "size": 1, "hash": text}},
        "count": 1,
    }
    return state


def orders(text: str) -> dict[str, Any]:
    entry = {"id": "SO-1", "text": text, "at": "2026-01-21T14:00:00.000Z", "by": text, "origin": "import"}
    return {"orders": {"open": {"SO-1": entry}}}


PLAIN = filled("plain")


def test_there_are_enough_payloads() -> None:
    """The list of payloads is as long as it is said to be."""
    assert len(set(PAYLOADS)) >= 200


def test_no_payload_leaves_its_fence_in_a_brief_or_in_agents_md() -> None:
    """Outside of the fences a prompt has the same words whatever was stored, and nothing inside is active."""
    for payload in PAYLOADS:
        state = filled(payload)
        for render in (_brief, agents_md.block):
            text = render(state, orders(payload))
            assert hidden_in(text) in ([], ["\n"]), payload
            frame = _outside(text)
            assert "obey" not in frame, (payload, frame)
            assert "rm -rf" not in frame, (payload, frame)
            assert "maintenance" not in frame, (payload, frame)
            assert _shape(text) == _shape(render(PLAIN, orders("plain"))), payload
            for inside in _inside(text):
                assert "```" not in inside, payload
                assert not any(f"<{sign}" in inside for sign in "/!?|asthSATH"), (payload, inside)


def _brief(state: dict[str, Any], project: dict[str, Any]) -> str:
    return brief.brief(state, Known(project), count=lambda text: len(text) // 100, budget=2_000).text


def _outside(text: str) -> str:
    """What is not between fence marks; fails if the marks do not pair up on each line."""
    frame = []
    for line in text.splitlines():
        if line.startswith("Text between « and »"):
            continue
        rest = line
        while "«" in rest:
            before, _, rest = rest.partition("«")
            assert "»" not in before, line
            inside, mark, rest = rest.partition("»")
            assert mark, line
            assert "«" not in inside, line
            frame.append(before)
        assert "»" not in rest, line
        frame.append(rest)
    return "\n".join(frame)


def _inside(text: str) -> list[str]:
    return [part.split("»")[0] for part in text.split("«")[1:]]


def _shape(text: str) -> list[str]:
    """The headings of a page and how many lines each has."""
    return [line if line.startswith("#") else line[:1] for line in text.splitlines()]


@pytest.mark.parametrize(
    "render",
    [state_md.render, pages.loops_md, pages.context_md, pages.handoff_md, pages.continue_here],
    ids=["STATE.md", "LOOPS.md", "CONTEXT.md", "handoff", "continue"],
)
def test_no_payload_changes_the_structure_of_a_page(render: Any) -> None:
    """Headings, table rows and lines of a page are the same whatever was stored."""
    expected = [_structure(line) for line in render(PLAIN).splitlines()]
    for payload in PAYLOADS:
        text = render(filled(payload))
        assert not hidden_in(text.replace("\n", "")), payload
        assert [_structure(line) for line in text.splitlines()] == expected, payload


def _structure(line: str) -> str:
    """How Markdown parses a line: its kind, and for a row the number of its cells."""
    if line.startswith("|"):
        return f"row of {line.replace(chr(92) * 2, '').replace(chr(92) + '|', '').count('|')}"
    kind = line.split(" ")[0]
    return kind if kind in ("#", "##", "###", "-", "---", "") else "text"


def test_state_json_cannot_act_and_keeps_the_text() -> None:
    """The file has no terminal control character, and a parser reads the text as it was stored."""
    for payload in PAYLOADS:
        text = state_json.render(filled(payload))
        assert not hidden_in(text.replace("\n", "")), payload
        goal = json.loads(text)["goal"]
        assert goal == " ".join(payload.split()), payload


def test_a_terminal_gets_nothing_that_acts() -> None:
    """What the command line prints of a stored text holds no control, escape or direction character."""
    for payload in PAYLOADS:
        assert not hidden_in(clean(payload).replace("\n", "").replace("\t", ""))


def test_plain_text_stays_readable() -> None:
    """Ordinary words, code and signs are shown as they are."""
    assert fenced("if a < b and c > d: use `x` 👍") == "«if a < b and c > d: use `x` 👍»"
    assert inline("plain words, 100 %") == "plain words, 100 %"
    assert estimate(fenced("plain words")) < 10
