"""docs/coverage.md names files and tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coverage.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| requirement", "| ---"))
]


@cache
def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_all_five_documents_are_there() -> None:
    """The page has a part for each document, and rows in each."""
    parts = re.findall(r"^## ([A-E])\. ", PAGE, re.MULTILINE)
    assert parts == list("ABCDE")
    assert len(ROWS) > 120
    assert all(len(row) == 3 for row in ROWS), [row for row in ROWS if len(row) != 3]


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_row_names_what_exists(row: list[str]) -> None:
    """Each file is there, and each test is in the file that is named; what is not built says open."""
    places = re.findall(r"`([^`]+)`", row[1])
    assert places
    for place in places:
        assert (ROOT / "src" / "holdfast" / place).exists() or (ROOT / place).exists(), place
    if row[2] == "open":
        return
    tests = re.findall(r"`([^`]+)::(\w+)`", row[2])
    assert tests, row
    for file, name in tests:
        assert (ROOT / file).exists(), file
        assert name in names_in(ROOT / file), f"{file} has no {name}"


def test_every_rule_of_lint_that_is_named_exists() -> None:
    """The ids of rules in the page are those of real rules, and none is missing from it."""
    from holdfast.checks import lint

    named = set(re.findall(r"HF\d{3}", PAGE))
    for first, last in re.findall(r"HF(\d{3}) to HF(\d{3})", PAGE):
        named |= {f"HF{number:03d}" for number in range(int(first), int(last) + 1)}
    assert named == set(lint.RULES)
