"""Lint rules for logs in YAML and tables, and for STATE.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from holdfast.checks.finding import Rule, collector
from holdfast.checks.tree import File, Tree
from holdfast.core.foreign.yaml_lines import Entry, Stray, read

Places = Iterator[tuple[str, int, str]]
CHECKS: list[tuple[Rule, Callable[[Tree], Places]]] = []
rule = collector(CHECKS)
MOST_YAML = 10_000
MOST_TSV = 100_000
MOST_UPDATES = 5
MOST_REPEATS = 3
_SECTIONS = ("current context", "available actions", "recent updates")
"""What every page has; the other sections of the template are there if they have content."""
_DEPTH = re.compile(r"\*\*Depth:\*\*\s*(\d+)")
_USED = re.compile(r"\*\*Status:\*\*.*\((\d+)\s?%\)")


@rule(
    "HF115",
    "warning",
    "a log too long for its format",
    "`holdfast import` brings it into a log that grows.",
)
def _long_log(tree: Tree) -> Places:
    for file in tree.files:
        if (
            file.name.endswith((".yaml", ".yml"))
            and (n := file.text.count("\n- ") + file.text.count("\n  - ")) > MOST_YAML
        ):
            yield file.path, 0, f"{n:,} entries: YAML has to be read whole to add one."
        if file.name.endswith(".tsv") and len(file.lines) > MOST_TSV:
            yield file.path, 0, f"{len(file.lines):,} lines are more than a table in a file can carry."


@rule(
    "HF116",
    "error",
    "a line that is not YAML",
    "Quote the text.",
)
def _not_yaml(tree: Tree) -> Places:
    for file in tree.files:
        if file.name.endswith((".yaml", ".yml")):
            for part in read(file.text):
                if isinstance(part, Stray):
                    yield file.path, part.line, f"Not YAML that every reader takes: {part.why}."
                for field in part.fields if isinstance(part, Entry) else ():
                    if field.bad and "object" not in field.bad:
                        yield file.path, field.line, f"Not YAML that every reader takes: {field.bad}."


@rule(
    "HF117",
    "error",
    "an id that is used twice",
    "Give the later entry a new id.",
)
def _same_id(tree: Tree) -> Places:
    for file in tree.files:
        if not file.name.endswith((".yaml", ".yml")):
            continue
        seen: dict[str, int] = {}
        for part in read(file.text):
            for field in part.fields if isinstance(part, Entry) else ():
                if field.name == "id" and field.value is not None:
                    first = seen.setdefault(str(field.value), field.line)
                    if first != field.line:
                        yield (
                            file.path,
                            field.line,
                            f"{field.value} is also the id of the entry in line {first}.",
                        )


def _pages(tree: Tree) -> Iterator[File]:
    return (file for file in tree.files if file.is_state_md)


@rule(
    "HF118",
    "note",
    "STATE.md without a section that it always has",
    "`holdfast view STATE.md` has them.",
)
def _sections(tree: Tree) -> Places:
    for file in _pages(tree):
        heads = {line.strip("# ").lower() for line in file.lines if line.startswith("## ")}
        missing = [name for name in _SECTIONS if not any(name in head for head in heads)]
        if missing and len(missing) < len(_SECTIONS):  # another kind of page has none of them
            yield file.path, 0, f"Sections are missing: {', '.join(missing)}."


@rule(
    "HF119",
    "note",
    "STATE.md without frontmatter",
    "Begin it with version, updated and session.",
)
def _front(tree: Tree) -> Places:
    for file in _pages(tree):
        if file.lines[:1] != ["---"]:
            yield file.path, 1, "No frontmatter: version, time and session are unknown."


@rule(
    "HF120",
    "warning",
    "a context stack deeper than one",
    "Return before forking again.",
)
def _stack(tree: Tree) -> Places:
    for file in _pages(tree):
        for number, line in enumerate(file.lines, 1):
            if (match := _DEPTH.search(line)) and int(match[1]) > 1:
                yield file.path, number, f"The context stack is {match[1]} deep; one fork at a time."


@rule(
    "HF121",
    "note",
    "more than five recent updates",
    "Keep the last five.",
)
def _updates(tree: Tree) -> Places:
    for file in _pages(tree):
        stamps, inside = 0, False
        for line in file.lines:
            if line.startswith("## "):
                inside = "recent update" in line.lower()
            stamps += inside and bool(re.match(r"\*\*\d{4}-\d{2}-\d{2}", line))
        if stamps > MOST_UPDATES:
            yield (
                file.path,
                0,
                f"{stamps} recent updates; the log keeps what is older than the last {MOST_UPDATES}.",
            )


@rule(
    "HF122",
    "warning",
    "the token budget is over its limit",
    "Exclude items from the context.",
)
def _over_budget(tree: Tree) -> Places:
    for file in _pages(tree):
        for number, line in enumerate(file.lines, 1):
            if (match := _USED.search(line)) and int(match[1]) >= 50:
                yield (
                    file.path,
                    number,
                    f"{match[1]} % of the token budget is used: something has to be excluded.",
                )


@rule(
    "HF123",
    "error",
    "a page that was doubled",
    "`holdfast import` takes each line once.",
)
def _doubled(tree: Tree) -> Places:
    for file in _pages(tree):
        counts = Counter(line.strip() for line in file.lines if line.strip().startswith(("- ", "* ")))
        for text, count in counts.most_common(3):
            if count > MOST_REPEATS and len(text) > 20:
                yield (
                    file.path,
                    file.line_of(text),
                    f"The same line {count} times: a tool has doubled parts of the page.",
                )
