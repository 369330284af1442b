"""Every view of two example sessions, byte for byte. WRITE_GOLDENS=1 regenerates the files, for review."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.views.example import awaiting_approval, mid_task

from holdfast.core.tokens import estimate
from holdfast.views import agents_md, brief, pages, seal, state_json, state_md
from holdfast.workspace.session import Session

FOLDER = Path(__file__).parent / "golden"
RENDERS: dict[str, Callable[[dict], str]] = {
    "STATE.md": state_md.render,
    "state.json": state_json.render,
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


def test_the_sections_of_state_md_are_those_of_the_template() -> None:
    """STATE.md has the six sections of the session-state template, in its order and no others."""
    for make in (mid_task, awaiting_approval):
        text = state_md.render(make().peek().state)
        head, body = text.removeprefix("---\n").split("\n---\n", 1)
        assert [line.split(":")[0] for line in head.splitlines()] == [
            "version",
            "updated",
            "session",
            "sealed",
        ]
        assert [line for line in body.splitlines() if line.startswith("## ")] == [
            "## Current Context",
            "## Active Loops",
            "## Token Budget",
            "## Available Actions",
            "## Context Stack",
            "## Recent Updates",
        ]
        assert sum(line.startswith("# ") for line in body.splitlines()) == 1
        assert (
            body.index("**Phase:**")
            < body.index("**Task:**")
            < body.index("**Focus:**")
            < body.index("**Status:**")
        )
