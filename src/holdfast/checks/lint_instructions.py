"""Lint rules for agent instruction files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from holdfast.checks.agents_md import MOST_BYTES, TARGET_BYTES, entries
from holdfast.checks.finding import Rule, collector
from holdfast.checks.tree import Tree

Places = Iterator[tuple[str, int, str]]
CHECKS: list[tuple[Rule, Callable[[Tree], Places]]] = []
rule = collector(CHECKS)
MOST_LINES = 200
MOST_BULLETS = 5
_LIKE_A_DATE = re.compile(
    r"###\s+(?:\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2}|[A-Z][a-z]{2,8} \d{1,2},? \d{4})"
)


@rule(
    "HF201",
    "warning",
    "instructions over 200 lines",
    "Say the essential; load details on demand.",
)
def _long(tree: Tree) -> Places:
    for file in tree.files:
        count = len(file.lines) - (file.lines[-1:] == [""])
        if file.is_instructions and count > MOST_LINES:
            yield file.path, MOST_LINES + 1, f"{count:,} lines of instructions are loaded every time."


@rule(
    "HF202",
    "warning",
    "AGENTS.md over 75 KB",
    "`holdfast agents-md prune` archives the oldest entries.",
)
def _soft(tree: Tree) -> Places:
    for file in tree.files:
        if file.is_agents_md and TARGET_BYTES < file.size <= MOST_BYTES:
            yield file.path, 0, f"{file.size:,} bytes; at {MOST_BYTES:,} it is too much to load."


@rule(
    "HF203",
    "error",
    "AGENTS.md over 100 KB",
    "`holdfast agents-md prune` archives the oldest entries.",
)
def _hard(tree: Tree) -> Places:
    for file in tree.files:
        if file.is_agents_md and file.size > MOST_BYTES:
            yield file.path, 0, f"{file.size:,} bytes are over the limit of {MOST_BYTES:,}."


@rule(
    "HF204",
    "note",
    "a dated entry with more than 5 points",
    "Keep what a later session needs.",
)
def _bullets(tree: Tree) -> Places:
    for file in tree.files:
        if file.is_agents_md:
            for entry in entries(file.text):
                count = sum(line.startswith(("- ", "* ", "+ ")) for line in entry.lines)
                if count > MOST_BULLETS:
                    yield (
                        file.path,
                        entry.line,
                        f"{count} points in the entry of {entry.date}; at most {MOST_BULLETS}.",
                    )


@rule(
    "HF205",
    "note",
    "a date that is not YYYY-MM-DD",
    "Write ### 2026-01-21.",
)
def _dates(tree: Tree) -> Places:
    for file in tree.files:
        if file.is_agents_md:
            for number, line in enumerate(file.lines, 1):
                if _LIKE_A_DATE.match(line):
                    yield (
                        file.path,
                        number,
                        "A dated entry begins with ### YYYY-MM-DD; others are never pruned.",
                    )
