"""The day simulator: what the next session must know is in the brief that it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from .engine import BUDGET, DECIDES, SILENT, VARIANTS, Day, noise_of, play, table
from .scripts import DAYS

MOST_NOISE = 0.30
LEAST = {SILENT: 0.90, DECIDES: 1.0}
FRAME = 200
"""Tokens of what a hook says around the brief."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.name)
def test_the_next_session_knows(
    day: Day, variant: str, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    """The brief at 2,000 tokens answers the questions of the day, and most of it answers one."""
    found = play(day, variant, tmp_path)
    print(table([found]))
    record_property("score", f"{found.answered} of {found.asked}")
    assert found.tokens <= BUDGET + FRAME
    assert found.answered >= LEAST[variant] * found.asked, found.missing
    assert found.share <= MOST_NOISE, found.text


def test_noise_is_what_answers_nothing() -> None:
    """Entries without a fact are noise; the frame is neither noise nor answer."""
    text = "holdfast: session a/b\n## Goal\n- «ship it»\n- «something else entirely»\n\nRecord what you decide.\n"
    noise, body = noise_of(text, ["SHIP"])
    assert 0 < noise < body
    assert noise_of(text, ["ship", "entirely"])[0] == 0
