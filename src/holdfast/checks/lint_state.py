"""Rules about what a state file holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.checks import schema
from holdfast.checks.finding import Rule, collector
from holdfast.checks.tree import File, Tree
from holdfast.core import secrets
from holdfast.core.foreign.yaml_lines import Entry, Stray, read

Places = Iterator[tuple[str, int, str]]
CHECKS: list[tuple[Rule, Callable[[Tree], Places]]] = []
rule = collector(CHECKS)
STATE_BYTES = 10 * 1024
DEEPEST = 3
LONG_TEXT = 1000
LONG_LINES = 20
MOST_YAML = 10_000
MOST_TSV = 100_000
MOST_UPDATES = 5
MOST_REPEATS = 3
_ABSOLUTE = re.compile(r"(?:/(?:home|Users|root|tmp|var|private|mnt|opt|etc)/\S|[A-Za-z]:\\\S)")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_VERSIONS = ("version", "format", "schema_version", "schema", "_version", "plugin_version", "$schema")
_TIMES = (("created_at", "created", "started_at"), ("updated_at", "updated", "last_updated", "started_at"))
_SECTIONS = (
    "current context",
    "active loops",
    "token budget",
    "available actions",
    "context stack",
    "recent updates",
)
_DEPTH = re.compile(r"\*\*Depth:\*\*\s*(\d+)")
_USED = re.compile(r"\*\*Status:\*\*.*\((\d+)\s?%\)")


def _states(tree: Tree) -> Iterator[File]:
    return (file for file in tree.files if file.is_state_json)


def _objects(tree: Tree) -> Iterator[tuple[File, dict[str, Any]]]:
    for file in _states(tree):
        if isinstance(file.value, dict):
            yield file, file.value


@rule(
    "HF101",
    "warning",
    "a state over 10 KB",
    "Put content into files and refer to them.",
)
def _large(tree: Tree) -> Places:
    for file in _states(tree):
        if file.size > STATE_BYTES:
            yield (
                file.path,
                0,
                f"The state has {file.size:,} bytes; more than {STATE_BYTES:,} belong into files.",
            )


@rule(
    "HF102",
    "error",
    "a state that cannot be read",
    "Restore it from git; write whole files only.",
)
def _broken(tree: Tree) -> Places:
    for file in _states(tree):
        if file.data and file.value is None:
            yield file.path, 0, "Not JSON: a write was cut short, or parts were edited in place."


@rule(
    "HF103",
    "warning",
    "a deeply nested state",
    "Keep it flat, or split it.",
)
def _deep(tree: Tree) -> Places:
    for file, value in _objects(tree):
        depth = _depth(value)
        if depth > DEEPEST:
            yield file.path, 0, f"Objects are nested {depth} levels deep; {DEEPEST} are plenty."


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max((_depth(inner) for inner in value.values()), default=0)
    if isinstance(value, list):
        return max((_depth(inner) for inner in value), default=0)
    return 0


@rule(
    "HF104",
    "warning",
    "a state without times",
    "Always have created_at and updated_at.",
)
def _no_times(tree: Tree) -> Places:
    for file, value in _objects(tree):
        for names in _TIMES if "goal" not in value or "session_id" in value else _TIMES[1:]:
            if not any(name in value for name in names):
                yield file.path, 0, f"There is no {names[0]}: nobody can tell how old this is."


@rule(
    "HF105",
    "warning",
    "a time that is not ISO-8601",
    "Write 2026-01-21T14:30:00Z.",
)
def _odd_times(tree: Tree) -> Places:
    for file, value in _objects(tree):
        for name, moment in value.items():
            if moment is None or not (name.endswith("_at") or name in ("created", "updated", "last_updated")):
                continue
            if not (isinstance(moment, str) and _MOMENT.fullmatch(moment)):
                yield file.path, file.line_of(f'"{name}"'), f"{name} is not a moment as in ISO-8601."


@rule(
    "HF106",
    "warning",
    "a state without a phase",
    "Say where in the work it stands.",
)
def _no_phase(tree: Tree) -> Places:
    for file, value in _objects(tree):
        if file.name == "state.json" and not {"phase", "current_phase", "status"} & value.keys():
            yield file.path, 0, "There is no phase: a successor cannot tell where the work stands."


@rule(
    "HF107",
    "warning",
    "a state without a version of its form",
    "Add a version field.",
)
def _no_version(tree: Tree) -> Places:
    for file, value in _objects(tree):
        if not any(name in value for name in _VERSIONS) and "current_phase" not in value:
            yield file.path, 0, "There is no version of its form: it cannot be migrated safely."


@rule(
    "HF108",
    "warning",
    "an absolute path in a state",
    "Use paths relative to the session or project.",
)
def _absolute(tree: Tree) -> Places:
    for file in _states(tree):
        for number, line in enumerate(file.lines, 1):
            if match := _ABSOLUTE.search(line):
                yield file.path, number, f"An absolute path ({match[0][:40]}…) is right on one machine only."


@rule(
    "HF109",
    "warning",
    "long text in a state",
    "Save it as a file and refer to it.",
)
def _long_text(tree: Tree) -> Places:
    for file, value in _objects(tree):
        for name, text in _texts(value):
            if len(text) > LONG_TEXT or text.count("\n") > LONG_LINES:
                yield file.path, file.line_of(f'"{name}"'), f"{name} holds {len(text):,} characters of text."


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for inner_name, inner in value.items():
            yield from _texts(inner, str(inner_name))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, name)


@rule(
    "HF110",
    "note",
    "a number that can be computed",
    "Compute it when it is needed.",
)
def _derived(tree: Tree) -> Places:
    for file, value in _objects(tree):
        if "seal" in value:
            continue  # a view of ours: it lists the first few, and its counts tell of all
        for name, number in value.items():
            for form in (r"total_(\w+)", r"(\w+)_count", r"(\w+)_total"):
                match = re.fullmatch(form, name)
                if match and isinstance(number, int) and isinstance(value.get(match[1]), list):
                    yield (
                        file.path,
                        file.line_of(f'"{name}"'),
                        f"{name} can be counted from {match[1]}; it will differ.",
                    )


@rule(
    "HF111",
    "warning",
    "a reference to a file that is not there",
    "Mend or drop the reference.",
)
def _dangling(tree: Tree) -> Places:
    for file, value in _objects(tree):
        base = file.path.rpartition("/")[0]
        for field in ("context", "artifacts"):
            for name, path in _texts(value.get(field, {}), field):
                inside = "/" in path and not path.startswith(("http:", "https:")) and len(path) < 300
                if inside and not tree.has(f"{base}/{path}") and not tree.has(path):
                    yield file.path, file.line_of(path), f"{name} refers to {path[:80]}, which is not there."


@rule(
    "HF112",
    "warning",
    "a checkpoint without instruction",
    "Say how to resume.",
)
def _no_instruction(tree: Tree) -> Places:
    for file, value in _objects(tree):
        checkpoint = value.get("checkpoint")
        if isinstance(checkpoint, dict) and checkpoint.get("can_resume"):
            told = checkpoint.get("resume_instruction") or checkpoint.get("instruction")
            if not told and "message" not in checkpoint:
                yield (
                    file.path,
                    file.line_of('"checkpoint"'),
                    "It says that work can be resumed, but not how.",
                )


@rule(
    "HF113",
    "error",
    "session-state.json breaks its contract",
    "`holdfast schema session-state` has it.",
)
def _contract(tree: Tree) -> Places:
    for file in tree.files:
        if file.name == "session-state.json" and file.value is not None:
            for problem in schema.problems("session-state", file.value)[:20]:
                name = problem.where.split("/")[1] if "/" in problem.where else ""
                yield file.path, file.line_of(f'"{name}"'), f"{problem.where or 'the file'} {problem.what}."


@rule(
    "HF114",
    "error",
    "a secret in the memory",
    "Take it out and change it: it may be in git's history.",
)
def _secret(tree: Tree) -> Places:
    for file in tree.files:
        if file.is_segment or b"\0" in file.data[:8192]:
            continue
        for secret in secrets.find(file.text)[:20]:
            line = file.text.count("\n", 0, secret.start) + 1
            yield file.path, line, f"This looks like a secret ({secret.kind})."


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
    "STATE.md without all of its sections",
    "`holdfast view STATE.md` has them.",
)
def _sections(tree: Tree) -> Places:
    for file in _pages(tree):
        heads = {line.strip("# ").lower() for line in file.lines if line.startswith("## ")}
        missing = [name for name in _SECTIONS if not any(name in head for head in heads)]
        if missing and len(missing) < len(_SECTIONS):  # a page of another kind has none of them
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
            yield file.path, 1, "There is no frontmatter: version, time and session are not told."


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
