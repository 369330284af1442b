"""Lint: known bad practices in a project's memory and instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.checks import lint_instructions, lint_memory, lint_pages, lint_state, lint_tree
from holdfast.checks.finding import LEVELS, Finding, Rule
from holdfast.checks.tree import Tree

Check = Callable[[Tree], Iterator[tuple[str, int, str]]]
CHECKS: list[tuple[Rule, Check]] = [
    *lint_tree.CHECKS,
    *lint_state.CHECKS,
    *lint_pages.CHECKS,
    *lint_instructions.CHECKS,
    *lint_memory.CHECKS,
]
RULES = {rule.id: rule for rule, _ in CHECKS}


def lint(folder: str, *, only: set[str] | None = None) -> list[Finding]:
    """Every finding in a project's folder: errors first, then by file and line."""
    tree = Tree(folder)
    found = [
        Finding(rule, path, line, message)
        for rule, check in CHECKS
        if only is None or rule.id in only
        for path, line, message in check(tree)
    ]
    return sorted(found, key=lambda f: (LEVELS.index(f.rule.level), f.path, f.line, f.rule.id))
