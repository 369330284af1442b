"""Decision records are numbered without gaps and listed in their index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
ROWS = re.findall(
    r"^\| (\d+) \| \[[^\]]+\]\(([^)]+)\) \| ([^|]+) \|", (FOLDER / "README.md").read_text(), re.MULTILINE
)


def test_the_numbers_have_no_gaps() -> None:
    """Record N is the Nth file, starting with 0001."""
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_the_index_lists_every_record() -> None:
    """The index has one row for each record, in order."""
    assert [(int(number), name) for number, name, _ in ROWS] == [
        (int(record.name[:4]), record.name) for record in RECORDS
    ]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_its_number_and_status(record: Path) -> None:
    """A record's title has the number of its file, and its status agrees with the index."""
    text = record.read_text()
    assert text.startswith(f"# {int(record.name[:4])}. ")
    status = re.search(r"^Status: (accepted|superseded)", text, re.MULTILINE)
    assert status, record.name
    shown = next(status for _, name, status in ROWS if name == record.name)
    assert shown.startswith(status[1])
    for part in ("**Context.**", "**Decision.**", "**Consequences.**"):
        assert part in text, f"{record.name} has no {part}"
