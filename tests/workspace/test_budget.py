"""The token budget of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.core.concepts.budget import MOST, STRATEGIES, ZONES
from holdfast.core.tokens import estimate
from holdfast.edge.cli import hints
from holdfast.errors import NotFound, Refused
from holdfast.workspace.session import Session


@pytest.fixture
def session() -> Session:
    """A session in memory."""
    return holdfast.open("memory:").start("Ship it")


def crossings(session: Session) -> list[tuple[str, str]]:
    return [
        (event.data["from"], event.data["to"])
        for commit in session.log()
        for event in commit.events
        if event.type == "budget.crossed"
    ]


@pytest.mark.parametrize(
    ("tokens", "zone"),
    [
        *((0, "comfortable"), (999, "comfortable"), (1000, "deliberate"), (1999, "deliberate")),
        *((2000, "warning"), (2499, "warning"), (2500, "stop"), (9999, "stop")),
    ],
)
def test_zones_begin_at_20_40_and_50_percent(session: Session, tokens: int, zone: str) -> None:
    """Each limit belongs to the zone that it begins."""
    session.set_budget(5000)
    session.spend("all", tokens)
    budget = session.state["budget"]
    assert (budget["used"], budget["zone"]) == (tokens, zone)
    assert set(STRATEGIES) == set(ZONES)


def test_crossing_is_an_event_in_the_same_commit(session: Session) -> None:
    """Whatever moves the budget into another zone says so, in both directions."""
    session.set_budget(1000)
    session.spend("a", 100)
    session.spend("b", 350)
    session.exclude("b")
    session.include("b")
    session.set_budget(10_000)
    session.set_budget(10_000, zones=[1, 2, 3])
    session.unspend("b")
    assert crossings(session) == [
        ("comfortable", "warning"),
        ("warning", "comfortable"),
        ("comfortable", "warning"),
        ("warning", "comfortable"),
        ("comfortable", "stop"),
        ("stop", "deliberate"),
    ]
    assert session.state["budget"]["crossed"] == 6
    assert session.state["budget"]["limits"] == [1, 2, 3]
    assert "from deliberate" not in session.state["recent"][0]["text"]


def test_refusals_change_nothing(session: Session) -> None:
    """Numbers that make no sense, unknown items and empty switches are refused."""
    session.spend("a", 5)
    version = session.version
    for total in (0, -1, True, 10**10, "5"):
        with pytest.raises(Refused):
            session.set_budget(total)  # type: ignore[arg-type]
    for zones in ([], [20, 40], [40, 20, 50], [20, 40, 101], [0, 1, 2], [20, 20, 50], [1.5, 2, 3]):
        with pytest.raises(Refused):
            session.set_budget(100, zones=zones)  # type: ignore[arg-type]
    for tokens in (-1, True, 1.5, 10**10):
        with pytest.raises(Refused):
            session.spend("a", tokens)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="included already"):
        session.include("a")
    with pytest.raises(NotFound):
        session.exclude("b")
    assert session.version == version


def test_the_number_of_items_is_bounded(session: Session) -> None:
    """The item after the last that fits is refused; a known one still takes a new count."""
    for number in range(MOST):
        session.spend(f"item {number}", 1)
    with pytest.raises(Refused, match="200 items") as refusal:
        session.spend("one more", 1)
    assert "budget drop NAME" in hints.text(refusal.value.hint)
    session.spend("item 0", 5)
    assert session.state["budget"]["used"] == MOST + 4


def test_a_file_is_counted_by_an_estimate(project: Path) -> None:
    """The tokens of a file are the estimate of its text."""
    text = "def main() -> None:\n    print('hello')\n" * 50
    (project / "app.py").write_text(text)
    session = holdfast.open(str(project)).start("Ship it")
    session.spend_file("./app.py")
    assert session.state["budget"]["items"] == {"app.py": {"tokens": estimate(text), "included": True}}
