"""Pruning AGENTS.md: the oldest dated entries go to an archive, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checks.agents_md import entries, prune
from holdfast.edge.cli import main
from holdfast.errors import Refused

lines = st.sampled_from(
    [
        "### 2026-01-01 - a",
        "### 2026-02-02 - b",
        "### 2025-12-31",
        "- point",
        "text",
        "",
        "## Other",
        "```",
        "# Top",
        "$2 \\1",
    ]
)


def texts(page: str) -> list[str]:
    return sorted(line for line in page.split("\n") if line.strip())


@given(st.lists(lines, max_size=60), st.integers(0, 400))
def test_no_line_is_lost(given_lines: list[str], target: int) -> None:
    """Page and archive together have every line of text that the page had."""
    page = "\n".join(given_lines)
    try:
        kept, archive, moved = prune(page, "", target)
    except Refused:
        assert entries(page) == []
        return
    added = texts(archive.replace("# Archived entries of AGENTS.md", "", 1))
    unique = {"\n".join(e.lines).rstrip("\n") for e in moved}
    assert set(texts(page)) == set(texts(kept)) | set(added)
    assert len(texts(kept)) + sum(len(texts("\n".join(e.lines))) for e in moved) == len(texts(page))
    assert all(text in archive for text in unique)
    assert len(kept.encode()) <= target or not entries(kept)


def test_the_oldest_go_first_and_the_rest_stays_as_it_is() -> None:
    """Only as many as needed are moved; text that is not dated is never touched."""
    new = "### 2026-03-01 new\n- n\n"
    old = "### 2026-01-01 old\n- o\n"
    page = f"# Title\n\nProse.\n\n{new}\n{old}\n## Rules\n\n- keep\n"
    kept, archive, moved = prune(page, "", len(page) - 5)
    assert [e.date for e in moved] == ["2026-01-01"]
    assert new in kept
    assert "## Rules\n\n- keep\n" in kept
    assert old in archive


def test_again_after_a_death_between_the_two_files() -> None:
    """Entries that are already in the archive are not added twice."""
    page = "### 2026-01-01 old\n- o\n"
    _, archive, _ = prune(page, "", 1)
    kept, again, _ = prune(page, archive, 1)
    assert again == archive
    assert kept.strip() == ""


def test_the_command(project: Path) -> None:
    """A dry run changes nothing; then the page is small enough and the archive has the rest."""
    page = "# A\n\n" + "".join(f"### 2026-01-{day:02d} x\n- {'y' * 5000}\n\n" for day in range(1, 29))
    (project / "AGENTS.md").write_text(page)
    assert main(["agents-md", "prune", "--dry-run"]) == 0
    assert (project / "AGENTS.md").read_text() == page
    assert main(["agents-md", "prune"]) == 0
    kept = (project / "AGENTS.md").read_text()
    assert len(kept) <= 75 * 1024
    assert texts(kept + (project / "AGENTS.archive.md").read_text().split("\n", 1)[1]) == texts(page)


# Read once, at import: tests run with such settings taken out of the environment.
CORPUS = os.environ.get("HOLDFAST_CORPUS")


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS, reason="HOLDFAST_CORPUS names no folder with real files")
def test_a_real_page() -> None:
    """The dated entries of a real AGENTS.md are found and can be moved."""
    path = Path(str(CORPUS)) / "agents-md" / "agents-opencode.AGENTS.md"
    page = path.read_text()
    assert len(entries(page)) > 10
    kept, archive, _ = prune(page, "", 8000)
    assert set(texts(page)) <= set(texts(kept)) | set(texts(archive))
