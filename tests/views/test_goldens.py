"""Every view of two example sessions, byte for byte. WRITE_GOLDENS=1 regenerates the files, for review."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.views.example import awaiting_approval, mid_task, started

from holdfast.core.tokens import estimate
from holdfast.views import agents_md, brief, decisions_md, pages, seal, state_json, state_md
from holdfast.workspace.session import Session

FOLDER = Path(__file__).parent / "golden"
RENDERS: dict[str, Callable[[dict], str]] = {
    "STATE.md": state_md.render,
    "state.json": state_json.render,
    "DECISIONS.md": decisions_md.render,
    "LOOPS.md": pages.loops_md,
    "CONTEXT.md": pages.context_md,
    "handoff.md": pages.handoff_md,
    "continue-here.md": pages.continue_here,
    "agents-block.md": agents_md.block,
    "brief.txt": lambda state: brief.brief(state, count=estimate).text,
}


@pytest.mark.parametrize("name", RENDERS)
@pytest.mark.parametrize("make", [mid_task, awaiting_approval])
def test_a_view_is_what_it_was(make: Callable[[], Session], name: str) -> None:
    """The view of an example session has not changed since it was last reviewed."""
    text = RENDERS[name](make().peek().state)
    path = FOLDER / make.__name__ / name
    if os.environ.get("WRITE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("name", [name for name in RENDERS if name != "brief.txt"])
def test_a_view_shows_that_it_was_edited(name: str) -> None:
    """Each sealed view is intact as generated, and no longer after one changed character."""
    text = RENDERS[name](awaiting_approval().peek().state)
    assert seal.condition(text.encode()) == "intact"
    middle = len(text) // 2
    assert seal.condition(f"{text[:middle]}~{text[middle:]}".encode()) == "edited"


TEMPLATE = [
    "## Current Context",
    "## Active Loops",
    "## Token Budget",
    "## Available Actions",
    "## Context Stack",
    "## Recent Updates",
]
OURS = {
    "## Decisions",
    "## Captured, Not Confirmed",
    "## Tasks",
    "## Blockers",
    "## Next Actions",
    "## Checkpoint",
    "## Risks",
    "## Errors",
}


def test_the_sections_of_state_md_are_those_of_the_template() -> None:
    """STATE.md has the sections of the session-state template in its order, and what else is open; none is empty."""
    seen = set()
    for make in (mid_task, awaiting_approval):
        text = state_md.render(make().peek().state)
        head, body = text.removeprefix("---\n").split("\n---\n", 1)
        assert [line.split(":")[0] for line in head.splitlines()] == [
            "version",
            "updated",
            "session",
            "sealed",
        ]
        heads = [line for line in body.splitlines() if line.startswith("## ")]
        named = [head for head in heads if head in TEMPLATE]
        assert named == [head for head in TEMPLATE if head in named]
        assert set(heads) - set(named) <= OURS
        assert not re.search(r"^## .*\n\n*(## |\Z)", body, re.MULTILINE), "a section without content"
        seen |= set(heads)
        assert sum(line.startswith("# ") for line in body.splitlines()) == 1
        fields = re.findall(r"^- \*\*(Phase|Task|Focus|Status):\*\*", body.split("\n## ")[1], re.MULTILINE)
        assert fields == [name for name in ("Phase", "Task", "Focus", "Status") if name in fields]
        assert {"Phase", "Task", "Status"} <= set(fields)
    assert set(TEMPLATE) <= seen, "what has content is shown"


def test_what_is_empty_takes_no_room() -> None:
    """A session that has just begun: no legend without a budget, no placeholder, no empty table."""
    text = state_md.render(started().peek().state)
    for chrome in ("none", "None", "Token", "%", "|", "Stack", "Loops", "Tasks", "Decisions"):
        assert chrome not in text.partition("\n## ")[2].replace("/add-loop", ""), chrome
    assert pages.context_md(started().peek().state).count("## ") == 0


@pytest.mark.parametrize(
    "name", [name for name in RENDERS if name.endswith(".md") and name != "agents-block.md"]
)
def test_lists_of_a_page_are_lists(name: str) -> None:
    """Lines that follow each other are items of a list or rows of a table: a reader's Markdown joins all others."""
    for make in (mid_task, awaiting_approval):
        body = RENDERS[name](make().peek().state).split("\n---\n", 1)[1]
        for first, second in zip(body.splitlines(), body.splitlines()[1:], strict=False):
            if first and second:
                assert {first.lstrip()[0], second.lstrip()[0]} <= set("-|"), (first, second)
